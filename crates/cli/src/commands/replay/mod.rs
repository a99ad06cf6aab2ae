//! `groundcrew replay`: stored audits, gone through again.

pub(crate) mod replies;

use store::{Filter, Recorded, Store};

use crate::args::Which;
use crate::failure::Failure;
use crate::services;

/// Audits that are read at once; each brings its bodies along.
const PAGE: u32 = 50;

fn filter(which: &Which) -> Filter {
    Filter { project: which.project.clone(), kind: which.kind, since: which.since, until: which.until }
}

/// Hands over the audits that are meant, those that ended last first.
async fn each(
    store: &Store,
    which: &Which,
    mut take: impl FnMut(Recorded) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let filter = filter(which);
    let (mut after, mut left) = (None, which.limit);
    while left > 0 {
        let page = store.recorded(&filter, after, left.min(PAGE)).await.map_err(services::database)?;
        let Some(last) = page.last() else { break };
        after = Some((last.ended_at, last.id));
        left = left.saturating_sub(u32::try_from(page.len()).unwrap_or(u32::MAX));
        page.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}
