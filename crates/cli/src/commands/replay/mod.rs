//! `groundcrew replay`: stored audits, gone through again.

pub(crate) mod compare;
pub(crate) mod replies;
pub(crate) mod traces;

use store::{Filter, Recorded, Store};

use crate::args::Which;
use crate::failure::Failure;
use crate::services;

/// Audits that are read at once; each brings its bodies along.
const PAGE: u32 = 50;

fn filter(which: &Which, is_latest: bool) -> Filter {
    Filter {
        project: which.project.clone(),
        kind: which.kind,
        since: which.since,
        until: which.until,
        is_latest,
    }
}

/// Hands over the audits that are meant, those that ended last first.
async fn each(
    store: &Store,
    filter: &Filter,
    limit: u32,
    mut take: impl AsyncFnMut(Recorded) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (mut after, mut left) = (None, limit);
    while left > 0 {
        let page = store.recorded(filter, after, left.min(PAGE)).await.map_err(services::database)?;
        let Some(last) = page.last() else { break };
        after = Some((last.ended_at, last.id));
        left = left.saturating_sub(u32::try_from(page.len()).unwrap_or(u32::MAX));
        for recorded in page {
            take(recorded).await?;
        }
    }
    Ok(())
}
