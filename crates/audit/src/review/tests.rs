use serde_json::json;

use super::*;
use crate::routing::Decision;

fn judged() -> Judged {
    let claims = vec![
        (Verdict::Grounded, None),
        (Verdict::Contradicted, Some(Severity::Critical)),
        (Verdict::Grounded, None),
        (Verdict::Grounded, None),
    ];
    Judged::new(claims, 1, &json!([{ "claim": 2 }, { "claim": null }]), &json!([{ "claims": [1, 3] }, {}]))
}

fn ruling(id: u128, reviewer: &str, said: Said) -> Ruling {
    Ruling { id: Uuid::from_u128(id), reviewer: reviewer.into(), said, blind: false }
}

fn all_confirmed() -> Vec<Ruling> {
    let flags = judged().flags;
    flags.into_iter().zip(1..).map(|(flag, id)| ruling(id, "ann", Said::Confirm(flag))).collect()
}

fn to(at: usize, verdict: Verdict) -> Said {
    Said::Override { target: Target::Claim(at), verdict: Some(verdict), severity: None }
}

fn closed(rulings: &[Ruling], closing: Closing) -> Result<Opinion, Vec<Objection>> {
    conclude(List::Findings, Some(Decision::Block), &judged(), &standing(rulings, "ann"), closing)
}

const RELEASE: Closing = Closing { faithful: None, decision: Some(FinalDecision::Deliver) };

#[test]
fn findings_doubts_reasons_and_omissions_are_flags() {
    let flags = judged().flags;
    assert_eq!(flags, [Target::Claim(1), Target::Claim(2), Target::Claim(3), Target::Omission(0)]);
}

#[test]
fn the_last_ruling_on_a_flag_counts_and_a_withdrawn_one_does_not() {
    let mut rulings = vec![
        ruling(1, "ann", Said::Confirm(Target::Claim(1))),
        ruling(2, "ann", to(1, Verdict::Grounded)),
        ruling(3, "bob", to(1, Verdict::Unsupported)),
    ];
    assert_eq!(standing(&rulings, "ann").decided[&Target::Claim(1)].id, Uuid::from_u128(2));
    rulings.push(ruling(4, "ann", Said::Withdraw(Uuid::from_u128(2))));
    assert_eq!(standing(&rulings, "ann").decided[&Target::Claim(1)].id, Uuid::from_u128(1));
    // Nobody withdraws for somebody else.
    rulings.push(ruling(5, "bob", Said::Withdraw(Uuid::from_u128(1))));
    assert_eq!(standing(&rulings, "ann").undecided(&judged()).len(), 3);
}

#[test]
fn a_review_ends_when_every_flag_is_decided_and_the_answer_is_released_or_not() {
    let mut rulings = all_confirmed();
    let last = rulings.pop().unwrap();
    let objections = closed(&rulings, RELEASE).unwrap_err();
    assert_eq!(objections[0].message, "not decided yet: omission 1");
    rulings.push(last);
    assert_eq!(closed(&rulings, Closing::default()).unwrap_err()[0].path, "$.decision");
    let opinion = closed(&rulings, RELEASE).unwrap();
    assert_eq!(opinion, Opinion { faithful: Some(false), decision: Some(FinalDecision::Deliver) });
}

#[test]
fn the_word_on_the_whole_may_not_contradict_the_words_on_the_claims() {
    let mut rulings = all_confirmed();
    let faithful = |word| Closing { faithful: Some(word), ..RELEASE };
    assert_eq!(closed(&rulings, faithful(Some(true))).unwrap_err()[0].path, "$.faithful");
    assert!(closed(&rulings, faithful(None)).is_ok(), "nobody has to know");
    rulings.push(ruling(9, "ann", to(1, Verdict::Grounded)));
    assert_eq!(closed(&rulings, RELEASE).unwrap().faithful, Some(true));
    assert!(closed(&rulings, faithful(Some(false))).is_err());
    let added = Said::Add { text: "x".into(), verdict: Verdict::Unsupported, severity: None, span: None };
    rulings.push(ruling(10, "ann", added));
    assert_eq!(closed(&rulings, RELEASE).unwrap().faithful, Some(false));
}

#[test]
fn the_sample_asks_for_the_answer_alone_and_before_the_verdict_is_shown() {
    let close = |rulings: &[Ruling]| {
        let standing = standing(rulings, "ann");
        conclude(List::Sample, Some(Decision::Deliver), &judged(), &standing, Closing::default())
    };
    assert!(close(&[]).is_err());
    let overall = Ruling { blind: true, ..ruling(1, "ann", Said::Overall { faithful: Some(false) }) };
    assert_eq!(close(std::slice::from_ref(&overall)).unwrap().faithful, Some(false));
    let undo = check(&Said::Withdraw(overall.id), None, &judged(), 10, &[overall], false);
    assert_eq!(undo.unwrap_err().path, "$.undo");
}

