//! What went in, what came out, and what that proves. After Jepsen's `total-queue` checker: what was confirmed
//! must come out, what comes out must have gone in; here it must also come out once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::System;

/// How a published message has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// As an audit.
    Audit,
    /// As a dead letter.
    DeadLetter,
}

/// Keeps account of what was published, and compares it with what became of it.
#[derive(Debug, Default)]
pub struct Checker {
    attempted: BTreeMap<String, Fate>,
    confirmed: BTreeSet<String>,
}

/// The counts, and what they say. Its `Display` is a table.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Messages that the producer tried to publish.
    pub published: usize,
    /// Those that the broker confirmed.
    pub confirmed: usize,
    /// Audits that have ended.
    pub audits: usize,
    /// Dead letters.
    pub dead_letters: usize,
    /// Confirmed, and neither.
    pub lost: Vec<String>,
    /// Ended twice: two audits of one kind and content, or an audit and a dead letter.
    pub doubled: Vec<String>,
    /// Ended without having been published, or in the other way than they should.
    pub unexpected: Vec<String>,
    /// Begun and not ended.
    pub open: Vec<String>,
    /// Attempts whose numbers have gaps, or more replies than the kind's budget.
    pub wrong_attempts: Vec<String>,
    /// Audits that ask for people.
    pub reviews_due: usize,
    /// Review items.
    pub review_items: usize,
    /// Audits whose review items are not exactly one.
    pub wrong_reviews: Vec<String>,
    /// Different review messages, by message id.
    pub review_messages: usize,
    /// Review messages that came again under the same id, which is allowed.
    pub repeated_messages: usize,
    /// Review items without a message.
    pub unannounced: Vec<String>,
    /// Outbox rows that were not sent: routing key, how often they were taken in hand, and until when.
    pub unsent: Vec<String>,
    /// Queues in which something is left.
    pub left_in_queues: Vec<String>,
    /// Calls that the judge received.
    pub calls_received: u64,
    /// Replies that the judge gave in full.
    pub calls_answered: u64,
    /// Replies that are stored.
    pub replies_stored: u64,
    /// Replies that the judge may have given beyond those stored: calls that a fault interrupted.
    pub interruptions: u64,
    /// Traces for which the judge answered more than the budget and the interruptions allow.
    pub overasked: Vec<String>,
}

/// Replies that one unit of a faithfulness audit may cost: the first, and one more.
const BUDGET: u64 = 2;

impl Checker {
    /// Notes that a message is about to be published.
    pub fn attempt(&mut self, trace_id: impl Into<String>, fate: Fate) {
        self.attempted.insert(trace_id.into(), fate);
    }

    /// Notes that the broker has confirmed it.
    pub fn confirm(&mut self, trace_id: impl Into<String>) {
        self.confirmed.insert(trace_id.into());
    }

    /// How many confirmed messages have not ended yet, by counting alone: exact when nothing is doubled.
    pub(crate) async fn on_the_way(&self, system: &System) -> usize {
        let ended = "select (select count(*) from groundcrew.audits where disposition is not null)
            + (select count(*) from groundcrew.dead_letters)";
        let ended: i64 = sqlx::query_scalar(ended).fetch_one(&system.database.pool).await.unwrap_or_default();
        self.confirmed.len().saturating_sub(usize::try_from(ended).unwrap_or_default())
    }

    /// Compares. `faults`: how often something was interrupted; `interruptions`: how many calls that may have cut off
    /// in all.
    pub async fn check(&self, system: &System, faults: u64, interruptions: u64) -> Findings {
        let ended = Self::ended(system).await;
        let buried = Self::buried(system).await;
        let mut findings = Findings {
            published: self.attempted.len(),
            confirmed: self.confirmed.len(),
            audits: ended.values().sum(),
            dead_letters: buried.values().sum(),
            interruptions,
            ..Findings::default()
        };
        for id in &self.confirmed {
            if !ended.contains_key(id) && !buried.contains_key(id) {
                findings.lost.push(id.clone());
            }
        }
        for (id, count) in ended.iter().chain(&buried) {
            if *count > 1 || (ended.contains_key(id) && buried.contains_key(id)) {
                findings.doubled.push(id.clone());
            }
            let fate = if ended.contains_key(id) { Fate::Audit } else { Fate::DeadLetter };
            if self.attempted.get(id) != Some(&fate) {
                findings.unexpected.push(id.clone());
            }
        }
        findings.open = system
            .strings("select distinct trace_id from groundcrew.audits where disposition is null order by 1")
            .await;
        findings.wrong_attempts = system
            .strings(
                "select distinct a.trace_id from groundcrew.audits a
                 join groundcrew.attempts t on t.audit_id = a.id
                 group by a.id, a.trace_id, t.unit
                 having max(t.number) <> count(*)
                     or count(*) filter (where t.class in ('accepted', 'format', 'content', 'refusal')) > 2
                 union
                 select trace_id from groundcrew.audits a
                 where attempts_total <> (select count(*) from groundcrew.attempts t where t.audit_id = a.id)
                   and disposition is not null
                 order by 1",
            )
            .await;
        self.check_reviews(system, &mut findings).await;
        self.check_judge(system, faults, &mut findings).await;
        findings
    }

