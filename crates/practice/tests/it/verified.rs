//! The practice judge's replies, held against the verification that all judges meet.

use audit::{Outcome, Unit, Verdict, reply::Code, units};
use practice::{Fault, Faults, Server, Settings};
use trace::{
    Kind,
    completeness::{Readiness, Requirements, check as check_trace},
};

use crate::{
    client::{Raw, start},
    questions::{Question, questions},
    traces,
};

/// Asks, and wants the reply to be accepted.
async fn accepted(question: &Question<'_>, server: &Server) -> audit::Assessment {
    let raw = question.ask(server).await;
    let assessment = question.assess(&raw);
    assert_eq!(
        assessment.outcome,
        Outcome::Accepted,
        "{}: {assessment:?}\n{}",
        question.label(),
        raw.content()
    );
    let discrepancies = assessment.report.iter().flat_map(|report| &report.discrepancies).count();
    assert_eq!(discrepancies, 0, "{}: {assessment:?}", question.label());
    assessment
}

#[tokio::test]
async fn honest_replies_are_accepted() {
    let server = start(Settings::default()).await;
    for (trace, (grounded, total)) in traces::all() {
        for question in questions(&trace, false) {
            let assessment = accepted(&question, &server).await;
            let Some(report) = assessment.report else {
                assert_eq!(assessment.extracted.len(), total, "{}", question.label());
                continue;
            };
            // Claims that are sent may say the same thing twice.
            if question.unit == Unit::Whole {
                let found = (report.count(Verdict::Grounded), report.claims.len());
                assert_eq!(found, (grounded, total), "{}: {report:?}", question.label());
                assert_eq!(report.coverage, (0 < total).then_some(1.0));
            }
        }
    }
}

#[tokio::test]
async fn honest_replies_about_parts_are_accepted() {
    let server = start(Settings::default()).await;
    for (trace, _) in traces::all() {
        for question in questions(&trace, true) {
            let extracted = accepted(&question, &server).await.extracted;
            for unit in units::batches(&units::numbered(extracted), 2) {
                accepted(&Question { unit, ..question }, &server).await;
            }
        }
    }
}

#[tokio::test]
async fn honest_replies_about_the_example_traces_are_accepted() {
    let server = start(Settings::default()).await;
    let examples = std::fs::read_to_string("../../examples/traces.jsonl").unwrap();
    let mut asked = 0;
    for trace in examples.lines().filter_map(|line| trace::decode(line.as_bytes()).ok()) {
        for spec in audit::kinds::ALL {
            let Readiness::Complete(prepared) = check_trace(&trace, spec.kind, &Requirements::default())
            else {
                continue;
            };
            let questions = [questions(&prepared.trace, false), questions(&prepared.trace, true)].concat();
            for question in questions.iter().filter(|question| question.spec.kind == spec.kind) {
                accepted(question, &server).await;
                asked += 1;
            }
        }
    }
    assert!(100 < asked, "{asked}");
}

#[tokio::test]
async fn dialects_without_a_schema_name_are_understood() {
    let server = start(Settings::default()).await;
    let trace = traces::english();
    for question in questions(&trace, false) {
        let named = question.ask(&server).await.content();
        for dialect in question.nameless_dialects() {
            let raw = question.ask_in(&server, &dialect).await;
            assert_eq!(raw.content(), named, "{} in {dialect}", question.name());
        }
    }
}

/// What verification makes of a fault that was done. None where the kind has nothing that the fault could spoil.
fn expected(fault: Fault, question: &Question<'_>) -> Option<(Outcome, Option<Code>)> {
    use Outcome::{Accepted, Content, Format, Refusal};
    let has_figures = !question.is_extraction() && question.spec.kind != Kind::Gate;
    let names_sources = !question.is_extraction() && question.spec.kind != Kind::Reference;
    let is_sent = matches!(question.unit, Unit::Claims(_));
    match fault {
        Fault::BadEnum | Fault::FabricatedQuote | Fault::MissingQuote | Fault::CountMismatch
            if question.is_extraction() =>
        {
            return None;
        }
        Fault::OutOfRange | Fault::Nan if !has_figures => return None,
        Fault::WrongSource | Fault::UnknownSource if !names_sources => return None,
        _ => {}
    }
    Some(match fault {
        Fault::NotJson => (Format, Some(Code::NotJson)),
        Fault::SeveralCandidates => (Format, Some(Code::SeveralCandidates)),
        Fault::Truncated => (Format, Some(Code::Truncated)),
        Fault::Empty => (Format, Some(Code::Empty)),
        Fault::DuplicateKey => (Format, Some(Code::DuplicateKey)),
        Fault::MissingKey => (Format, Some(Code::MissingKey)),
        Fault::WrongType => (Format, Some(Code::WrongType)),
        Fault::BadEnum => (Format, Some(Code::BadEnum)),
        Fault::OutOfRange => (Format, Some(Code::OutOfRange)),
        Fault::TruncatedStop | Fault::Nan => (Format, None),
        Fault::MissingClaim if is_sent => (Content, Some(Code::MissingClaim)),
        Fault::MissingClaim => (Content, Some(Code::UncoveredSentence)),
        Fault::DuplicateClaim => (Content, Some(Code::DuplicateClaim)),
        Fault::InventedClaim => (Content, Some(Code::InventedClaim)),
        Fault::FabricatedQuote => (Content, Some(Code::FabricatedQuote)),
        Fault::WrongSource => (Content, Some(Code::WrongSource)),
        Fault::MissingQuote => (Content, Some(Code::MissingQuote)),
        Fault::UnknownSource => (Content, Some(Code::UnknownSource)),
        Fault::CountMismatch if question.spec.kind == Kind::Gate => (Content, Some(Code::CountMismatch)),
        Fault::Refusal => (Refusal, Some(Code::Refused)),
        Fault::CountMismatch | Fault::Fenced | Fault::Think | Fault::Nul => (Accepted, None),
        other => panic!("`{other}` leaves no content to assess"),
    })
}

