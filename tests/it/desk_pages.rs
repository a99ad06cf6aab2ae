//! The review desk in a real browser. Pictures stay in `target/screenshots`.

use ::desk::access::Role;
use practice::CannedReply;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::material::{
    TEA, TraceBuilder, WRONG_FARE, all_grounded, contradicted, ferry_claims, reply, trace, unsupported,
};
use testkit::{Browser, Driver, Look, PATIENCE, System, wait_for};

use crate::desk::{start, token};

/// A reply with two findings.
fn two_findings() -> Value {
    let mut claims = ferry_claims();
    claims.push(contradicted(WRONG_FARE, "a return ticket 16 euro", "fares", "critical"));
    claims.push(unsupported(TEA, "minor"));
    reply(&claims)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_takes_an_item_decides_it_by_keyboard_and_it_becomes_ground_truth() {
    let system = System::builder().replies("wrong", [CannedReply::content(two_findings())]).start().await;
    let worker = system.worker().await;
    system.publish(&trace("wrong").saying(WRONG_FARE).saying(TEA)).await;
    system.ended("wrong").await;
    let desk = start(&system, &[]).await;
    let ann = token(&system, "ann", Role::Reviewer).await;
    let driver = Driver::start();
    let browser = driver.browser(&desk.url, Look::Light).await;
    browser.open("/queue").await;
    assert_eq!(browser.path().await, "/login", "nobody gets in without a login");
    browser.picture("login").await;
    browser.log_in(&ann).await;
    browser.picture("queue").await;
    // The first item by the keys alone.
    browser.press("j").await;
    browser.press("\u{e007}").await;
    browser.see(".desk").await;
    browser.press("t").await;
    browser.see("[data-fence]").await;
    browser.see(".card.current").await;
    browser.picture("item").await;
    browser.press("?").await;
    browser.see("dialog[open]").await;
    browser.picture("keys").await;
    browser.press("\u{e00c}").await;
    // The judge is right about the fare, and too strict about the tea.
    browser.press("y").await;
    browser.see(".card.decided").await;
    browser.see(".card.current:not(.decided)").await;
    browser.press("g").await;
    wait_for("both to be decided", PATIENCE, async || {
        let decided =
            browser.run("return document.querySelectorAll('.card.decided[data-flag]').length", vec![]).await;
        (decided == json!(2)).then_some(())
    })
    .await;
    // A slip, taken back: then the first ruling counts again.
    browser.press("z").await;
    browser.see(".card:not(.decided)[data-flag]").await;
    browser.press("g").await;
    browser.see("#close").await;
    wait_for("both to be decided again", PATIENCE, async || {
        let decided =
            browser.run("return document.querySelectorAll('.card.decided[data-flag]').length", vec![]).await;
        (decided == json!(2)).then_some(())
    })
    .await;
    browser.press("c").await;
    browser.click("#close input[name=decision][value=block]").await;
    browser.click("[data-close]").await;
    wait_for("the end", PATIENCE, async || {
        browser.text("#lease").await.contains("Closed by ann").then_some(())
    })
    .await;
    browser.picture("closed").await;
    let truth = system
        .strings("select text || ': ' || verdict from analytics.ground_truth_claims order by claim_index")
        .await;
    assert_eq!(truth, [format!("{WRONG_FARE}: contradicted"), format!("{TEA}: grounded")]);
    let whole = system.strings("select trace_id || ' ' || faithful from analytics.ground_truth").await;
    assert_eq!(whole, ["wrong false"]);
    browser.close().await;
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_browsers_that_want_one_item_one_gets_it_until_the_lease_is_over() {
    let system = System::builder().replies("wrong", [CannedReply::content(two_findings())]).start().await;
    let worker = system.worker().await;
    let item = escalated_with_tea(&system).await;
    let desk = start(&system, &[]).await;
    let tokens = [token(&system, "ann", Role::Reviewer).await, token(&system, "bob", Role::Reviewer).await];
    let driver = Driver::start();
    let (ann, bob) =
        (driver.browser(&desk.url, Look::Light).await, driver.browser(&desk.url, Look::Light).await);
    ann.log_in(&tokens[0]).await;
    bob.log_in(&tokens[1]).await;
    for browser in [&ann, &bob] {
        browser.open(&format!("/items/{item}")).await;
        browser.see("[data-key=t]").await;
    }
    tokio::join!(ann.press("t"), bob.press("t"));
    for browser in [&ann, &bob] {
        wait_for("an answer", PATIENCE, async || {
            let has = browser.has("[data-fence]").await || browser.has(".notice.error").await;
            has.then_some(())
        })
        .await;
    }
    let got = [ann.has("[data-fence]").await, bob.has("[data-fence]").await];
    assert_eq!(got.iter().filter(|got| **got).count(), 1, "{got:?}");
    let (winner, loser, name) = if got[0] { (&ann, &bob, "ann") } else { (&bob, &ann, "bob") };
    assert!(loser.text(".notice.error").await.contains(name));
    assert!(!loser.has(".rule").await, "who does not have it decides nothing");
    loser.picture("taken").await;

    // Time goes by: the other one takes it, and what the first one says is refused.
    sqlx::query("update groundcrew.review_items set leased_until = now() - interval '1 second'")
        .execute(&system.database.pool)
        .await
        .unwrap();
    loser.open(&format!("/items/{item}")).await;
    loser.press("t").await;
    loser.see("[data-fence]").await;
    winner.press("y").await;
    winner.see(".notice.error").await;
    assert!(winner.text(".notice.error").await.contains("is with"));
    assert_eq!(system.strings("select id::text from groundcrew.rulings").await.len(), 0);
    // Leaving the page gives it back.
    loser.open("/queue").await;
    wait_for("the item to be free", PATIENCE, async || {
        let status = system.strings("select status from groundcrew.review_items").await;
        (status == ["open"]).then_some(())
    })
    .await;
    ann.close().await;
    bob.close().await;
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

/// Text that would run, lead astray or break the page.
fn hostile() -> [String; 7] {
    [
        "<script>window.pwned = 1</script>".to_owned(),
        "\"><img src=x onerror=\"window.pwned=1\">".to_owned(),
        "'-->]]></textarea></title></style><svg onload=window.pwned=1>".to_owned(),
        "javascript:window.pwned=1".to_owned(),
        "{{ 7*7 }} {% raw %} ${7*7}".to_owned(),
        "pay \u{202e}000,1\u{202c} \u{2066}now\u{2069} \u{200b}\u{7}\u{1b}[31m \u{feff}".to_owned(),
        "A".repeat(20_000),
    ]
}

/// Opens and touches everything of the page that is open: nothing of its text runs, hides, or leaves its place.
async fn harmless(browser: &Browser, path: &str) {
    browser.see("main").await;
    browser
        .run(
            "document.querySelectorAll('details').forEach((it) => it.open = true);
            document.querySelectorAll('main *').forEach((it) => it.dispatchEvent(new Event('mouseover')))",
            vec![],
        )
        .await;
    let found = browser
        .run(
            "return {
                pwned: window.pwned ?? null,
                scripts: document.scripts.length,
                foreign: document.querySelectorAll('main script, main img, main svg, main iframe, main style, [onmouseover]').length,
                links: [...document.querySelectorAll('main a[target]')].map((it) => it.protocol),
                wide: document.documentElement.scrollWidth > innerWidth + 1,
                hidden: /[\\u202e\\u200b\\u2066\\u0007]/.test(document.body.innerText),
            }",
            vec![],
        )
        .await;
    assert_eq!(found["pwned"], Value::Null, "{path} {found}");
    assert_eq!((&found["scripts"], &found["foreign"]), (&json!(1), &json!(0)), "{path} {found}");
    assert_eq!((&found["wide"], &found["hidden"]), (&json!(false), &json!(false)), "{path} {found}");
    assert!(found["links"].as_array().unwrap().iter().all(|protocol| protocol == "https:"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_stays_text_and_inside_the_page() {
    let text = hostile().join(" ");
    let claim = |sentence: &str| {
        let mut claim = unsupported(sentence, "major");
        claim["explanation"] = json!(text);
        claim
    };
    let mut claims = ferry_claims();
    claims.push(claim(&text));
    let mut answer = reply(&claims);
    answer["overall_assessment"] = json!(text);
    let system = System::builder()
        .replies("hostile", [CannedReply::content(answer), CannedReply::content(text.clone())])
        .start()
        .await;
    let worker = system.worker().await;
    let mut hostile_trace = trace("hostile")
        .saying(&text)
        .set("/query", text.clone())
        .set("/project", "<b onmouseover=window.pwned=1>\u{202e}x")
        .set("/domain", text.chars().take(300).collect::<String>())
        .set("/content_owner", text.chars().take(300).collect::<String>())
        .set(
            "/human_label",
            json!({ "labeler": text.chars().take(300).collect::<String>(), "faithful": true }),
        )
        .set("/metadata", json!({ "x": text }));
    for (at, url) in
        ["javascript:window.pwned=1", "data:text/html,<script>window.pwned=1</script>", "https://ok.example/"]
            .iter()
            .enumerate()
    {
        hostile_trace = hostile_trace.set(&format!("/retrieval/chunks/{at}/url"), *url);
        hostile_trace = hostile_trace
            .set(&format!("/retrieval/chunks/{at}/title"), text.chars().take(300).collect::<String>());
    }
    system.publish(&hostile_trace).await;
    system.ended("hostile").await;
    // A message that is no trace, and a word of a megabyte.
    system.publish_bytes(format!("{text}{}", "B".repeat(1 << 20))).await;
    let letter = system.dead_letters("undecodable", 1).await[0]["id"].as_str().unwrap().to_owned();
    let item = system.review_items("hostile").await[0]["id"].as_str().unwrap().to_owned();
    let desk = start(&system, &[]).await;
    let admin = token(&system, "root", Role::Admin).await;
    let driver = Driver::start();
    for look in [Look::Light, Look::Phone] {
        let browser = driver.browser(&desk.url, look).await;
        browser.log_in(&admin).await;
        for (name, path) in [
            ("hostile-item", format!("/items/{item}")),
            ("hostile-queue", "/queue".to_owned()),
            ("hostile-failed", "/failed".to_owned()),
            ("hostile-letter", format!("/dead-letters/{letter}")),
            ("hostile-letters", "/dead-letters".to_owned()),
        ] {
            browser.open(&path).await;
            harmless(&browser, &path).await;
            browser.picture(name).await;
        }
        browser.close().await;
    }
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

/// What the hostile source is called.
const HOSTILE_SOURCE: &str = "\"><img src=x onerror=window.pwned=1>";

/// A reply that is flagged and whose claims, quotes, sources and reasons are all hostile; with the trace that it is about.
fn hostile_findings() -> (TraceBuilder, Value) {
    // Short enough for one call: each section of a longer answer would get this reply.
    let texts = hostile().map(|text| text.chars().take(3_000).collect::<String>());
    let mut hostile_trace = trace("cards").set("/retrieval/chunks/2/source_id", HOSTILE_SOURCE);
    let mut claims = ferry_claims();
    claims[3]["source_id"] = json!(HOSTILE_SOURCE);
    let mut passages = vec!["Dogs must stay on the outer deck and on a lead.".to_owned()];
    for (at, text) in texts.iter().enumerate() {
        hostile_trace = hostile_trace.saying(&format!("Claim: {text}.\n"));
        let passage = format!("Passage {text} end.");
        let mut claim = contradicted(&format!("Claim: {text}"), &passage, HOSTILE_SOURCE, "major");
        if at == 4 {
            claim = unsupported(&format!("Claim: {text}"), "minor");
        }
        claim["explanation"] = json!(format!("Because {text}"));
        claims.push(claim);
        passages.push(passage);
    }
    let mut answer = reply(&claims);
    answer["overall_assessment"] = json!(texts.join(" "));
    (hostile_trace.set("/retrieval/chunks/2/text", passages.join("\n")), answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_claims_quotes_reasons_and_notes_stay_text_on_their_cards() {
    let (hostile_trace, answer) = hostile_findings();
    let system = System::builder().replies("cards", [CannedReply::content(answer)]).start().await;
    let worker = system.worker().await;
    system.publish(&hostile_trace).await;
    let ended = system.ended("cards").await;
    assert_eq!(ended["disposition"], "escalated", "it is flagged, and no failed audit: {ended}");
    let item = system.review_items("cards").await[0]["id"].as_str().unwrap().to_owned();
    let desk = start(&system, &[]).await;
    let admin = token(&system, "root", Role::Admin).await;
    let path = format!("/api/v1/review/items/{item}");
    let (_, taken) = desk.post(&format!("{path}/take"), &admin, json!({})).await;
    let shown = desk.get(&path, &admin).await;
    let claims = shown["report"]["claims"].as_array().unwrap();
    let flagged = claims.iter().filter(|claim| claim["is_flag"] == true).count();
    let flags: Vec<&Value> =
        claims.iter().filter(|claim| claim["text"].as_str().unwrap().starts_with("Claim: ")).collect();
    assert_eq!(flags.len(), hostile().len());
    assert!(flags.iter().all(|claim| claim["is_flag"] == true), "{claims:?}");
    // Notes of a reviewer, with a ruling and alone, and a claim that is added.
    let note: String = hostile()[..6].join(" ");
    for (ruling, claim) in [("confirm", Some(0)), ("annotate", Some(1)), ("annotate", None), ("add", None)] {
        let mut body = json!({
            "fence": taken["fence"], "report_version": shown["report_version"], "ruling": ruling, "note": note,
        });
        if let Some(at) = claim {
            body["claim"] = flags[at]["index"].clone();
        }
        if ruling == "add" {
            body["text"] = json!(note);
            body["verdict"] = json!("unsupported");
        }
        let (status, ruled) = desk.post(&format!("{path}/rulings"), &admin, body).await;
        assert!(status.is_success(), "{ruling}: {ruled}");
    }
    let driver = Driver::start();
    for look in [Look::Light, Look::Phone] {
        let browser = driver.browser(&desk.url, look).await;
        browser.log_in(&admin).await;
        let page = format!("/items/{item}");
        browser.open(&page).await;
        harmless(&browser, &format!("{page} {}", look.as_str())).await;
        let cards = browser
            .run(
                "return {
                    flags: document.querySelectorAll('.card[data-flag]').length,
                    claims: [...document.querySelectorAll('.card[data-flag] .claim')].map((it) => it.textContent),
                    reasons: [...document.querySelectorAll('.card[data-flag] .gap')].map((it) => it.textContent),
                    quotes: [...document.querySelectorAll('.card[data-flag] blockquote')].map((it) => it.textContent),
                    notes: [...document.querySelectorAll('.note, .ruling span')].map((it) => it.textContent),
                    sources: [...document.querySelectorAll('blockquote .cite, .chunk h3 bdi')].map((it) => it.textContent),
                }",
                vec![],
            )
            .await;
        let texts = |of: &str| -> Vec<String> {
            cards[of].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(cards["flags"], flagged + 1, "a card for each, and the added one: {cards}");
        let script = "<script>window.pwned = 1</script>";
        for of in ["claims", "reasons", "quotes", "notes"] {
            assert!(texts(of).iter().any(|text| text.contains(script)), "{of} show it as text: {cards}");
            assert!(texts(of).iter().any(|text| text.contains("⟨U+202E⟩")), "{of} name what hides: {cards}");
        }
        assert!(texts("notes").len() >= 3, "{cards}");
        assert!(texts("sources").iter().any(|source| source == HOSTILE_SOURCE), "{cards}");
        browser.picture("hostile-cards").await;
        browser
            .run("document.querySelector('.card[data-flag]').scrollIntoView({ block: 'start' })", vec![])
            .await;
        browser.picture("hostile-cards-flags").await;
        browser.close().await;
    }
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

/// The pages in daylight, at night and on a phone, with labels for every field and a picture of each.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_fits_its_screen_and_every_field_has_a_label() {
    let system = System::builder()
        .replies("wrong", [CannedReply::content(two_findings())])
        .replies("passed", [CannedReply::content(all_grounded())])
        .replies(
            "garbled",
            [CannedReply::content("not JSON"), CannedReply::content("{\"still\": \"wrong\"}")],
        )
        .tuned(|tuning| tuning.sample_passed = 1.0)
        .start()
        .await;
    let worker = system.worker().await;
    let wrong = escalated_with_tea(&system).await;
    system.publish(&trace("passed")).await;
    system.publish(&trace("garbled")).await;
    system.ended("passed").await;
    system.ended("garbled").await;
    system.publish_bytes("no trace").await;
    system.dead_letters("undecodable", 1).await;
    let of = async |trace: &str| system.review_items(trace).await[0]["id"].as_str().unwrap().to_owned();
    let (passed, garbled) = (of("passed").await, of("garbled").await);
    let desk = start(&system, &[]).await;
    let driver = Driver::start();
    for look in [Look::Light, Look::Dark, Look::Phone] {
        let admin = token(&system, look.as_str(), Role::Admin).await;
        for item in [&wrong, &passed, &garbled] {
            let path = format!("/api/v1/review/items/{item}/take");
            assert!(desk.ask(Method::POST, &path, &admin, None).await.status().is_success());
        }
        let browser = driver.browser(&desk.url, look).await;
        browser.log_in(&admin).await;
        for (name, path) in [
            ("page-queue", "/queue".to_owned()),
            ("page-item", format!("/items/{wrong}")),
            ("page-sample", format!("/items/{passed}")),
            ("page-failed", format!("/items/{garbled}")),
            ("page-dead", "/dead-letters".to_owned()),
        ] {
            browser.open(&path).await;
            browser.see("main").await;
            let found = browser
                .run(
                    "const fields = [...document.querySelectorAll('input:not([type=hidden]), select, textarea')];
                    const named = [...document.querySelectorAll('button, a')];
                    return {
                        wide: document.documentElement.scrollWidth > innerWidth + 1,
                        unlabelled: fields.filter((it) => it.labels.length === 0).map((it) => it.outerHTML),
                        nameless: named.filter((it) => !(it.innerText || it.textContent).trim()).map((it) => it.outerHTML),
                        headings: document.querySelectorAll('h1').length,
                        inline: document.querySelectorAll('[style], main script, style').length,
                    }",
                    vec![],
                )
                .await;
            assert_eq!(found["wide"], json!(false), "{path} {}", look.as_str());
            assert_eq!((&found["unlabelled"], &found["nameless"]), (&json!([]), &json!([])), "{path}");
            assert_eq!((&found["headings"], &found["inline"]), (&json!(1), &json!(0)), "{path}");
            browser.picture(name).await;
        }
        browser.close().await;
        // For the next look.
        sqlx::query("update groundcrew.review_items set status = 'open', claimed_by = null, claimed_at = null, leased_until = null")
            .execute(&system.database.pool)
            .await
            .unwrap();
    }
    desk.stop().await;
    worker.stop(PATIENCE).await;
}

async fn escalated_with_tea(system: &System) -> String {
    system.publish(&trace("wrong").saying(WRONG_FARE).saying(TEA)).await;
    system.ended("wrong").await;
    system.review_items("wrong").await[0]["id"].as_str().unwrap().to_owned()
}