    async fn ended(system: &System) -> BTreeMap<String, usize> {
        let ids =
            system.strings("select trace_id from groundcrew.audits where disposition is not null").await;
        count(ids)
    }

    async fn buried(system: &System) -> BTreeMap<String, usize> {
        let ids = system
            .strings("select coalesce(trace_id, encode(body, 'hex')) from groundcrew.dead_letters")
            .await;
        count(ids)
    }

    async fn check_reviews(&self, system: &System, findings: &mut Findings) {
        let due = system
            .strings(
                "select id::text from groundcrew.audits where disposition is not null and reasons <> '[]'",
            )
            .await;
        let items = count(system.strings("select audit_id::text from groundcrew.review_items").await);
        findings.reviews_due = due.len();
        findings.review_items = items.values().sum();
        let due: BTreeSet<String> = due.into_iter().collect();
        let known: BTreeSet<&String> = due.iter().chain(items.keys()).collect();
        findings.wrong_reviews = known
            .into_iter()
            .filter(|audit| usize::from(due.contains(*audit)) != items.get(*audit).copied().unwrap_or(0))
            .cloned()
            .collect();

        let messages = system.vhost.peek(queue::queue::REVIEW).await;
        let announced: BTreeSet<String> = messages
            .iter()
            .filter_map(|message| message.body["audit_id"].as_str().map(str::to_owned))
            .collect();
        let ids: BTreeSet<&Option<String>> = messages.iter().map(|message| &message.message_id).collect();
        findings.review_messages = ids.len();
        findings.repeated_messages = messages.len() - ids.len();
        findings.unannounced = items.keys().filter(|audit| !announced.contains(*audit)).cloned().collect();
        findings.unsent = system
            .strings(
                "select format('%s, tried %s times, leased until %s, due %s', routing_key, attempts, leased_until,
                    available_at)
                 from groundcrew.outbox where sent_at is null order by created_at",
            )
            .await;
        findings.left_in_queues = system.waiting().await;
    }

    async fn check_judge(&self, system: &System, faults: u64, findings: &mut Findings) {
        for id in self.attempted.keys() {
            let calls = system.judge.calls(id);
            findings.calls_received += calls.received;
            findings.calls_answered += calls.answered;
            if calls.answered > BUDGET + faults {
                findings.overasked.push(id.clone());
            }
        }
        let stored: Value = system
            .json("select to_jsonb(coalesce(sum(replies_total), 0)) from groundcrew.audits")
            .await
            .pop()
            .unwrap_or_default();
        findings.replies_stored = stored.as_u64().unwrap_or_default();
    }
}

fn count(ids: Vec<String>) -> BTreeMap<String, usize> {
    ids.into_iter().fold(BTreeMap::new(), |mut counts, id| {
        *counts.entry(id).or_default() += 1;
        counts
    })
}

impl Findings {
    /// Everything that must not be, in words. Empty when all is well.
    pub fn violations(&self) -> Vec<String> {
        let lists = [
            ("lost", &self.lost),
            ("doubled", &self.doubled),
            ("unexpected", &self.unexpected),
            ("still open", &self.open),
            ("attempts with gaps or beyond the budget", &self.wrong_attempts),
            ("not exactly one review item", &self.wrong_reviews),
            ("review items without a message", &self.unannounced),
            ("asked too often", &self.overasked),
            ("queues that are not empty", &self.left_in_queues),
            ("outbox rows not sent", &self.unsent),
        ];
        let mut violations: Vec<String> = lists
            .into_iter()
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(what, ids)| format!("{what}: {} ({})", ids.len(), ids[..ids.len().min(5)].join(", ")))
            .collect();
        if self.review_messages != self.review_items {
            let (messages, items) = (self.review_messages, self.review_items);
            violations.push(format!("{messages} different review messages for {items} review items"));
        }
        if self.calls_answered > self.replies_stored + self.interruptions {
            violations.push(format!(
                "the judge gave {} replies; {} are stored and {} may have been interrupted",
                self.calls_answered, self.replies_stored, self.interruptions
            ));
        }
        violations
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: String| writeln!(formatter, "  {name:<34} {value:>8}");
        row("published", self.published.to_string())?;
        row("confirmed", self.confirmed.to_string())?;
        row("audits ended", self.audits.to_string())?;
        row("dead letters", self.dead_letters.to_string())?;
        row("lost", self.lost.len().to_string())?;
        row("doubled", self.doubled.len().to_string())?;
        row("unexpected", self.unexpected.len().to_string())?;
        row("still open", self.open.len().to_string())?;
        row("attempts out of order", self.wrong_attempts.len().to_string())?;
        row("audits that people must see", self.reviews_due.to_string())?;
        row("review items", self.review_items.to_string())?;
        row("review items missing or doubled", self.wrong_reviews.len().to_string())?;
        row("review messages (different)", self.review_messages.to_string())?;
        row("review messages (repeated)", self.repeated_messages.to_string())?;
        row("outbox rows not sent", self.unsent.len().to_string())?;
        row("queues that are not empty", self.left_in_queues.len().to_string())?;
        row("judge calls received", self.calls_received.to_string())?;
        row("judge replies given", self.calls_answered.to_string())?;
        row("judge replies stored", self.replies_stored.to_string())?;
        row("judge replies that may be missing", self.interruptions.to_string())?;
        row("traces asked about too often", self.overasked.len().to_string())
    }
}
