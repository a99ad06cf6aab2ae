//! NUL in every text that comes from outside.

use std::sync::Arc;

use audit::policy::Class;
use audit::record::{Known, TraceRecord};
use audit::routing::Disposition;
use serde_json::{Value, json};
use store::{Bodies, DeadLetter, DeadSource, Finished};

use crate::fixture::in_database;
use crate::sample::{at, attempt, ending, key, opening, record, trace_with};

/// Puts a NUL into every string, keys included.
fn spoil(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(format!("{text}\0")),
        Value::Array(items) => items.into_iter().map(spoil).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, spoil(value))).collect(),
        other => other,
    }
}

#[tokio::test]
async fn no_text_of_an_ending_can_stop_it() {
    in_database(|database, store| async move {
        let nul = "a\0b";
        let trace = trace_with(json!({
            "query": nul, "answer": nul, "domain": nul, "content_owner": nul,
            "generator": { "model": nul, "prompt_version": nul },
            "human_label": { "labeler": nul, "faithful": true },
            "metadata": { nul: nul },
        }));
        let mut end = ending(&trace);
        let report = end.report.as_mut().unwrap();
        for claim in &mut report.claims {
            claim.text = nul.into();
            claim.explanation = nul.into();
            claim.judge_verdict = Some(nul.into());
            claim.evidence[0].quote = nul.into();
            claim.evidence[0].source_id = nul.into();
        }
        let omission = &mut report.omissions[0];
        for text in [&mut omission.missing_fact, &mut omission.available_evidence, &mut omission.impact] {
            *text = nul.into();
        }
        omission.source_id = nul.into();
        report.doubts[0].message = nul.into();
        report.discrepancies[0].path = nul.into();
        report.notes = vec![nul.into()];
        report.overall_assessment = nul.into();
        end.routed.reasons[0].message = nul.into();
        end.trace_problems = vec![trace::Problem::new(nul, nul)];
        end.provenance = json!({ nul: nul });
        end.comparison =
            Some(audit::compare::Comparison { agreement: Some(false), discrepancy_notes: nul.into() });
        for attempt in &mut end.attempts {
            attempt.content = Some(nul.into());
            attempt.model_answered = Some(nul.into());
            attempt.finish_reason = Some(nul.into());
            attempt.problems = json!([{ "message": nul, nul: 1 }]);
            attempt.request = nul.as_bytes().to_vec();
            attempt.raw_reply = Some(nul.as_bytes().to_vec());
        }
        for event in &mut end.events {
            event.correlation_id = Some(nul.into());
            event.body = spoil(event.body.clone());
        }
        let payload = [b"\xEF\xBB\xBF".as_slice(), nul.as_bytes(), b"\xFF"].concat();
        end.trace = Arc::new(TraceRecord { payload: payload.clone(), ..record(&trace) });
        let (key, sent) = (end.key.clone(), end.events[0].body.clone());
        assert_eq!(store.finish(&end).await.unwrap(), Finished::Committed);
        assert_eq!(store.lookup(key).await.unwrap(), Known::Ended { disposition: Disposition::Escalated });

        let shown = store.trace_show("t", None, Bodies::With).await.unwrap().remove(0);
        assert_eq!(shown.answer.as_deref(), Some("a␀b"));
        assert_eq!(shown.payload.as_deref(), Some(payload.as_slice()), "the message is kept as it was");
        let audit = &shown.audits[0];
        assert_eq!(audit.claims[0].text, "a␀b");
        assert_eq!(audit.claims[0].evidence[0]["quote"], "a␀b");
        assert_eq!(audit.provenance, json!({ "a␀b": "a␀b" }));
        assert_eq!(audit.attempts[1].raw_reply.as_deref(), Some(nul.as_bytes()));
        assert_eq!(audit.attempts[1].request.as_deref(), Some(nul.as_bytes()));
        let body: Vec<u8> =
            sqlx::query_scalar("select body from groundcrew.outbox where routing_key = 'audit.escalated'")
                .fetch_one(&database.pool)
                .await
                .unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), sent, "a message goes out as it was");
    })
    .await;
}

#[tokio::test]
async fn words_with_a_nul_are_read_back_as_they_were() {
    in_database(|_, store| async move {
        let trace = trace_with(json!({}));
        let spoilt = [attempt(1, Class::Format)];
        assert!(spoilt[0].content.as_ref().unwrap().contains('\0'));
        store.keep(&key(&trace), &opening("n"), &record(&trace), &spoilt).await.unwrap();
        let known = store.lookup(key(&trace)).await.unwrap();
        assert_eq!(known, Known::Open { opening: opening("n"), attempts: spoilt.to_vec() });
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_may_hold_anything() {
    in_database(|_, store| async move {
        let nul = "a\0b";
        let letter = DeadLetter {
            source: DeadSource::Undecodable,
            reason: nul.into(),
            problems: json!([{ "message": nul }]),
            body: vec![0, 255, 192, 128],
            body_bytes: 4,
            headers: json!({ nul: nul }),
            generation: 0,
            lane: Some(nul.into()),
            project: Some(nul.into()),
            trace_id: Some(nul.into()),
            kinds: vec![nul.into()],
            received_at: at(0),
        };
        let id = store.bury(letter).await.unwrap();
        let shown = store.dead_show(id).await.unwrap().unwrap();
        assert_eq!(shown.body, Some(vec![0, 255, 192, 128]));
        assert_eq!(shown.reason, "a␀b");
        assert_eq!(shown.kinds, ["a␀b"]);
    })
    .await;
}
