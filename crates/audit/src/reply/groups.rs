//! Braces and brackets in a text that is not all JSON: which begin a group, and where a broken group ends.

/// Whether a brace begins an object, or is only a brace, as in `{user}`.
pub(super) fn looks_like_object(text: &str) -> bool {
    let inner = text[1..].trim_start();
    if inner.is_empty() || inner.starts_with(['"', '\'', '“', '}']) {
        return true;
    }
    let key = inner.len() - inner.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    key > 0 && inner[key..].trim_start().starts_with(':')
}

/// Whether a bracket begins an array of objects, or is only a bracket, as in `[1]`.
pub(super) fn looks_like_array(text: &str) -> bool {
    const MAX_DEPTH: usize = 16;
    let mut inner = text;
    for _ in 0..MAX_DEPTH {
        match inner.strip_prefix('[') {
            Some(rest) => inner = rest.trim_start(),
            None => return inner.starts_with('{') && looks_like_object(inner),
        }
    }
    false
}

/// Whether a piece of broken JSON has this key, in whatever quotation marks.
pub(super) fn has_key(piece: &str, key: &str) -> bool {
    piece.match_indices(key).any(|(at, _)| {
        let after = piece[at + key.len()..].trim_start_matches(['"', '\'', '”', '\\']);
        after.trim_start().starts_with(':')
    })
}

/// The length of a group that cannot be read; none when it is never closed.
///
/// A quotation mark closes a string only before a character that can follow one, so that unescaped
/// marks inside of a string do not hide the end.
pub(super) fn extent(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut string: Option<u8> = None;
    let mut last = b'{';
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        match (string, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(quote), _) if quote == byte && ends_string(&bytes[at + 1..]) => {
                string = None;
                last = byte;
            }
            (Some(_), _) => {}
            (None, b'"') => string = Some(byte),
            (None, b'\'') if matches!(last, b'{' | b'[' | b',' | b':') => string = Some(byte),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        if string.is_none() && !byte.is_ascii_whitespace() {
            last = byte;
        }
        at += 1;
    }
    None
}

fn ends_string(rest: &[u8]) -> bool {
    // Bounded, so that a text of quotation marks and blanks costs no more than its length.
    let next = rest.iter().take(64).find(|byte| !byte.is_ascii_whitespace());
    next.is_none_or(|byte| matches!(byte, b',' | b':' | b'}' | b']' | b'/' | b'#'))
}
