use audit::{Confidence, SentClaim, Severity, prompt::EvidenceBlock};

use super::{align::Passage, *};

fn blocks(evidence: &[(&str, &str)], question: &str, answer: &str) -> Blocks {
    Blocks {
        question: question.into(),
        answer: answer.into(),
        section: None,
        evidence: evidence
            .iter()
            .map(|(id, text)| EvidenceBlock { source_id: (*id).into(), text: (*text).into() })
            .collect(),
        claims: None,
    }
}

/// A claim, with what it rests on as owned texts.
#[derive(Debug)]
struct Weighed {
    verdict: Verdict,
    quote: Option<String>,
    severity: Option<Severity>,
    confidence: Confidence,
    is_foreign: bool,
}

/// Judges one sentence against the evidence of a language.
fn verdict(evidence: &[(&str, &str)], answer: &str) -> Weighed {
    let blocks = blocks(evidence, "?", answer);
    let analysis = judge(&blocks);
    assert_eq!(analysis.claims.len(), 1, "{analysis:?}");
    check(&analysis, evidence);
    let claim = &analysis.claims[0];
    Weighed {
        verdict: claim.verdict,
        quote: claim.quote().map(str::to_owned),
        severity: claim.severity,
        confidence: claim.confidence(),
        is_foreign: claim.is_foreign,
    }
}

/// What holds of every analysis, whatever it says.
fn check(analysis: &Analysis<'_>, evidence: &[(&str, &str)]) {
    let stands = |passage: &Passage<'_>| {
        evidence.iter().any(|(id, text)| *id == passage.source_id && text.contains(passage.text))
    };
    for claim in &analysis.claims {
        assert!(claim.passage.iter().all(stands), "{claim:?}");
        assert_eq!(claim.verdict == Verdict::Unsupported, claim.passage.is_none());
        assert_eq!(claim.verdict == Verdict::Grounded, claim.severity.is_none());
        assert!((0.0..=1.0).contains(&claim.overlap));
    }
    for omission in &analysis.omissions {
        assert!(evidence.iter().any(|(_, text)| text.contains(omission.passage)));
    }
}

const ENGLISH: &[(&str, &str)] = &[
    ("museum", "The Harbour Museum in Porto opened in 1987. It shows 240 ships. Entry is free on Sundays."),
    ("drug", "Adults take a dose of 50 mg daily. Dogs are not allowed in the ward."),
];

const GERMAN: &[(&str, &str)] = &[(
    "köln",
    "Die Müngersdorfer Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang. Für Fußgänger ist sie nicht gesperrt.",
)];

const JAPANESE: &[(&str, &str)] =
    &[("東京", "東京タワーは1958年に完成しました。高さは333メートルです。地下鉄の駅から歩いて5分です。")];

#[test]
fn what_the_evidence_says_is_grounded() {
    for (evidence, answer, quote) in [
        (
            ENGLISH,
            "The Harbour Museum opened in 1987 in Porto.",
            "The Harbour Museum in Porto opened in 1987.",
        ),
        (ENGLISH, "On Sundays the entry is free.", "Entry is free on Sundays."),
        (ENGLISH, "Dogs are not allowed.", "Dogs are not allowed in the ward."),
        // Two facts of neighbouring sentences in one.
        (
            ENGLISH,
            "The Harbour Museum, opened in 1987, shows 240 ships.",
            "The Harbour Museum in Porto opened in 1987. It shows 240 ships.",
        ),
        (
            GERMAN,
            "Die Straßenbrücke wurde 1965 eröffnet.",
            "Die Müngersdorfer Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang.",
        ),
        (JAPANESE, "東京タワーは1958年に完成した。", "東京タワーは1958年に完成しました。"),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!((claim.verdict, claim.quote.as_deref()), (Verdict::Grounded, Some(quote)), "{claim:?}");
    }
}

#[test]
fn another_number_is_a_contradiction() {
    for (evidence, answer, quote, severity) in [
        (
            ENGLISH,
            "The Harbour Museum in Porto opened in 1978.",
            "The Harbour Museum in Porto opened in 1987.",
            Severity::Major,
        ),
        (
            ENGLISH,
            "Adults take a dose of 500 mg daily.",
            "Adults take a dose of 50 mg daily.",
            Severity::Critical,
        ),
        (
            GERMAN,
            "Die Straßenbrücke ist 230 Meter lang.",
            "Die Müngersdorfer Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang.",
            Severity::Major,
        ),
        (JAPANESE, "東京タワーの高さは334メートルです。", "高さは333メートルです。", Severity::Major),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!(
            (claim.verdict, claim.quote.as_deref()),
            (Verdict::Contradicted, Some(quote)),
            "{claim:?}"
        );
        assert_eq!(claim.severity, Some(severity), "{claim:?}");
    }
}

#[test]
fn a_lost_or_added_negation_is_a_contradiction() {
    for (evidence, answer, quote) in [
        (ENGLISH, "Dogs are allowed in the ward.", "Dogs are not allowed in the ward."),
        (ENGLISH, "Entry isn't free on Sundays.", "Entry is free on Sundays."),
        (GERMAN, "Für Fußgänger ist sie gesperrt.", "Für Fußgänger ist sie nicht gesperrt."),
        (JAPANESE, "東京タワーは1958年に完成していません。", "東京タワーは1958年に完成しました。"),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!(
            (claim.verdict, claim.quote.as_deref()),
            (Verdict::Contradicted, Some(quote)),
            "{claim:?}"
        );
        assert_eq!(claim.severity, Some(Severity::Major));
    }
}

