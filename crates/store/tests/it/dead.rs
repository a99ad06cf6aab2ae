//! Dead letters: kept once, settled, opened again.

use serde_json::json;
use store::{DeadFilter, DeadLetter, DeadSource, DeadStatus};
use uuid::Uuid;

use crate::fixture::in_database;
use crate::sample::at;

fn only(status: Option<DeadStatus>, source: Option<DeadSource>) -> DeadFilter {
    DeadFilter { status, source, ..DeadFilter::default() }
}

fn letter(body: &str, kinds: &[&str]) -> DeadLetter {
    DeadLetter {
        source: DeadSource::DeliveryLimit,
        reason: "delivered 50 times".into(),
        problems: json!([]),
        body: body.as_bytes().to_vec(),
        body_bytes: body.len() as u64,
        headers: json!({ "groundcrew-tier": 2 }),
        generation: 0,
        lane: Some("normal".into()),
        project: Some("shop".into()),
        trace_id: Some("t".into()),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        received_at: at(0),
    }
}

#[tokio::test]
async fn the_same_message_is_one_row_and_comes_to_life_again() {
    in_database(|_, store| async move {
        let id = store.bury(letter("x", &["gate"])).await.unwrap();
        let again = DeadLetter { received_at: at(5), ..letter("x", &["faithfulness"]) };
        assert_eq!(store.bury(again).await.unwrap(), id);
        let shown = store.dead_show(id).await.unwrap().unwrap();
        assert_eq!((shown.seen, shown.first_seen_at, shown.last_seen_at), (2, at(0), at(5)));
        assert_eq!(shown.kinds, ["faithfulness", "gate"], "nothing that was asked for is forgotten");
        assert_eq!(shown.body.as_deref(), Some(b"x".as_slice()));

        assert!(store.dead_mark(id, DeadStatus::Replayed, Some("fixed")).await.unwrap());
        let shown = store.dead_show(id).await.unwrap().unwrap();
        assert_eq!(
            (shown.status, shown.replays, shown.note.as_deref()),
            (DeadStatus::Replayed, 1, Some("fixed"))
        );
        assert!(shown.settled_at.is_some());

        assert_eq!(store.bury(letter("x", &["gate"])).await.unwrap(), id);
        let shown = store.dead_show(id).await.unwrap().unwrap();
        assert_eq!((shown.status, shown.seen, shown.settled_at), (DeadStatus::Open, 3, None));
        assert_eq!(shown.kinds, ["gate"], "the replay has dealt with the other kind");

        let every_kind = store.bury(letter("x", &[])).await.unwrap();
        assert!(store.dead_show(every_kind).await.unwrap().unwrap().kinds.is_empty());
    })
    .await;
}

#[tokio::test]
async fn another_reason_generation_or_body_is_another_row() {
    in_database(|_, store| async move {
        let ids = [
            store.bury(letter("x", &[])).await.unwrap(),
            store.bury(letter("y", &[])).await.unwrap(),
            store.bury(DeadLetter { generation: 1, ..letter("x", &[]) }).await.unwrap(),
            store.bury(DeadLetter { source: DeadSource::Oversized, ..letter("x", &[]) }).await.unwrap(),
        ];
        store.dead_mark(ids[0], DeadStatus::Discarded, None).await.unwrap();
        let open = store.dead_list(&only(Some(DeadStatus::Open), None), 10).await.unwrap();
        assert_eq!(open.len(), 3);
        assert!(open.iter().all(|letter| letter.body.is_none()), "lists carry no bodies");
        let oversized = store.dead_list(&only(None, Some(DeadSource::Oversized)), 10).await.unwrap();
        assert_eq!(oversized.iter().map(|letter| letter.id).collect::<Vec<_>>(), [ids[3]]);
        assert_eq!(store.dead_list(&DeadFilter::default(), 2).await.unwrap().len(), 2);
        assert!(!store.dead_mark(Uuid::nil(), DeadStatus::Discarded, None).await.unwrap());
        assert_eq!(store.dead_show(Uuid::nil()).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn they_are_grouped_and_found_by_reason_whatever_the_numbers() {
    in_database(|_, store| async move {
        for (at, reason) in ["delivered 50 times", "delivered 7 times", "the disc is full"].iter().enumerate()
        {
            let project = Some(if at == 1 { "town" } else { "shop" }.to_owned());
            let letter = DeadLetter { reason: (*reason).into(), project, ..letter(reason, &[]) };
            store.bury(letter).await.unwrap();
        }
        let problem = json!([{ "path": "$.retrieval.chunks[12].rank", "message": "expected a number" }]);
        store.bury(DeadLetter { problems: problem, ..letter("p", &[]) }).await.unwrap();

        let groups = store.dead_reasons(&DeadFilter::default(), 10).await.unwrap();
        let counted: Vec<(i64, &str)> =
            groups.iter().map(|group| (group.letters, group.reason.as_str())).collect();
        assert_eq!(
            counted,
            [
                (2, "delivered # times"),
                (1, "delivered # times: $.retrieval.chunks[#].rank: expected a number"),
                (1, "the disc is full"),
            ]
        );
        let found = async |reason: &str, project: Option<&str>| {
            let filter = DeadFilter {
                reason: Some(reason.into()),
                project: project.map(str::to_owned),
                ..DeadFilter::default()
            };
            store.dead_ids(&filter, None).await.unwrap().len()
        };
        assert_eq!(found("delivered # times", None).await, 3);
        assert_eq!(found("delivered 99 times", None).await, 3, "a number stands for any");
        assert_eq!(found("delivered", Some("town")).await, 1);
        assert_eq!(found("chunks[3]", None).await, 1);
        assert_eq!(found("nothing of the kind", None).await, 0);
        assert_eq!(store.dead_ids(&DeadFilter::default(), Some(2)).await.unwrap().len(), 2);
    })
    .await;
}