const IN_THE_CONTENT: [Fault; 23] = [
    Fault::NotJson,
    Fault::SeveralCandidates,
    Fault::Truncated,
    Fault::TruncatedStop,
    Fault::Empty,
    Fault::DuplicateKey,
    Fault::MissingKey,
    Fault::WrongType,
    Fault::BadEnum,
    Fault::OutOfRange,
    Fault::Nan,
    Fault::MissingClaim,
    Fault::DuplicateClaim,
    Fault::InventedClaim,
    Fault::FabricatedQuote,
    Fault::WrongSource,
    Fault::MissingQuote,
    Fault::UnknownSource,
    Fault::Refusal,
    Fault::CountMismatch,
    Fault::Fenced,
    Fault::Think,
    Fault::Nul,
];

#[tokio::test]
async fn each_fault_is_what_verification_calls_it() {
    for fault in IN_THE_CONTENT {
        let server = start(Settings { faults: Faults::always(fault), ..Settings::default() }).await;
        for trace in [traces::english(), traces::japanese(), traces::thai(), traces::arabic()] {
            for question in questions(&trace, false) {
                let raw = question.ask(&server).await;
                check(fault, &question, &raw);
            }
        }
    }
}

fn check(fault: Fault, question: &Question<'_>, raw: &Raw) {
    let case = format!("{fault} in {}", question.label());
    let expected = expected(fault, question);
    let done = expected.is_some().then_some(fault.as_str());
    assert_eq!(raw.header("groundcrew-practice-fault"), done, "{case}");
    let (outcome, code) = expected.unwrap_or((Outcome::Accepted, None));
    let assessment = question.assess(raw);
    assert_eq!(assessment.outcome, outcome, "{case}: {assessment:?}");
    let mut codes: Vec<Code> = assessment.problems.iter().map(|problem| problem.code).collect();
    // A claim that comes twice repeats its text and, where it has one, its id.
    codes.dedup();
    assert!(code.is_none_or(|code| codes == [code]), "{case}: {codes:?}");
    let discrepancies = assessment.report.map_or(0, |report| report.discrepancies.len());
    let is_noticed = fault == Fault::CountMismatch && outcome == Outcome::Accepted && done.is_some();
    assert!(outcome != Outcome::Accepted || (0 < discrepancies) == is_noticed, "{case}");
}

#[tokio::test]
async fn a_mismatch_of_a_gate_is_one_whatever_its_claims() {
    let settings = Settings { faults: Faults::always(Fault::CountMismatch), ..Settings::default() };
    let server = start(settings).await;
    for answer in ["It opens at 9.", "It opens at 10.", "Really?"] {
        let trace = traces::trace_of(&[("a", "It opens at 9.")], "?", answer);
        let spec = audit::kinds::find(Kind::Gate).unwrap();
        let question = Question { spec, trace: &trace, unit: Unit::Whole };
        check(Fault::CountMismatch, &question, &question.ask(&server).await);
    }
}

#[tokio::test]
async fn a_claim_that_the_answer_repeats_is_no_duplicate() {
    let settings = Settings { faults: Faults::always(Fault::DuplicateClaim), ..Settings::default() };
    let server = start(settings).await;
    let trace = traces::trace_of(&[("a", "It opens at 9.")], "?", "It opens at 9. It opens at 9.");
    let spec = audit::kinds::find(Kind::Gate).unwrap();
    let question = Question { spec, trace: &trace, unit: Unit::Whole };
    let raw = question.ask(&server).await;
    assert_eq!(raw.header("groundcrew-practice-fault"), None);
    assert_eq!(question.assess(&raw).outcome, Outcome::Accepted);
}
