use audit::prompt::EvidenceBlock;

use super::*;

fn blocks(evidence: &[(&str, &str)], question: &str, answer: &str) -> Blocks {
    Blocks {
        question: question.into(),
        answer: answer.into(),
        section: None,
        evidence: evidence
            .iter()
            .map(|(id, text)| EvidenceBlock { source_id: (*id).into(), text: (*text).into() })
            .collect(),
    }
}

/// Judges one sentence against the evidence of a language.
fn verdict(evidence: &[(&str, &str)], answer: &str) -> ClaimAnalysis {
    let report = judge(&blocks(evidence, "?", answer));
    assert_eq!(report.claim_analysis.len(), 1, "{report:?}");
    check(&report, evidence);
    report.claim_analysis.into_iter().next().unwrap()
}

/// What holds of every report, whatever it says.
fn check(report: &Report, evidence: &[(&str, &str)]) {
    for claim in &report.claim_analysis {
        for quote in [&claim.supporting_evidence, &claim.contradicting_evidence].into_iter().flatten() {
            let id = claim.source_id.as_deref().unwrap();
            assert!(
                evidence.iter().any(|(other, text)| *other == id && text.contains(quote.as_str())),
                "{claim:?}"
            );
        }
        assert_eq!(claim.is_grounded(), claim.supporting_evidence.is_some());
        assert_eq!(claim.is_grounded(), claim.severity.is_none());
    }
    for flag in &report.omission_flags {
        assert!(evidence.iter().any(|(_, text)| text.contains(&flag.source_passage)));
    }
    assert_eq!(report.total_claims, report.claim_analysis.len());
    assert!((0.0..=1.0).contains(&report.faithfulness_score));
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
        assert_eq!(claim.supporting_evidence.as_deref(), Some(quote), "{claim:?}");
    }
}

#[test]
fn another_number_is_a_contradiction() {
    for (evidence, answer, quote, severity) in [
        (
            ENGLISH,
            "The Harbour Museum in Porto opened in 1978.",
            "The Harbour Museum in Porto opened in 1987.",
            "major",
        ),
        (ENGLISH, "Adults take a dose of 500 mg daily.", "Adults take a dose of 50 mg daily.", "critical"),
        (
            GERMAN,
            "Die Straßenbrücke ist 230 Meter lang.",
            "Die Müngersdorfer Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang.",
            "major",
        ),
        (JAPANESE, "東京タワーの高さは334メートルです。", "高さは333メートルです。", "major"),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!(claim.classification, "hallucinated");
        assert_eq!(claim.contradicting_evidence.as_deref(), Some(quote), "{claim:?}");
        assert_eq!(claim.severity.as_deref(), Some(severity), "{claim:?}");
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
        assert_eq!(claim.contradicting_evidence.as_deref(), Some(quote), "{claim:?}");
        assert_eq!(claim.severity.as_deref(), Some("major"));
    }
}

#[test]
fn what_the_evidence_does_not_speak_of_is_unsupported() {
    for (evidence, answer, severity) in [
        (ENGLISH, "Parking costs 4 euro an hour.", "major"),
        (ENGLISH, "The Harbour Museum in Lisbon opened.", "major"),
        (ENGLISH, "The museum opened gloriously yesterday.", "minor"),
        (GERMAN, "Der Bürgermeister hieß Schröder.", "major"),
        (JAPANESE, "設計者は内藤多仲である。", "major"),
    ] {
        let claim = verdict(evidence, answer);
        assert_eq!(claim.classification, "hallucinated", "{claim:?}");
        assert_eq!((&claim.contradicting_evidence, &claim.source_id), (&None, &None), "{claim:?}");
        assert_eq!(claim.severity.as_deref(), Some(severity), "{claim:?}");
    }
    assert_eq!(verdict(&[], "The museum has 3 floors.").classification, "hallucinated");
}

#[test]
fn the_report_adds_up() {
    let answer =
        "The Harbour Museum opened in 1987. It shows 24 ships.\n\nParking costs 4 euro. Anything else?";
    let report = judge(&blocks(ENGLISH, "What does the museum cost?", answer));
    check(&report, ENGLISH);
    assert_eq!((report.total_claims, report.grounded_claims, report.hallucinated_claims), (3, 1, 2));
    assert!((report.faithfulness_score - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(judge(&blocks(ENGLISH, "?", "")).total_claims, 0);
}

#[test]
fn a_section_is_judged_alone() {
    let whole = "The Harbour Museum opened in 1987. It shows 240 ships.";
    let part = Blocks { section: Some("It shows 240 ships.".into()), ..blocks(ENGLISH, "?", whole) };
    let report = judge(&part);
    assert_eq!(report.claim_analysis.len(), 1);
    assert_eq!(report.claim_analysis[0].claim_text, "It shows 240 ships.");
}

#[test]
fn what_the_answer_leaves_out_is_flagged() {
    let coincidence = judge(&blocks(ENGLISH, "Is the museum open?", "Entry is free on Sundays."));
    assert!(coincidence.omission_flags.is_empty(), "two shared words prove nothing");
    let evidence = [("f", "Ferry tickets for island visitors cost 12 euro in summer. Dogs travel free.")];
    let question = "What do ferry tickets cost in summer?";
    let report = judge(&blocks(&evidence, question, "Dogs travel free."));
    check(&report, &evidence);
    assert_eq!(report.omission_flags.len(), 1, "{report:?}");
    assert_eq!(
        report.omission_flags[0].source_passage,
        "Ferry tickets for island visitors cost 12 euro in summer."
    );
    let told = judge(&blocks(&evidence, question, "Ferry tickets cost 12 euro in summer for visitors."));
    assert!(told.omission_flags.is_empty());
}

#[test]
fn a_passage_of_hardly_any_words_takes_its_neighbour_along() {
    let evidence = [("g", "The garden gate has a bell. It is closed.")];
    let claim = verdict(&evidence, "The gate is closed.");
    assert_eq!(claim.supporting_evidence.as_deref(), Some("The garden gate has a bell. It is closed."));
    assert_eq!(
        verdict(&[("g", "It is closed.")], "It is closed.").supporting_evidence.as_deref(),
        Some("It is closed.")
    );
}

#[test]
fn chunks_may_share_a_source_id_and_quotes_stay_inside_one_chunk() {
    let evidence = [("a", "The bridge is 300 metres long."), ("a", "It was built in 1901 by Ana Reis.")];
    let claim = verdict(&evidence, "The bridge was built in 1901 by Ana Reis.");
    assert_eq!(claim.supporting_evidence.as_deref(), Some("It was built in 1901 by Ana Reis."));
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
