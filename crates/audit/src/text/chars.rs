//! Classes of characters that Unicode's tables do not give as such.

use unicode_normalization::UnicodeNormalization;

use super::classes::Class;

/// The value of a decimal digit of any script.
pub fn digit(c: char) -> Option<u8> {
    if c.is_ascii() {
        return c.is_ascii_digit().then(|| c as u8 - b'0');
    }
    if !Class::of(c).has(Class::DECIMAL) {
        return None;
    }
    // Unicode encodes decimal digits in runs of ten, zero first.
    let mut value = 0;
    let mut before = u32::from(c);
    while let Some(previous) = before
        .checked_sub(1)
        .and_then(char::from_u32)
        .filter(|previous| Class::of(*previous).has(Class::DECIMAL))
    {
        value = (value + 1) % 10;
        before = u32::from(previous);
    }
    Some(value)
}

/// A letter, digit or mark: what words are made of.
pub fn is_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { Class::of(c).has(Class::WORD) }
}

/// A letter, or a mark that belongs to one.
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { Class::of(c).has(Class::LETTER) }
}

/// What Unicode calls alphabetic.
pub fn is_alphabetic(c: char) -> bool {
    let class = Class::of(c);
    // Marks count as letters here and are alphabetic only in part.
    class.has(Class::LETTER) && (!class.has(Class::JOINS) || c.is_alphabetic())
}

/// The letters at the beginning of a text, at most `limit`, lower case and composed.
pub fn leading_word(chars: impl IntoIterator<Item = char>, limit: usize) -> String {
    let mut word: String = chars.into_iter().take_while(|c| is_letter(*c)).take(limit).collect();
    if word.is_ascii() {
        word.make_ascii_lowercase();
        return word;
    }
    word.to_lowercase().nfc().collect()
}

/// Part of a script that writes no spaces between words, so that nothing shows where a word ends.
pub fn is_unspaced(c: char) -> bool {
    !c.is_ascii() && Class::of(c).has(Class::UNSPACED)
}

/// A letter or digit of a script that writes spaces between words.
pub fn is_spaced_word(c: char) -> bool {
    is_word(c) && !is_unspaced(c)
}

/// Characters that are not seen and change nothing: zero-width, bidirectional and soft-hyphen
/// marks, variation selectors, the Arabic stretching stroke, control characters, and what stands
/// for a character that was lost.
pub fn is_ignorable(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !c.is_ascii_whitespace() && c != '\u{b}';
    }
    matches!(c,
        '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{640}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fffd}')
}

/// Quotation marks, apostrophes, primes and the like.
pub fn is_quotation(c: char) -> bool {
    matches!(c,
        '"' | '\'' | '`' | '´' | '«' | '»' | 'ʹ' | 'ʻ'..='ʽ' | '\u{2018}'..='\u{201f}' | '\u{2032}'..='\u{2037}'
        | '‹' | '›' | '「'..='』' | '〝'..='〟' | '｢' | '｣' | '＂' | '＇')
}

/// Hyphens, dashes and minus signs.
pub fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

/// Dashes that part clauses, with or without spaces around them.
pub fn is_long_dash(c: char) -> bool {
    matches!(c, '\u{2014}' | '\u{2015}' | '\u{fe58}')
}

/// Marks that begin a list item.
pub fn is_bullet(c: char) -> bool {
    matches!(c, '•' | '‣' | '◦' | '●' | '○' | '▪' | '▫' | '■' | '□' | '⁃' | '·' | '∙' | '➢' | '►')
}

/// Gives the compatibility form of one character to `emit`.
pub fn compatible(c: char, mut emit: impl FnMut(char)) {
    if Class::of(c).has(Class::ITSELF) {
        emit(c);
    } else if let Some(value) = digit(c) {
        emit(char::from(b'0' + value));
    } else {
        c.nfkc().for_each(emit);
    }
}

/// Pushes the lower-case form, with the few letters folded that have more than one.
pub fn push_lower(out: &mut String, c: char) {
    match c {
        _ if c.is_ascii() => out.push(c.to_ascii_lowercase()),
        _ if Class::of(c).has(Class::CASELESS) => out.push(c),
        'ß' | 'ẞ' => out.push_str("ss"),
        'ς' => out.push('σ'),
        _ => out.extend(c.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        for (c, value) in [('7', 7), ('٣', 3), ('۹', 9), ('７', 7), ('๒', 2), ('𝟘', 0), ('𝟡', 9), ('𝟢', 0)]
        {
            assert_eq!(digit(c), Some(value), "{c}");
        }
        for c in ['²', '½', '①', 'Ⅷ', '三', 'a'] {
            assert_eq!(digit(c), None, "{c}");
        }
    }

    #[test]
    fn compatibility_never_makes_a_digit_of_a_superscript() {
        let fold = |c| {
            let mut out = String::new();
            compatible(c, |part| out.push(part));
            out
        };
        for c in ['²', '½', '①', '㊿', '⁵', '₂'] {
            assert_eq!(fold(c), String::from(c));
        }
        assert_eq!(fold('７'), "7");
        assert_eq!(fold('ﬁ'), "fi");
        assert_eq!(fold('…'), "...");
    }
}
