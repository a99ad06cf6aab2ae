//! Hours of the week where people are: in a named time zone, or at a fixed offset from UTC.

use std::str::FromStr;

use chrono::{DateTime, Datelike, FixedOffset, NaiveTime, TimeZone, Timelike, Utc, Weekday};
use chrono_tz::Tz;

const MINUTES_OF_A_DAY: u32 = 24 * 60;

/// Where hours are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// A zone of the IANA database, such as `Europe/Berlin`: its clocks change when the zone's do.
    Named(Tz),
    /// A fixed offset from UTC, such as `+01:00`. Daylight saving is not followed.
    Fixed(FixedOffset),
}

/// A text is no offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an offset from UTC such as +01:00, -03:30 or Z")]
pub struct BadOffset;

/// A text is no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a time zone such as Europe/Berlin, or an offset from UTC such as +01:00, -03:30 or Z")]
pub struct BadZone;

impl Zone {
    /// No offset.
    pub fn utc() -> Self {
        Self::Fixed(chrono::Offset::fix(&Utc))
    }

    /// The zone of an offset from UTC; none is no offset.
    ///
    /// # Errors
    /// [`BadOffset`].
    pub fn offset(text: &str) -> Result<Self, BadOffset> {
        let text = text.trim();
        if text.is_empty() || text == "Z" {
            return Ok(Self::utc());
        }
        text.parse().map(Self::Fixed).map_err(|_| BadOffset)
    }

    /// Day of the week, from Monday, and minute of the day. From UTC there always is exactly one local time, also in
    /// the hours that a change of the clock leaves out or repeats.
    fn clock(self, at: DateTime<Utc>) -> (usize, u32) {
        fn read(local: &DateTime<impl TimeZone>) -> (usize, u32) {
            (day(local.weekday()), local.hour() * 60 + local.minute())
        }
        match self {
            Self::Named(zone) => read(&at.with_timezone(&zone)),
            Self::Fixed(offset) => read(&at.with_timezone(&offset)),
        }
    }
}

impl FromStr for Zone {
    type Err = BadZone;

