use super::*;
use serde_json::json;

const ANSWER: &str = "The ferry leaves at 7:15. It carries 40 cars [Rule 9 b]. Meals are served on board.";

fn trace(answer: &str) -> Trace {
    serde_json::from_value(json!({
        "schema": trace::SCHEMA, "trace_id": "t", "project": "p", "query": "When does the ferry to Oye leave?", "answer": answer,
        "retrieval": {"chunks": [{"source_id": "Rule 9 b", "text": "Forty cars."}]}
    }))
    .unwrap()
}

fn check(section: Option<Span>, claims: &[&str]) -> Checked {
    let listed: Vec<Listed> =
        claims.iter().enumerate().map(|(at, claim)| Listed::new(claim, format!("$[{at}]"))).collect();
    Answer::new(&trace(ANSWER), section).check(&listed, "$", &Corpus::of(&[]))
}

/// Whether the claims are refused as claims about this answer.
pub(in crate::verify) fn refused(answer: &str, claims: &[&str]) -> bool {
    let checked = checked(answer, claims, &[]);
    checked.problems.iter().any(|problem| problem.code == Code::InventedClaim)
}

/// The doubts about these claims next to this answer.
pub(in crate::verify) fn doubted(answer: &str, claims: &[&str]) -> Vec<String> {
    let checked = checked(answer, claims, &[]);
    let turned = checked.turned.iter().map(|_| "claim_turned_around");
    let added = checked.added.iter().map(|_| "number_not_in_answer");
    turned.chain(added).map(str::to_owned).collect()
}

pub(in crate::verify) fn checked(answer: &str, claims: &[&str], evidence: &[&str]) -> Checked {
    let mut trace = trace(answer);
    trace.query = Some("What?".to_owned());
    let passage = |text| crate::evidence::Passage {
        source_id: "s",
        text,
        url: None,
        title: None,
        rank: None,
        score: None,
        metadata: None,
    };
    let passages: Vec<_> = evidence.iter().map(|text| passage(*text)).collect();
    let listed: Vec<Listed> =
        claims.iter().enumerate().map(|(at, claim)| Listed::new(claim, format!("$[{at}]"))).collect();
    Answer::new(&trace, None).check(&listed, "$", &Corpus::of(&passages))
}

