//! JSON without the white space that means nothing, which a judge writes as it likes.

use super::folded::Folded;

/// `text` without blanks around the signs of JSON; none when it is no JSON or has no such blanks.
pub(crate) fn compact(text: &str) -> Option<Folded> {
    if !text.contains("\":") && !text.contains("\" :") {
        return None;
    }
    let mut out = Folded::default();
    let mut kept_from = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if !bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let end = bytes[at..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
            .map_or(bytes.len(), |more| at + more);
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let after = bytes.get(end).copied();
        let opens = matches!(before, Some(b'{' | b'[' | b',' | b':'))
            && matches!(
                after,
                Some(b'"' | b'{' | b'[' | b'}' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
            );
        let closes = matches!(before, Some(b'"' | b'}' | b']' | b'0'..=b'9' | b'e' | b'l'))
            && matches!(after, Some(b'}' | b']' | b',' | b':'));
        if opens || closes {
            keep(&mut out, text, kept_from, at);
            kept_from = end;
        }
        at = end;
    }
    if kept_from == 0 {
        return None;
    }
    keep(&mut out, text, kept_from, text.len());
    Some(out)
}

fn keep(out: &mut Folded, text: &str, from: usize, until: usize) {
    if from < until {
        out.note(out.text.len(), from, until, true);
        out.text.push_str(&text[from..until]);
    }
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