    fn from_str(text: &str) -> Result<Self, BadZone> {
        Self::offset(text).or_else(|_| text.trim().parse().map(Self::Named)).map_err(|_| BadZone)
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
    pub fn contain(&self, at: DateTime<Utc>, zone: Zone) -> bool {
        let (today, minute) = zone.clock(at);
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
        if text.is_empty() {
            return Ok(Self::default());
        }
        let spans = text.split(',').map(str::trim);
        // What is wrong with an empty span can only be seen in the whole.
        let whole = |span: &str| BadHours(if span.is_empty() { text } else { span }.to_owned());
        spans.map(|text| span(text).ok_or_else(|| whole(text))).collect::<Result<_, _>>().map(Self)
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
        let (berlin, utc) = ("+01:00".parse().unwrap(), Zone::utc());
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
        let contain = |text| hours.contain(at(text), Zone::utc());
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
        assert!(hours.contain(at("2026-03-02T12:00:00Z"), Zone::utc()));
        assert!(!hours.contain(at("2026-03-03T12:00:00Z"), Zone::utc()));
        assert!(Hours::default().contain(at("2026-03-03T12:00:00Z"), Zone::utc()));
        assert_eq!("".parse(), Ok(Hours::default()));
    }

    #[test]
    fn what_names_no_hours_is_refused() {
        for text in
            ["always", "mon-", "08:00", "8-18", "mon 08:00-08:00", "24:00-06:00", "mon 08:00-25:00", "a b c"]
        {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
        // They were all hours.
        for (text, shown) in [(",", "`,`"), (" ", "` `"), ("mon,,tue", "`mon,,tue`"), ("mon,", "`mon,`")] {
            let error = text.parse::<Hours>().unwrap_err().to_string();
            assert!(error.contains(shown), "{error}");
        }
        for text in ["+1", "1", "+25:00", "Europe/Atlantis", "europe/berlin "] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
        assert_eq!(Zone::offset("Europe/Berlin"), Err(BadOffset));
        assert_eq!("Z".parse(), Ok(Zone::utc()));
        assert_eq!(" Europe/Berlin".parse(), Ok(Zone::Named(Tz::Europe__Berlin)));
    }

    /// Whether each moment lies in the hours.
    fn checks(hours: &str, zone: &str, moments: &[(&str, bool)]) {
        let (hours, zone): (Hours, Zone) = (hours.parse().unwrap(), zone.parse().unwrap());
        for (moment, expected) in moments {
            assert_eq!(hours.contain(at(moment), zone), *expected, "{moment}");
        }
    }

    #[test]
    fn hours_of_a_named_zone_follow_both_changes_of_its_clock() {
        checks(
            "mon-fri 08:00-18:00",
            "Europe/Berlin",
            &[
                // The last Friday of winter time, and the first Monday of summer time.
                ("2026-03-27T06:59:59Z", false),
                ("2026-03-27T07:00:00Z", true),
                ("2026-03-27T17:00:00Z", false),
                ("2026-03-30T05:59:59Z", false),
                ("2026-03-30T06:00:00Z", true),
                ("2026-03-30T16:00:00Z", false),
                // And back.
                ("2026-10-23T06:00:00Z", true),
                ("2026-10-23T16:00:00Z", false),
                ("2026-10-26T06:59:59Z", false),
                ("2026-10-26T07:00:00Z", true),
                ("2026-10-26T17:00:00Z", false),
            ],
        );
        // The other half of the world, where summer ends in April.
        checks(
            "mon 09:00-17:00",
            "Australia/Sydney",
            &[
                ("2026-03-29T22:00:00Z", true),
                ("2026-04-05T22:00:00Z", false),
                ("2026-04-05T23:00:00Z", true),
            ],
        );
        // A clock that changes by half an hour.
        checks(
            "mon 09:00-17:00",
            "Australia/Lord_Howe",
            &[
                ("2026-03-29T22:00:00Z", true),
                ("2026-04-05T22:29:59Z", false),
                ("2026-04-05T22:30:00Z", true),
            ],
        );
    }

    #[test]
    fn an_hour_that_a_change_leaves_out_is_not_there_and_one_that_it_repeats_is_there_twice() {
        checks(
            "02:00-03:00",
            "Europe/Berlin",
            &[
                // 01:59 is followed by 03:00.
                ("2026-03-29T00:59:59Z", false),
                ("2026-03-29T01:00:00Z", false),
                ("2026-10-24T23:59:59Z", false),
                ("2026-10-25T00:00:00Z", true),
                ("2026-10-25T00:59:59Z", true),
                ("2026-10-25T01:00:00Z", true),
                ("2026-10-25T01:59:59Z", true),
                ("2026-10-25T02:00:00Z", false),
            ],
        );
        // Nights in which it happens are an hour shorter, and an hour longer.
        checks(
            "sat 22:00-06:00",
            "Europe/Berlin",
            &[
                ("2026-03-28T20:59:59Z", false),
                ("2026-03-28T21:00:00Z", true),
                ("2026-03-29T03:59:59Z", true),
                ("2026-03-29T04:00:00Z", false),
                ("2026-10-24T20:00:00Z", true),
                ("2026-10-25T04:59:59Z", true),
                ("2026-10-25T05:00:00Z", false),
            ],
        );
        // A fixed offset knows nothing of that.
        checks("02:00-03:00", "+01:00", &[("2026-03-29T01:00:00Z", true), ("2026-10-25T00:00:00Z", false)]);
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
            let offset: Zone =
                format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60).parse().unwrap();
            let moment = at("2026-03-02T00:00:00Z") + TimeDelta::seconds(second);
            prop_assert_ne!(inside.contain(moment, offset), outside.contain(moment, offset));
        }

        #[test]
        fn any_text_is_hours_or_an_error(text in ".{0,40}") {
            let _ = text.parse::<Hours>();
            let _ = text.parse::<Zone>();
        }
    }
}
