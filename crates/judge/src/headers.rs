//! The two headers that need reading or writing with care.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;

/// Reads how long the server wants to be left alone: `retry-after-ms`, which some providers send beside the
/// standard header because it is finer, else `retry-after` in seconds or as an HTTP date.
///
/// None when there is nothing, or nothing that can be understood. The caller clamps.
pub fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(pause) = millis.and_then(|millis| duration(millis / 1000.0)) {
        return Some(pause);
    }
    let value = text("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return duration(seconds);
    }
    // An HTTP date has the shape of an e-mail date.
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    // A date in the past means "now", and the clamp makes the shortest pause of it.
    Some((date.with_timezone(&Utc) - now).to_std().unwrap_or(Duration::ZERO))
}

/// Percent-encodes all but the unreserved characters, so that any trace id is a valid header value.
pub(crate) fn percent_encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

/// Negative and NaN mean nothing; what is too large for a `Duration` means "very long".
fn duration(seconds: f64) -> Option<Duration> {
    (0.0 <= seconds).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_all_its_spellings() {
        let now = DateTime::parse_from_rfc3339("2026-03-01T10:00:00Z").unwrap().with_timezone(&Utc);
        let seconds = |s| Some(Duration::from_secs(s));
        for (name, value, expected) in [
            ("retry-after", "7", seconds(7)),
            ("retry-after", " 7 ", seconds(7)),
            ("retry-after", "0", seconds(0)),
            ("retry-after", "1.5", Some(Duration::from_millis(1500))),
            ("retry-after", "Sun, 01 Mar 2026 10:00:42 GMT", seconds(42)),
            ("retry-after", "Sun, 01 Mar 2026 09:00:00 GMT", seconds(0)),
            ("retry-after", "99999999999999999999999999", Some(Duration::MAX)),
            ("retry-after", "inf", Some(Duration::MAX)),
            ("retry-after", "-5", None),
            ("retry-after", "NaN", None),
            ("retry-after", "soon", None),
            ("retry-after", "", None),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let read = retry_after(&headers, now);
            // Ten to the 26th seconds does not fit a Duration; all that matters is that it is very long.
            let capped = |d: Option<Duration>| d.map(|d| d.min(Duration::from_secs(1_000_000)));
            assert_eq!(capped(read), capped(expected), "{name}: {value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
        let mut both = HeaderMap::new();
        both.insert("retry-after-ms", "-1".parse().unwrap());
        both.insert("retry-after", "60".parse().unwrap());
        assert_eq!(retry_after(&both, now), seconds(60), "one that means nothing does not hide the other");
    }

    #[test]
    fn any_trace_id_fits_a_header() {
        assert_eq!(percent_encode("a-Z_0.9~"), "a-Z_0.9~");
        assert_eq!(percent_encode("a b/%\n"), "a%20b%2F%25%0A");
        assert_eq!(percent_encode("ü日"), "%C3%BC%E6%97%A5");
    }
}
