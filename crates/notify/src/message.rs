//! What receivers are sent. Nothing of a trace's content is in it unless it was put into the [`Page`].
//!
//! Names of projects and traces, questions and answers are text from outside: they are cut to a line, freed of what could steer a display, and
//! escaped where a receiver knows markup.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use store::PageEvent;
use uuid::Uuid;

/// The longest name from outside, in characters.
const MOST_NAME: usize = 200;

/// The longest summary, in characters: PagerDuty refuses more than 1024.
const MOST_SUMMARY: usize = 1000;

/// One thing to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The notification: the same over all tries.
    pub notification: Uuid,
    /// The page: the same over all its events.
    pub page: Uuid,
    /// What happened.
    pub event: PageEvent,
    /// How many items it is about.
    pub items: u64,
    /// The producer's project.
    pub project: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding.
    pub severity: Option<String>,
    /// Whether it is urgent.
    pub urgent: bool,
    /// The codes of the reasons.
    pub reasons: Vec<String>,
    /// Whether the practice judge decided it.
    pub practice: bool,
    /// Whether it is a test of the receiver.
    pub test: bool,
    /// The first item.
    pub review_item: Uuid,
    /// The producer's id of its trace.
    pub trace_id: String,
    /// When the first item came.
    pub opened_at: DateTime<Utc>,
    /// Where people find it.
    pub link: Option<String>,
    /// Question and answer of the first item; only where the configuration says so.
    pub content: Option<Value>,
}

/// The address of an item, or of the queue when a page is about several.
pub fn link(desk_url: Option<&str>, items: u64, review_item: Uuid) -> Option<String> {
    let base = desk_url?.trim_end_matches('/');
    Some(if items == 1 { format!("{base}/items/{review_item}") } else { format!("{base}/queue") })
}

