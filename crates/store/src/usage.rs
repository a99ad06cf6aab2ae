//! What stored attempts took, added up in the transaction that stores them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use audit::policy::Class;
use chrono::NaiveDate;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::rows::{AttemptRow, UsageRow};

/// How a row of usage takes another one in. What judges say of themselves may add up to more than the columns hold, and
/// an error would keep the audit from being stored.
macro_rules! added {
    () => {
        "calls = usage.calls + excluded.calls,
        replies = usage.replies + excluded.replies,
        prompt_tokens = least(usage.prompt_tokens::numeric + excluded.prompt_tokens, 9223372036854775807)::int8,
        completion_tokens =
            least(usage.completion_tokens::numeric + excluded.completion_tokens, 9223372036854775807)::int8,
        replies_without_tokens = usage.replies_without_tokens + excluded.replies_without_tokens,
        cost_micros = case
            -- least() passes over nulls, and a price that is not known stays so.
            when usage.cost_micros is not null and excluded.cost_micros is not null
            then least(usage.cost_micros::numeric + excluded.cost_micros, 9223372036854775807)::int8
        end"
    };
}
pub(crate) use added;

/// What one attempt took.
#[derive(Debug, Clone)]
pub(crate) struct Used {
    project: String,
    day: NaiveDate,
    /// Empty when the price is not known.
    currency: String,
    is_reply: bool,
    /// Prompt and reply; none when one of them is not known.
    tokens: Option<(i64, i64)>,
    cost_micros: Option<i64>,
}

impl Used {
    pub(crate) fn of(project: &str, row: &AttemptRow) -> Self {
        Self {
            project: project.to_owned(),
            day: row.started_at.date_naive(),
            currency: row.cost_micros.and(row.currency.clone()).unwrap_or_default(),
            is_reply: Class::parse(row.class).is_some_and(Class::is_reply),
            tokens: row.prompt_tokens.zip(row.completion_tokens),
            cost_micros: row.cost_micros,
        }
    }
}

/// Sums by project, day and currency, in that order.
fn sums(worker: Uuid, used: impl IntoIterator<Item = Used>) -> Vec<UsageRow> {
    let mut sums: BTreeMap<(String, NaiveDate, String), UsageRow> = BTreeMap::new();
    for used in used {
        // A price without a currency is refused by the attempts' own constraint; it is not known here either.
        let cost_micros = used.cost_micros.filter(|_| !used.currency.is_empty());
        let sum =
            sums.entry((used.project.clone(), used.day, used.currency.clone())).or_insert_with(|| UsageRow {
                project: used.project,
                day: used.day,
                currency: used.currency,
                worker,
                calls: 0,
                replies: 0,
                prompt_tokens: 0,
                completion_tokens: 0,
                replies_without_tokens: 0,
                cost_micros: cost_micros.map(|_| 0),
            });
        let (prompt, completion) = used.tokens.unwrap_or_default();
        sum.calls += 1;
        sum.replies += i64::from(used.is_reply);
        sum.prompt_tokens = sum.prompt_tokens.saturating_add(prompt);
        sum.completion_tokens = sum.completion_tokens.saturating_add(completion);
        sum.replies_without_tokens += i64::from(used.is_reply && used.tokens.is_none());
        sum.cost_micros = sum.cost_micros.map(|cost| cost.saturating_add(cost_micros.unwrap_or_default()));
    }
    sums.into_values().collect()
}

/// Adds to the sums. The last statement of its transaction; no other connection writes the same rows.
pub(crate) async fn add(
    connection: &mut PgConnection,
    worker: Uuid,
    used: impl IntoIterator<Item = Used>,
) -> Result<(), sqlx::Error> {
    static ADD: LazyLock<String> = LazyLock::new(|| {
        UsageRow::insert(
            &[("slot", "pg_backend_pid()")],
            concat!("on conflict on constraint usage_pkey do update set ", added!()),
        )
    });
    let rows = sums(worker, used);
    if !rows.is_empty() {
        UsageRow::bind(&ADD, rows).execute(connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_counted_and_never_zero() {
        let used = |currency: &str, is_reply, tokens, cost_micros| Used {
            project: "p".into(),
            day: NaiveDate::default(),
            currency: currency.into(),
            is_reply,
            tokens,
            cost_micros,
        };
        let rows = sums(
            Uuid::nil(),
            [
                used("EUR", true, Some((10, 1)), Some(7)),
                used("EUR", true, Some((20, 2)), Some(8)),
                used("", true, None, None),
                used("", false, None, None),
            ],
        );
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.currency.as_str(), row.calls, row.replies_without_tokens, row.cost_micros))
            .collect();
        assert_eq!(seen, [("", 2, 1, None), ("EUR", 2, 0, Some(15))]);
        assert_eq!((rows[1].prompt_tokens, rows[1].completion_tokens), (30, 3));
    }
}
