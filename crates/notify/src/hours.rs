//! Hours of the week in a time zone that is a fixed offset from UTC.

use std::str::FromStr;

use chrono::{DateTime, Datelike, FixedOffset, NaiveTime, Timelike, Utc, Weekday};

const MINUTES_OF_A_DAY: u32 = 24 * 60;

/// A fixed offset from UTC, such as `+01:00`. Daylight saving is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset(FixedOffset);

/// A text is no offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an offset from UTC such as +01:00, -03:30 or Z")]
pub struct BadOffset;

impl Offset {
    /// No offset.
    pub fn utc() -> Self {
        Self(chrono::Offset::fix(&Utc))
    }
}

impl FromStr for Offset {
    type Err = BadOffset;

    fn from_str(text: &str) -> Result<Self, BadOffset> {
        let text = text.trim();
        if text.is_empty() || text == "Z" {
            return Ok(Self::utc());
        }
        text.parse().map(Self).map_err(|_| BadOffset)
    }
}

/// Spans of the week; all of it when there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hours(Vec<Span>);

/// Why a text names no hours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no hours: expected days, times or both, such as mon-fri 08:00-18:00 or sat 22:00-06:00")]
pub struct BadHours(String);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// By days from Monday.
    days: [bool; 7],
    /// Minutes of the day, the first inclusive.
    from: u32,
    /// Exclusive. Not above `from`: the span ends on the day after.
    to: u32,
}

impl Hours {
    /// Whether a moment lies in them. A span that passes midnight belongs to the day on which it begins.
    pub fn contain(&self, at: DateTime<Utc>, offset: Offset) -> bool {
        let local = at.with_timezone(&offset.0);
        let (today, minute) = (day(local.weekday()), local.hour() * 60 + local.minute());
        let yesterday = (today + 6) % 7;
        self.0.is_empty()
            || self.0.iter().any(|span| {
                if span.from < span.to {
                    span.days[today] && (span.from..span.to).contains(&minute)
                } else {
                    span.days[today] && minute >= span.from || span.days[yesterday] && minute < span.to
                }
            })
    }
}

fn day(weekday: Weekday) -> usize {
    // From 0 to 6.
    usize::try_from(weekday.num_days_from_monday()).unwrap_or_default()
}

impl FromStr for Hours {
    type Err = BadHours;

    fn from_str(text: &str) -> Result<Self, BadHours> {
        let spans = text.split(',').map(str::trim).filter(|span| !span.is_empty());
        spans
            .map(|text| span(text).ok_or_else(|| BadHours(text.to_owned())))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn span(text: &str) -> Option<Span> {
    let mut span = Span { days: [true; 7], from: 0, to: MINUTES_OF_A_DAY };
    let words: Vec<&str> = text.split_whitespace().collect();
    let (days_of, times_of) = match words.as_slice() {
        [days, times] => (Some(*days), Some(*times)),
        [word] if word.starts_with(|first: char| first.is_ascii_digit()) => (None, Some(*word)),
        [word] => (Some(*word), None),
        _ => return None,
    };
    if let Some(days_of) = days_of {
        span.days = days(days_of)?;
    }
    if let Some(times_of) = times_of {
        let (from, to) = times_of.split_once('-')?;
        (span.from, span.to) = (minute(from)?, minute(to)?);
        if span.from == MINUTES_OF_A_DAY || span.from == span.to {
            return None;
        }
    }
    Some(span)
}

fn days(text: &str) -> Option<[bool; 7]> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (day(weekday(first)?), day(weekday(last)?));
    let mut days = [false; 7];
    let count = (last + 7 - first) % 7;
    for after in 0..=count {
        days[(first + after) % 7] = true;
    }
    Some(days)
}

fn weekday(text: &str) -> Option<Weekday> {
    // Only the short names: chrono would also take half-written ones.
    (text.len() == 3).then(|| text.parse().ok()).flatten()
}

fn minute(text: &str) -> Option<u32> {
    if text == "24:00" {
        return Some(MINUTES_OF_A_DAY);
    }
    let time = NaiveTime::parse_from_str(text, "%H:%M").ok()?;
    Some(time.hour() * 60 + time.minute())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn hours_are_those_of_the_offset() {
        let hours: Hours = "mon-fri 08:00-18:00".parse().unwrap();
        let (berlin, utc) = ("+01:00".parse().unwrap(), Offset::utc());
        // A Monday.
        assert!(hours.contain(at("2026-03-02T07:00:00Z"), berlin));
        assert!(!hours.contain(at("2026-03-02T07:00:00Z"), utc));
        assert!(!hours.contain(at("2026-03-02T17:00:00Z"), berlin));
        assert!(hours.contain(at("2026-03-02T17:59:59Z"), utc));
        // Sunday in UTC, Monday in Auckland.
        assert!(hours.contain(at("2026-03-01T20:00:00Z"), "+13:00".parse().unwrap()));
        assert!(!hours.contain(at("2026-03-01T20:00:00Z"), utc));
        assert!(hours.contain(at("2026-03-02T11:30:00Z"), "-03:30".parse().unwrap()));
        assert!(!hours.contain(at("2026-03-02T11:29:00Z"), "-03:30".parse().unwrap()));
    }

    #[test]
    fn a_night_belongs_to_the_day_on_which_it_begins() {
        let hours: Hours = "fri 22:00-06:00, sat-sun".parse().unwrap();
        let contain = |text| hours.contain(at(text), Offset::utc());
        assert!(!contain("2026-03-06T21:59:00Z"));
        assert!(contain("2026-03-06T22:00:00Z"));
        assert!(contain("2026-03-07T05:59:00Z"));
        assert!(contain("2026-03-08T23:59:59Z"));
        assert!(!contain("2026-03-09T00:00:00Z"));
        assert!(!contain("2026-03-06T05:00:00Z"), "Thursday's night is not in it");
    }

    #[test]
    fn weeks_wrap_and_no_hours_are_all_hours() {
        let hours: Hours = "sat-mon".parse().unwrap();
        assert!(hours.contain(at("2026-03-02T12:00:00Z"), Offset::utc()));
        assert!(!hours.contain(at("2026-03-03T12:00:00Z"), Offset::utc()));
        assert!(Hours::default().contain(at("2026-03-03T12:00:00Z"), Offset::utc()));
        assert_eq!("".parse(), Ok(Hours::default()));
    }

    #[test]
    fn what_names_no_hours_is_refused() {
        for text in
            ["always", "mon-", "08:00", "8-18", "mon 08:00-08:00", "24:00-06:00", "mon 08:00-25:00", "a b c"]
        {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
        for text in ["CET", "+1", "1", "+25:00"] {
            assert!(text.parse::<Offset>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_span_and_the_rest_of_the_day_share_out_every_moment(
            from in 0_u32..1440, length in 1_u32..1440, second in 0_i64..604_800, offset in -720_i32..=840,
        ) {
            let to = (from + length) % 1440;
            let clock = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
            let inside: Hours = format!("{}-{}", clock(from), clock(to)).parse().unwrap();
            let outside: Hours = format!("{}-{}", clock(to), clock(from)).parse().unwrap();
            let sign = if offset < 0 { '-' } else { '+' };
            let offset: Offset =
                format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60).parse().unwrap();
            let moment = at("2026-03-02T00:00:00Z") + TimeDelta::seconds(second);
            prop_assert_ne!(inside.contain(moment, offset), outside.contain(moment, offset));
        }

        #[test]
        fn any_text_is_hours_or_an_error(text in ".{0,40}") {
            let _ = text.parse::<Hours>();
            let _ = text.parse::<Offset>();
        }
    }
}