#[test]
fn a_failed_audit_needs_the_reviewers_own_word() {
    let none = Judged::default();
    let close = |closing| conclude(List::Failed, Some(Decision::Hold), &none, &Standing::default(), closing);
    assert_eq!(close(RELEASE).unwrap_err()[0].path, "$.faithful");
    let labelled = Closing { faithful: Some(Some(true)), ..RELEASE };
    assert_eq!(close(labelled).unwrap().faithful, Some(true));
}

#[test]
fn opinions_that_differ_say_nothing_and_release_nothing() {
    let opinion = |faithful, decision| Opinion { faithful, decision: Some(decision) };
    let yes = opinion(Some(true), FinalDecision::Deliver);
    let no = opinion(Some(false), FinalDecision::Block);
    let both = agree(Some(Decision::Hold), &[yes, no]);
    assert_eq!(both, Conclusion { faithful: None, decision: Some(FinalDecision::Block), releases: false });
    let one = agree(Some(Decision::Hold), &[yes, yes]);
    assert_eq!(
        one,
        Conclusion { faithful: Some(true), decision: Some(FinalDecision::Deliver), releases: true }
    );
    assert!(!agree(Some(Decision::Deliver), &[yes]).releases, "nothing was held back");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_field() {
    let path = |said: Said, note: Option<&str>| {
        check(&said, note, &judged(), 10, &all_confirmed(), false).err().map(|objection| objection.path)
    };
    let add = |text: &str, start, end| Said::Add {
        text: text.into(),
        verdict: Verdict::Unsupported,
        severity: Some(Severity::Minor),
        span: Some(Span { start, end }),
    };
    assert_eq!(path(Said::Confirm(Target::Claim(4)), None), Some("$.claim"));
    assert_eq!(path(Said::Confirm(Target::Omission(1)), None), Some("$.omission"));
    assert_eq!(path(to(0, Verdict::Grounded), None), Some("$.verdict"));
    assert_eq!(path(to(1, Verdict::Contradicted), None), None, "another severity");
    let grave = Said::Override {
        target: Target::Claim(1),
        verdict: Some(Verdict::Grounded),
        severity: Some(Severity::Minor),
    };
    assert_eq!(path(grave, None), Some("$.severity"));
    assert_eq!(path(Said::Annotate(None), Some(" ")), Some("$.note"));
    assert_eq!(path(Said::Annotate(Some(Target::Claim(0))), Some("look")), None);
    assert_eq!(path(add(" ", 0, 1), None), Some("$.text"));
    assert_eq!(path(add("x", 3, 11), None), Some("$.start"));
    assert_eq!(path(add("x", 3, 10), None), None);
    assert_eq!(path(Said::Withdraw(Uuid::from_u128(77)), None), Some("$.undo"));
    assert_eq!(path(Said::Withdraw(Uuid::from_u128(1)), None), None);
    let long = "x".repeat(MAX_CHARS + 1);
    assert_eq!(path(Said::Confirm(Target::Claim(1)), Some(&long)), Some("$.note"));
}

/// Counting claims up, or being told that the report says the same, showed what a blind reviewer must not know.
#[test]
fn a_blind_ruling_on_a_claim_told_what_the_judge_says() {
    let blind = |said: &Said| check(said, Some("a note"), &judged(), 10, &[], true);
    for said in [
        Said::Confirm(Target::Claim(0)),
        Said::Confirm(Target::Claim(99)),
        Said::Confirm(Target::Omission(0)),
        to(0, Verdict::Grounded),
        Said::Annotate(Some(Target::Claim(99))),
    ] {
        assert_eq!(blind(&said).unwrap_err().path, "$.ruling", "{said:?}");
    }
    assert!(blind(&Said::Overall { faithful: Some(true) }).is_ok());
    assert!(blind(&Said::Annotate(None)).is_ok());
}

#[test]
fn an_answer_was_called_faithful_over_claims_that_are_not() {
    let passed = Judged { claims: vec![(Verdict::Grounded, None)], ..Judged::default() };
    let added = Said::Add { text: "x".into(), verdict: Verdict::Contradicted, severity: None, span: None };
    let overridden = to(0, Verdict::Contradicted);
    let faithful = |word| Closing { faithful: Some(Some(word)), ..RELEASE };
    for (list, judged, said) in [
        (List::Sample, &passed, &overridden),
        (List::Sample, &passed, &added),
        (List::Failed, &Judged::default(), &added),
    ] {
        let rulings = [
            Ruling { blind: true, ..ruling(1, "ann", Said::Overall { faithful: Some(true) }) },
            ruling(2, "ann", said.clone()),
        ];
        let close =
            |closing| conclude(list, Some(Decision::Hold), judged, &standing(&rulings, "ann"), closing);
        assert_eq!(close(RELEASE).unwrap_err()[0].path, "$.faithful", "{list:?} {said:?}");
        assert_eq!(close(faithful(true)).unwrap_err()[0].path, "$.faithful");
        assert_eq!(close(faithful(false)).unwrap().faithful, Some(false), "{list:?} {said:?}");
    }
}
