//! What would be sent, without sending it.

use std::collections::BTreeMap;

use chrono::Utc;
use store::{OpenItem, PageEvent};
use uuid::Uuid;

use crate::message::{self, Page};
use crate::{Content, Kindred, Notice, Notifier};

/// What would be sent to a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The receiver's name.
    pub receiver: String,
    /// Its kind.
    pub kind: &'static str,
    /// The page in one line.
    pub summary: String,
    /// The body, without keys.
    pub body: serde_json::Value,
}

impl Notifier {
    /// What would be sent for these items if they came now, all at once. Nothing is written or sent.
    ///
    /// # Errors
    /// When question and answer go along and the store cannot read them.
    pub async fn plan(&self, items: Vec<OpenItem>) -> Result<Vec<Planned>, store::Error> {
        let now = Utc::now();
        let mut pages: BTreeMap<(String, Kindred), (&OpenItem, u64)> = BTreeMap::new();
        for item in &items {
            let notice = notice(item);
            for receiver in self.settings.rules.receivers(&notice, now) {
                let key = (receiver.to_owned(), Kindred::of(&notice));
                pages.entry(key).or_insert((item, 0)).1 += 1;
            }
        }
        let mut planned = Vec::new();
        for ((receiver, _), (first, items)) in pages {
            let Some(target) = self.settings.receivers.get(&receiver).map(|known| &known.target) else {
                continue;
            };
            let notice = Notice { content: self.content(first.audit_id).await?, ..notice(first) };
            let page = first_page(&notice, items, self.settings.desk_url.as_deref());
            let (kind, summary, body) = (target.kind(), page.summary(), target.shown(&page));
            planned.push(Planned { receiver, kind, summary, body });
        }
        Ok(planned)
    }

    /// Question and answer of an audit's trace, where they go along and are still there.
    async fn content(&self, audit: Uuid) -> Result<Option<Content>, store::Error> {
        if !self.settings.include_content {
            return Ok(None);
        }
        let payload = self.store.payload_of(audit).await?;
        let trace = payload.and_then(|payload| trace::decode(&payload).ok());
        Ok(trace.and_then(|trace| Content::of(trace.query, trace.answer)))
    }
}

fn first_page(notice: &Notice, items: u64, desk_url: Option<&str>) -> Page {
    Page {
        notification: Uuid::nil(),
        page: Uuid::nil(),
        event: PageEvent::Trigger,
        items,
        project: notice.project.clone(),
        kind: notice.kind.clone(),
        severity: notice.severity.map(|severity| severity.as_str().to_owned()),
        urgent: notice.urgent,
        reasons: notice.reasons.clone(),
        practice: notice.practice,
        test: false,
        review_item: notice.review_item,
        trace_id: notice.trace_id.clone(),
        opened_at: Utc::now(),
        link: message::link(desk_url, items, notice.review_item),
        content: notice.content.as_ref().map(Content::json),
    }
}

fn notice(item: &OpenItem) -> Notice {
    Notice {
        review_item: item.id,
        project: item.project.clone(),
        trace_id: item.trace_id.clone(),
        kind: item.kind.clone(),
        severity: item.severity.as_deref().and_then(audit::report::Severity::parse),
        urgent: item.urgent,
        blind: item.blind,
        practice: item.practice,
        reasons: item.reason_codes.clone(),
        content_owner: item.content_owner.clone(),
        content: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dry run left it out, so that nobody saw what would leave the house.
    #[test]
    fn what_is_planned_has_the_content_that_would_be_sent() {
        let item = OpenItem {
            id: Uuid::from_u128(1),
            audit_id: Uuid::from_u128(2),
            project: "harbour".into(),
            trace_id: "t".into(),
            kind: "faithfulness".into(),
            severity: Some("critical".into()),
            urgent: true,
            blind: false,
            practice: false,
            reason_codes: vec!["critical_finding".into()],
            content_owner: None,
        };
        let content = Content::of(Some("Who?".into()), Some("SECRET ANSWER".into()));
        let with = first_page(&Notice { content, ..notice(&item) }, 1, None);
        assert_eq!(with.webhook()["content"]["answer"], "SECRET ANSWER");
        let without = first_page(&notice(&item), 1, None);
        assert!(without.webhook().get("content").is_none());
    }
}