fn codes(checked: &Checked) -> Vec<Code> {
    checked.problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn claims_are_aligned_with_their_sentences() {
    let checked = check(
        None,
        &["On board meals are served.", "40 cars are carried.", "The ferry to Oye leaves at 07:15."],
    );
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    let text: Vec<&str> = checked.spans.iter().map(|span| text::slice(ANSWER, span.unwrap())).collect();
    assert_eq!(
        text,
        ["Meals are served on board.", "It carries 40 cars [Rule 9 b].", "The ferry leaves at 7:15."]
    );
    assert_eq!(checked.coverage, Some(7.0 / 8.0), "`Rule` is in no claim");
}

#[test]
fn what_points_to_a_source_need_not_be_in_a_claim() {
    for answer in [
        "Iron rusts in wet air (Miller, 2020).",
        "Iron rusts in wet air [Miller 2020].",
        "Iron rusts in wet air (Roth & Lee 2019, p. 12).",
        "According to Source 1, iron rusts in wet air.",
        "Based on the 2 documents provided, iron rusts in wet air.",
    ] {
        let listed = [Listed::new("Iron rusts in wet air.", "$[0]".into())];
        let checked = Answer::new(&trace(answer), None).check(&listed, "$", &Corpus::of(&[]));
        assert!(checked.problems.is_empty(), "{answer}: {:?}", checked.problems);
    }
    let listed = [Listed::new("The bridge was opened.", "$[0]".into())];
    let stated = trace("The bridge was opened (in 1931, after 3 years).");
    assert_eq!(
        codes(&Answer::new(&stated, None).check(&listed, "$", &Corpus::of(&[]))),
        [Code::UncoveredSentence]
    );
}

#[test]
fn an_answer_that_declines_needs_no_claims_and_one_that_only_apologises_does() {
    let code = |answer: &str| codes(&checked(answer, &[], &[]));
    assert_eq!(code("I'm sorry, but I don't have information about that in 2024."), []);
    assert_eq!(code("I'm sorry, he died in 2019."), [Code::UncoveredSentence]);
    assert_eq!(code("I'm sorry, I cannot say more than that 500 people died."), [Code::UncoveredSentence]);
}

#[test]
fn years_of_works_and_of_the_writers_knowledge_need_no_claim() {
    for answer in [
        "According to Smith et al. (2019), sleep matters.",
        "According to Smith (2019), sleep matters.",
        "Roth and Lee (2019) say that sleep matters.",
        "Smith (2019) found that sleep matters.",
        "As of my last update in 2023, sleep matters.",
        "Source: Annual Report 2022, page 14. Sleep matters.",
    ] {
        let checked = checked(answer, &["Sleep matters."], &[]);
        assert!(checked.problems.is_empty(), "{answer}: {:?}", checked.problems);
    }
    for answer in [
        "Sleep matters (2019).",
        "Sleep matters to the Louvre (1793).",
        "Sleep matters. Source: 500 people died here in 2020.",
        "Sleep matters.\n\nSource: https://x.example/z says 500 people died.",
        "As of my last update, sleep matters to 500 people.",
    ] {
        assert_eq!(codes(&checked(answer, &["Sleep matters."], &[])), [Code::UncoveredSentence], "{answer}");
    }
}

#[test]
fn a_claim_may_write_out_what_its_number_counts() {
    for (answer, claim) in [
        ("The actress, 45, has two children.", "The actress is 45 years old."),
        ("Its top speed: 80 km/h", "It goes 80 kilometres per hour."),
        ("The WHO was founded in 1948.", "The WHO was established in 1948."),
        ("IT was founded in 1998.", "IT was established in 1998."),
        ("In '99 he moved to Leeds.", "He moved to Leeds in 1999."),
        ("He scored 3/4 of the points.", "He scored three quarters of the points."),
        ("He scored three quarters of the points.", "He scored 3/4 of the points."),
        ("2020年（令和2年）に開館しました。", "2020年に開館した。"),
        ("박물관은 1902년에 개관했습니다.", "박물관이 1902년에 문을 열었다."),
        ("The roof leaks.", "The roof leaks."),
    ] {
        let checked = checked(answer, &[claim], &[]);
        assert!(checked.problems.is_empty(), "{answer} / {claim}: {:?}", checked.problems);
    }
    assert!(refused("The actress, 45, has two children.", &["The actor of 46 is older."]));
}

#[test]
fn a_clause_that_no_claim_holds_is_left_out() {
    let answer = "The hall opens at nine and Smith murdered Jones there with a knife.";
    assert_eq!(checked(answer, &["The hall opens at nine."], &[]).left_out.len(), 1);
    let both = ["The hall opens at nine.", "Smith murdered Jones with a knife in the hall."];
    assert!(checked(answer, &both, &[]).left_out.is_empty());
    let heading = checked(
        "The hall opens at nine.\n\n# 500 people died here in 2020",
        &["The hall opens at nine."],
        &[],
    );
    assert_eq!(heading.left_out.len(), 1);
    let heading = checked("# Top 10 halls\n\nThe hall opens at nine.", &["The hall opens at nine."], &[]);
    assert!(heading.left_out.is_empty());
}

#[test]
fn a_claim_that_earlier_claims_said_in_parts_counts_no_more() {
    let answer = "The hall is old, big, red and tall.";
    let padded = ["The hall is old.", "The hall is big.", "The hall is old and big.", "The hall is tall."];
    assert_eq!(checked(answer, &padded, &[]).restated, [2]);
    let honest = ["The hall is old.", "The hall is big.", "The hall is red.", "The hall is tall."];
    assert!(checked(answer, &honest, &[]).restated.is_empty());
}

#[test]
fn a_claim_that_turns_its_sentence_around_is_noticed() {
    let trace = trace("The drug is not safe for children. It is not only cheap but also strong.");
    let listed = |text| [Listed::new(text, "$[0]".into())];
    let answer = Answer::new(&trace, None);
    assert_eq!(answer.check(&listed("The drug is safe for children."), "$", &Corpus::of(&[])).turned, [0]);
    assert!(
        answer.check(&listed("The drug is not safe for children."), "$", &Corpus::of(&[])).turned.is_empty()
    );
    assert!(answer.check(&listed("It is cheap."), "$", &Corpus::of(&[])).turned.is_empty());
}

#[test]
fn only_the_section_has_to_be_covered() {
    let section = Span { start: 26, end: 56 };
    assert!(check(Some(section), &["The ferry carries 40 cars."]).problems.is_empty());
    assert_eq!(codes(&check(None, &["The ferry carries 40 cars."])), [Code::UncoveredSentence]);
    assert_eq!(codes(&check(Some(section), &["Meals are served on board."])), [Code::UncoveredSentence]);
}

#[test]
fn a_claim_in_the_words_of_the_question_alone_is_invented_unless_the_answer_says_yes() {
    let claims = [Listed::new("The ferry to Oye leaves.", "$[0]".into())];
    let no_ferry = trace("Meals are served on board every evening.");
    assert_eq!(
        codes(&Answer::new(&no_ferry, None).check(&claims, "$", &Corpus::of(&[]))),
        [Code::InventedClaim]
    );
    let yes = trace("Yes, it does so without any interruption in winter.");
    assert!(Answer::new(&yes, None).check(&claims, "$", &Corpus::of(&[])).problems.is_empty());
}

/// How many statements the claims leave out.
fn left_out(answer: &str, claims: &[&str]) -> usize {
    checked(answer, claims, &[]).left_out.len()
}

#[test]
fn a_statement_of_few_words_that_no_claim_speaks_of_is_left_out() {
    const OPENED: &str = "The mill opened in 1820.";
    for said in [
        "The mill never opened.",
        "The mill did not open in winter.",
        "Dogs are forbidden.",
        "It has three wheels.",
        "It has twelve oak wheels.",
        "It is dangerous.",
        "The owner is a murderer.",
        "Its owner killed people.",
        "所有者は殺人犯である。",
        "Le moulin est hanté.",
        "It is short.",
    ] {
        for answer in [format!("{OPENED} {said}"), format!("{said} {OPENED}"), format!("{OPENED}\n- {said}")]
        {
            assert_eq!(left_out(&answer, &[OPENED]), 1, "{answer}");
            assert_eq!(left_out(&answer, &[OPENED, said]), 0, "{answer}");
        }
    }
    let many = "The mill opened in 1820. It is dangerous. Dogs are forbidden. Cats bite.";
    assert_eq!(left_out(many, &[OPENED]), 3);
    let wheel = "The wheel is made of oak. It has three wheels.";
    assert_eq!(left_out(wheel, &["The wheel is made of oak."]), 1, "the number is in no claim");
}

#[test]
fn a_short_statement_that_a_claim_says_in_its_own_way_is_not_left_out() {
    for (answer, claims) in [
        (
            "The mill opened in 1820. It is dangerous.",
            &["The mill opened in 1820.", "The mill is dangerous."][..],
        ),
        (
            "The mill opened in 1820. It has three wheels.",
            &["The mill opened in 1820.", "The mill has 3 wheels."],
        ),
        ("The mill never opened. Dogs bark.", &["The mill did not open.", "The dogs bark."]),
        ("Anna is old. Anna is rich.", &["Anna is old and rich."]),
        ("The mill is big and old. In short, it is big.", &["The mill is big.", "The mill is old."]),
        ("The mill turns. Thank you! I hope this helps. Sure!", &["The mill turns."]),
        ("Sure! The mill turns. I don't know more than that.", &["The mill turns."]),
        ("No, it carries cars. No. It is old.", &["The ferry carries cars.", "The ferry is old."]),
        (
            "Anna Berg gründete die Firma. Sie wurde später Bürgermeisterin.",
            &["Anna Berg gründete die Firma.", "Anna Berg wurde Bürgermeisterin."],
        ),
        ("| Fact | Value |\n|---|---|\n| Opened | 1820 |", &["The mill opened in 1820."]),
        ("The mill turns.[1]\n\n[1]: history\n[^2]: a legend", &["The mill turns."]),
        ("Here's what I found. The mill turns.", &["The mill turns."]),
        ("Overall, it is old. The mill turns.", &["The mill is old.", "The mill turns."]),
        ("水車は古い。大きい。", &["水車は古い。", "水車は大きい。"]),
    ] {
        assert_eq!(left_out(answer, claims), 0, "{answer}");
    }
}

#[test]
fn a_bare_yes_needs_a_claim_that_takes_up_the_question() {
    let answer = Answer::new(&trace("Yes. It carries cars."), None);
    let left_out = |claims: &[&str]| {
        let listed: Vec<Listed> = claims.iter().map(|claim| Listed::new(claim, "$".into())).collect();
        answer.check(&listed, "$", &Corpus::of(&[])).left_out.len()
    };
    assert_eq!(left_out(&["It carries cars."]), 1);
    assert_eq!(left_out(&["It carries cars.", "The ferry to Oye leaves."]), 0);
}

#[test]
fn a_claim_whose_pronoun_was_resolved_is_about_the_sentence_with_the_pronoun() {
    for (answer, claim, place) in [
        ("Le moulin a ouvert en 1820. Il est hanté.", "Le moulin est hanté.", "Il est hanté."),
        ("The ferry leaves pier 2. It is unsafe.", "The ferry is unsafe.", "It is unsafe."),
        ("## Ferry\nThe ferry leaves pier 2. It never sinks.", "The ferry never sinks.", "It never sinks."),
        ("Die Mühle öffnete 1820. Sie ist verflucht.", "Die Mühle ist verflucht.", "Sie ist verflucht."),
    ] {
        let span = checked(answer, &[claim], &[]).spans[0].unwrap();
        assert_eq!(text::slice(answer, span), place, "{answer}");
    }
}