#[test]
fn what_the_evidence_does_not_speak_of_is_unsupported() {
    for (evidence, answer, severity) in [
        (ENGLISH, "Parking costs 4 euro an hour.", Severity::Major),
        (ENGLISH, "The Harbour Museum in Lisbon opened.", Severity::Major),
        (ENGLISH, "The museum opened gloriously yesterday.", Severity::Minor),
        (GERMAN, "Der Bürgermeister hieß Schröder.", Severity::Major),
        (JAPANESE, "設計者は内藤多仲である。", Severity::Major),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!((claim.verdict, claim.severity), (Verdict::Unsupported, Some(severity)), "{claim:?}");
    }
    assert_eq!(verdict(&[], "The museum has 3 floors.").verdict, Verdict::Unsupported);
}

#[test]
fn confidence_and_foreignness_follow_from_the_words() {
    let told = verdict(ENGLISH, "Entry is free on Sundays.");
    assert_eq!((told.confidence, told.is_foreign), (Confidence::High, false));
    // `Lisbon` stands nowhere in the evidence.
    let foreign = verdict(ENGLISH, "The Harbour Museum in Lisbon opened.");
    assert_eq!((foreign.confidence, foreign.is_foreign), (Confidence::High, true));
    let mixed = verdict(ENGLISH, "Entry is free for small children.");
    assert_eq!((mixed.verdict, mixed.is_foreign), (Verdict::Unsupported, false));
    assert!(mixed.confidence < Confidence::High, "{mixed:?}");
}

#[test]
fn a_passage_that_reads_like_none_is_not_cited() {
    let claim = verdict(&[("a", "Unknown.")], "Unknown.");
    assert_eq!((claim.verdict, claim.quote), (Verdict::Unsupported, None));
}

#[test]
fn claims_are_numbered_unless_they_were_sent() {
    let answer = "The Harbour Museum opened in 1987. Parking costs 4 euro. Anything else?";
    let ids = |blocks: &Blocks| -> Vec<String> {
        let analysis = judge(blocks);
        check(&analysis, ENGLISH);
        analysis.claims.into_iter().map(|claim| claim.id).collect()
    };
    let mut blocks = blocks(ENGLISH, "?", answer);
    assert_eq!(ids(&blocks), ["1", "2"]);
    let sent = |id: &str, text: &str| SentClaim { id: id.into(), text: text.into(), span: None };
    blocks.claims = Some(vec![sent("7", "It shows 240 ships."), sent("9", "It shows 240 ships.")]);
    assert_eq!(ids(&blocks), ["7", "9"]);
    blocks.answer.clear();
    blocks.claims = None;
    assert!(ids(&blocks).is_empty());
}

#[test]
fn a_section_is_judged_alone() {
    let whole = "The Harbour Museum opened in 1987. It shows 240 ships.";
    let part = Blocks { section: Some("It shows 240 ships.".into()), ..blocks(ENGLISH, "?", whole) };
    let analysis = judge(&part);
    assert_eq!(analysis.claims.len(), 1);
    assert_eq!(analysis.claims[0].text, "It shows 240 ships.");
}

#[test]
fn what_the_answer_leaves_out_is_flagged() {
    let coincidence = blocks(ENGLISH, "Is the museum open?", "Entry is free on Sundays.");
    assert!(judge(&coincidence).omissions.is_empty(), "two shared words prove nothing");
    let evidence = [("f", "Ferry tickets for island visitors cost 12 euro in summer. Dogs travel free.")];
    let question = "What do ferry tickets cost in summer?";
    let silent = blocks(&evidence, question, "Dogs travel free.");
    let analysis = judge(&silent);
    check(&analysis, &evidence);
    assert_eq!(analysis.omissions.len(), 1, "{analysis:?}");
    assert_eq!(analysis.omissions[0].passage, "Ferry tickets for island visitors cost 12 euro in summer.");
    let told = blocks(&evidence, question, "Ferry tickets cost 12 euro in summer for visitors.");
    assert!(judge(&told).omissions.is_empty());
}

#[test]
fn a_passage_of_hardly_any_words_takes_its_neighbour_along() {
    let evidence = [("g", "The garden gate has a bell. It is closed.")];
    let claim = verdict(&evidence, "The gate is closed.");
    assert_eq!(claim.quote.as_deref(), Some("The garden gate has a bell. It is closed."));
    assert_eq!(verdict(&[("g", "It is closed.")], "It is closed.").quote.as_deref(), Some("It is closed."));
}

#[test]
fn chunks_may_share_a_source_id_and_quotes_stay_inside_one_chunk() {
    let evidence = [("a", "The bridge is 300 metres long."), ("a", "It was built in 1901 by Ana Reis.")];
    let claim = verdict(&evidence, "The bridge was built in 1901 by Ana Reis.");
    assert_eq!(claim.quote.as_deref(), Some("It was built in 1901 by Ana Reis."));
}

#[test]
fn odd_texts_do_not_break_it() {
    let nasty =
        ["", "\0", "\u{fffd}", "1", "。", "[1]", "a\u{300}", "🦀🦀🦀", "...", "- \n- \n", "İSTANBUL 5"];
    for answer in nasty {
        for evidence in nasty {
            let evidence = [("x", evidence)];
            check(&judge(&blocks(&evidence, answer, answer)), &evidence);
        }
    }
}
