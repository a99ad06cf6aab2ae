//! What is known about audits.

use audit::record::Known;
use audit::routing::Disposition;
use futures_util::future::join_all;
use store::Finished;

use crate::fixture::in_database;
use crate::sample::{ending, key, passed, trace, unjudged};

#[tokio::test]
async fn a_complete_copy_finds_the_incomplete_one_and_the_next_generation() {
    in_database(|_, store| async move {
        let trace = trace("a");
        let mut key = key(&trace);
        store.finish(&unjudged(&trace, Disposition::Incomplete)).await.unwrap();
        let found = store.lookup(key.clone()).await.unwrap();
        assert_eq!(found, Known::Ended { disposition: Disposition::Incomplete });

        key.generation = 1;
        let next = store.lookup(key.clone()).await.unwrap();
        assert_eq!(next, Known::New);
        let mut end = passed(&trace);
        end.key = key.clone();
        assert_eq!(store.finish(&end).await.unwrap(), Finished::Committed);
        let found = store.lookup(key).await.unwrap();
        assert_eq!(found, Known::Ended { disposition: Disposition::Passed });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_callers_gets_its_own_answer() {
    in_database(|_, store| async move {
        let ended: Vec<_> = (0..300).step_by(3).map(|id| passed(&trace(&format!("t{id}")))).collect();
        join_all(ended.iter().map(|ending| store.finish(ending))).await;
        let found = join_all((0..300).map(|id| store.lookup(key(&trace(&format!("t{id}")))))).await;
        for (id, found) in found.into_iter().enumerate() {
            let is_ended = found.unwrap() == Known::Ended { disposition: Disposition::Passed };
            assert_eq!(is_ended, id % 3 == 0, "t{id}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_are_counted() {
    in_database(|database, store| async move {
        store.finish(&passed(&trace("a"))).await.unwrap();
        let id = key(&trace("a")).id();
        for counted in join_all((0..150).map(|_| store.count_duplicate(id))).await {
            counted.unwrap();
        }
        store.count_duplicate(key(&trace("unknown")).id()).await.unwrap();
        assert_eq!(database.count("select sum(duplicates)::int8 from groundcrew.audits").await, 150);
    })
    .await;
}

#[tokio::test]
async fn a_generation_is_promised_to_one_purpose_and_no_audit_has_it() {
    in_database(|_, store| async move {
        let trace = trace("a");
        store.finish(&ending(&trace)).await.unwrap();
        let reserve = async |purpose: &str, not_below| {
            store.reserve_generation("shop", "a", purpose, not_below).await.unwrap()
        };
        assert_eq!([reserve("one", 1).await, reserve("two", 1).await, reserve("one", 1).await], [1, 2, 1]);
        let mut later = ending(&trace);
        later.key.generation = 7;
        later.events.clear();
        store.finish(&later).await.unwrap();
        assert_eq!([reserve("three", 0).await, reserve("four", 20).await], [8, 20]);
        assert_eq!(store.reserve_generation("shop", "never seen", "x", 0).await.unwrap(), 1);
        // The largest that a header can carry leaves the gaps.
        later.key.generation = u32::MAX;
        store.finish(&later).await.unwrap();
        assert_eq!([reserve("five", 1).await, reserve("six", 1).await], [3, 4]);
        let all: Vec<_> = (0..20).map(|at| format!("at once {at}")).collect();
        let at_once = all.iter().map(|purpose| store.reserve_generation("shop", "busy", purpose, 1));
        let mut reserved: Vec<u32> = join_all(at_once).await.into_iter().map(Result::unwrap).collect();
        reserved.sort_unstable();
        assert_eq!(reserved, (1..=20).collect::<Vec<u32>>());
    })
    .await;
}
