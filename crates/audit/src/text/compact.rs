//! JSON without the white space that means nothing, which a judge writes as it likes.

use std::ops::Range;

use super::folded::Folded;

/// `text` without blanks around the signs of JSON; none when it is no JSON or has no such blanks.
pub(crate) fn compact(text: &str) -> Option<Folded> {
    if !text.contains("\":") && !text.contains("\" :") {
        return None;
    }
    Folded::without(text, blanks(text.as_bytes()).filter(|blank| means_nothing(text.as_bytes(), blank)))
}

/// The stretches of white space.
fn blanks(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(u8::is_ascii_whitespace)?;
        at = bytes[start..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .map_or(bytes.len(), |more| start + more);
        Some(start..at)
    })
}

/// Whether a stretch of white space stands beside a sign of JSON.
fn means_nothing(bytes: &[u8], blank: &Range<usize>) -> bool {
    let before = blank.start.checked_sub(1).map(|before| bytes[before]);
    let after = bytes.get(blank.end).copied();
    let opens = matches!(before, Some(b'{' | b'[' | b',' | b':'))
        && matches!(after, Some(b'"' | b'{' | b'[' | b'}' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'));
    let closes = matches!(before, Some(b'"' | b'}' | b']' | b'0'..=b'9' | b'e' | b'l'))
        && matches!(after, Some(b'}' | b']' | b',' | b':'));
    opens || closes
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn blanks_around_the_signs_of_json_go() {
        let text = "{ \"name\": \"Ann Smith\",\n  \"age\" : 45 }";
        let bare = compact(text).unwrap();
        assert_eq!(bare.text, "{\"name\":\"Ann Smith\",\"age\":45}");
        assert_eq!(&text[bare.original(0..bare.text.len())], text);
        assert!(
            compact("It costs 5 euro, says \"Ann\": yes").is_none_or(|bare| bare.text.contains("euro, says"))
        );
        assert!(compact("no JSON, at all").is_none());
    }
}