/// Text from outside as one short line: control characters, and those that hide text or turn the direction of writing,
/// become spaces.
pub fn plain(text: &str, most: usize) -> String {
    // The joiners that Persian, Indic scripts and emoji need are left alone.
    let steers = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut plain: String = text.chars().take(most).map(|c| if steers(c) { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        plain.push('…');
    }
    plain
}

impl Page {
    /// One line for people.
    pub fn summary(&self) -> String {
        let name = |text: &str| plain(text, MOST_NAME);
        let marks = match (self.test, self.practice) {
            (true, _) => "[test] ",
            (false, true) => "[practice] ",
            (false, false) => "",
        };
        let gravity = match (&self.severity, self.urgent) {
            (Some(severity), true) => format!("urgent {} ", name(severity)),
            (Some(severity), false) => format!("{} ", name(severity)),
            (None, true) => "urgent ".to_owned(),
            (None, false) => String::new(),
        };
        let items = if self.items == 1 {
            format!("1 {gravity}review item")
        } else {
            format!("{} {gravity}review items", self.items)
        };
        let happened = match self.event {
            PageEvent::Trigger => "",
            PageEvent::Update => " (more have joined)",
            PageEvent::Acknowledge => " (taken)",
            PageEvent::Resolve => " (closed)",
        };
        let reasons =
            if self.reasons.is_empty() { "no reason".to_owned() } else { name(&self.reasons.join(", ")) };
        let line =
            format!("{marks}{}: {items}, {}: {reasons}{happened}", name(&self.project), name(&self.kind));
        plain(&line, MOST_SUMMARY)
    }

    /// The facts, without content unless the page has it.
    fn details(&self) -> Map<String, Value> {
        let name = |text: &str| plain(text, MOST_NAME);
        let mut details = Map::new();
        let mut set = |key: &str, value: Value| {
            details.insert(key.to_owned(), value);
        };
        set("items", json!(self.items));
        set("project", json!(name(&self.project)));
        set("kind", json!(name(&self.kind)));
        set("severity", json!(self.severity.as_deref().map(name)));
        set("urgent", json!(self.urgent));
        set("reasons", json!(self.reasons.iter().map(|code| name(code)).collect::<Vec<_>>()));
        set("review_item", json!(self.review_item));
        set("trace_id", json!(name(&self.trace_id)));
        set("practice", json!(self.practice));
        if self.content.is_some() {
            let texts: Map<String, Value> =
                self.texts().map(|(key, text)| (key.to_owned(), Value::String(text))).collect();
            set("content", Value::Object(texts));
        }
        details
    }

    /// Question and answer, as harmless as names.
    fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        ["query", "answer"].into_iter().filter_map(|key| {
            let text = self.content.as_ref()?.get(key)?.as_str()?;
            Some((key, plain(text, MOST_SUMMARY)))
        })
    }

    /// The body of a generic webhook.
    pub fn webhook(&self) -> Value {
        let mut body = Map::new();
        body.insert("schema".to_owned(), json!("groundcrew.notification/v1"));
        body.insert("notification".to_owned(), json!(self.notification));
        body.insert("page".to_owned(), json!(self.page));
        body.insert("event".to_owned(), json!(self.event));
        body.insert("test".to_owned(), json!(self.test));
        body.insert("summary".to_owned(), json!(self.summary()));
        body.extend(self.details());
        body.insert("opened_at".to_owned(), json!(self.time()));
        body.insert("link".to_owned(), json!(self.link));
        Value::Object(body)
    }

    /// The body of a Slack incoming webhook. `again`: an earlier try may have arrived.
    pub fn slack(&self, again: bool) -> Value {
        // The three characters that Slack's markup is made of.
        let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let mut lines = vec![escape(&self.summary())];
        lines.extend(self.link.as_deref().map(escape));
        lines.extend(self.texts().map(|(key, text)| format!("{key}: {}", escape(&text))));
        let mut page = format!("page {}", self.page);
        if again {
            page.push_str(" (sent again: an earlier try may have arrived)");
        }
        lines.push(page);
        // Asterisks and the like in names mean nothing.
        json!({ "text": lines.join("\n"), "mrkdwn": false })
    }

    /// The body of PagerDuty's Events API v2. An update is a trigger with the same dedup key, which opens nothing new.
    pub fn pagerduty(&self, routing_key: &str) -> Value {
        let action = match self.event {
            PageEvent::Trigger | PageEvent::Update => "trigger",
            PageEvent::Acknowledge => "acknowledge",
            PageEvent::Resolve => "resolve",
        };
        let mut body = json!({
            "routing_key": routing_key,
            "event_action": action,
            "dedup_key": self.dedup_key(),
        });
        if action == "trigger" {
            let severity = match self.severity.as_deref() {
                Some("critical") => "critical",
                Some("minor") => "warning",
                _ if self.urgent => "critical",
                _ => "error",
            };
            body["payload"] = json!({
                "summary": self.summary(),
                "source": "groundcrew",
                "severity": severity,
                "timestamp": self.time(),
                "component": plain(&self.project, MOST_NAME),
                "group": plain(&self.kind, MOST_NAME),
                "class": plain(&self.reasons.join(","), MOST_NAME),
                "custom_details": self.details(),
            });
            body["client"] = json!("groundcrew");
            if let Some(link) = &self.link {
                body["client_url"] = json!(link);
                body["links"] = json!([{ "href": link, "text": "Review desk" }]);
            }
        }
        body
    }

    /// What PagerDuty knows the page by.
    pub fn dedup_key(&self) -> String {
        format!("groundcrew-{}", self.page)
    }

    fn time(&self) -> String {
        self.opened_at.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page() -> Page {
        Page {
            notification: Uuid::from_u128(1),
            page: Uuid::from_u128(2),
            event: PageEvent::Trigger,
            items: 100,
            project: "harbour".into(),
            kind: "faithfulness".into(),
            severity: Some("critical".into()),
            urgent: true,
            reasons: vec!["critical_finding".into()],
            practice: false,
            test: false,
            review_item: Uuid::from_u128(3),
            trace_id: "t-1".into(),
            opened_at: "2026-03-01T10:00:00Z".parse().unwrap(),
            link: Some("https://desk.example/queue".into()),
            content: None,
        }
    }

    #[test]
    fn a_page_says_how_many() {
        assert_eq!(
            page().summary(),
            "harbour: 100 urgent critical review items, faithfulness: critical_finding"
        );
        let one = Page {
            items: 1,
            severity: None,
            urgent: false,
            practice: true,
            event: PageEvent::Resolve,
            ..page()
        };
        assert_eq!(
            one.summary(),
            "[practice] harbour: 1 review item, faithfulness: critical_finding (closed)"
        );
    }

    #[test]
    fn all_events_of_a_page_have_one_dedup_key() {
        for (event, action) in [
            (PageEvent::Trigger, "trigger"),
            (PageEvent::Update, "trigger"),
            (PageEvent::Acknowledge, "acknowledge"),
            (PageEvent::Resolve, "resolve"),
        ] {
            let body = Page { event, notification: Uuid::now_v7(), ..page() }.pagerduty("key");
            assert_eq!(body["event_action"], action);
            assert_eq!(body["dedup_key"], page().dedup_key());
            assert_eq!(body["payload"].is_object(), action == "trigger");
        }
        assert!(page().dedup_key().len() <= 255, "PagerDuty's limit");
    }

    #[test]
    fn a_link_leads_to_the_item_or_to_the_queue() {
        let item = Uuid::from_u128(3);
        assert_eq!(link(None, 1, item), None);
        let desk = Some("https://desk.example/");
        assert_eq!(link(desk, 1, item), Some(format!("https://desk.example/items/{item}")));
        assert_eq!(link(desk, 2, item).as_deref(), Some("https://desk.example/queue"));
    }

    #[test]
    fn names_steer_no_display_and_no_markup() {
        let hostile = Page { project: "a\n<!channel>\u{202e}&*b*\u{1b}[31m".into(), ..page() };
        let text = hostile.slack(false)["text"].as_str().unwrap().to_owned();
        assert!(text.starts_with("a &lt;!channel&gt; &amp;*b* [31m: "), "{text}");
        assert_eq!(hostile.summary().lines().count(), 1);
    }

    #[test]
    fn content_goes_along_only_when_it_was_put_in() {
        let bodies = |page: &Page| {
            [page.webhook(), page.slack(false), page.pagerduty("k")].map(|body| body.to_string())
        };
        for body in bodies(&page()) {
            assert!(!body.contains("content") && !body.contains("answer"), "{body}");
        }
        let content = Some(json!({ "query": "Who?", "answer": "SECRET ANSWER" }));
        for body in bodies(&Page { content, ..page() }) {
            assert!(body.contains("SECRET ANSWER"), "{body}");
        }
    }

    /// Slack's bodies were clean, those of PagerDuty and webhooks had the text as it came.
    #[test]
    fn content_steers_no_display_of_any_receiver() {
        let content = Some(
            json!({ "query": "a\u{202e}b\u{1b}[31m", "answer": "one\ntwo\u{0}\u{200b}\u{e0041}\u{200d}" }),
        );
        let hostile = Page { content, ..page() };
        let expected = json!({ "query": "a b [31m", "answer": "one two   \u{200d}" });
        assert_eq!(hostile.webhook()["content"], expected);
        assert_eq!(hostile.pagerduty("k")["payload"]["custom_details"]["content"], expected);
        let text = hostile.slack(false)["text"].as_str().unwrap().to_owned();
        assert!(text.contains("\nquery: a b [31m\nanswer: one two   \u{200d}\n"), "{text:?}");
    }

    proptest! {
        #[test]
        fn whatever_names_hold_a_summary_is_one_short_line(project in ".*", kind in ".*", reason in ".{0,2000}") {
            let summary = Page { project, kind, reasons: vec![reason], ..page() }.summary();
            prop_assert!(summary.chars().count() <= 1024);
            prop_assert!(!summary.chars().any(char::is_control));
        }
    }
}
