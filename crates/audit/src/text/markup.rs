//! Markup that a judge leaves out when it copies a passage: tags, links, citation marks, entities.
//!
//! The words stay as they are; the way back to the original is kept.

use unicode_normalization::UnicodeNormalization;

use super::chars::{digit, is_letter, is_word};
use super::folded::Folded;
use super::numbers::words::superscript;

/// `text` without its markup; none when it has none.
pub(crate) fn strip(text: &str) -> Option<Folded> {
    let may_have = |c: char| matches!(c, '<' | '[' | '&' | '【' | '^') || superscript(c).is_some();
    if !text.contains(may_have) {
        return None;
    }
    let mut strip =
        Strip { text, out: Folded::default(), kept_from: 0, has_removed: false, is_past_comments: false };
    strip.run();
    strip.has_removed.then_some(strip.out)
}

struct Strip<'t> {
    text: &'t str,
    out: Folded,
    /// Where the stretch begins that is kept and not written yet.
    kept_from: usize,
    has_removed: bool,
    /// Set once no comment is closed any more.
    is_past_comments: bool,
}

/// What stands instead of `length` bytes of markup.
struct Mark {
    length: usize,
    instead: String,
}

impl Mark {
    fn nothing(length: usize) -> Option<Self> {
        Some(Self { length, instead: String::new() })
    }

    fn instead(length: usize, instead: impl Into<String>) -> Option<Self> {
        Some(Self { length, instead: instead.into() })
    }
}

impl Strip<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(c) = self.text[at..].chars().next() {
            let mark = match c {
                '<' => self.tag(at),
                '[' => self.bracket(at),
                '!' if self.text[at + 1..].starts_with('[') && link(&self.text[at + 1..]).is_some() => {
                    Mark::nothing(1)
                }
                '&' => entity(&self.text[at..]),
                '【' => until(&self.text[at..], 60, |c| c == '】')
                    .and_then(|inner| Mark::nothing(inner.len() + '】'.len_utf8())),
                '^' if self.ends_sentence(at) => {
                    let digits = self.text[at + 1..].chars().take_while(char::is_ascii_digit).count();
                    Some(digits)
                        .filter(|digits| (1..=2).contains(digits))
                        .and_then(|digits| Mark::nothing(digits + 1))
                }
                _ if superscript(c).is_some() && !c.is_ascii() && self.ends_sentence(at) => {
                    Mark::nothing(c.len_utf8())
                }
                _ => None,
            };
            match mark {
                Some(mark) => {
                    self.replace(at, at + mark.length, &mark.instead);
                    at += mark.length;
                }
                None => at += c.len_utf8(),
            }
        }
        self.keep(self.text.len());
    }

    /// Writes what was kept before `end`.
    fn keep(&mut self, end: usize) {
        if self.kept_from < end {
            let at = self.out.text.len();
            self.out.text.push_str(&self.text[self.kept_from..end]);
            self.out.note(at, self.kept_from, end, true);
        }
        self.kept_from = self.kept_from.max(end);
    }

    fn replace(&mut self, start: usize, end: usize, instead: &str) {
        self.keep(start.max(self.kept_from));
        let at = self.out.text.len();
        self.out.text.push_str(instead);
        if !instead.is_empty() {
            self.out.note(at, start, end, false);
        }
        self.kept_from = end;
        self.has_removed = true;
    }

    fn before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    /// Whether what stands before `at` ends a clause, or is the mark of one that does.
    fn ends_sentence(&self, at: usize) -> bool {
        self.before(at)
            .is_some_and(|c| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '”' | '»' | '。' | '、'))
            && self.text[..at]
                .chars()
                .rev()
                .nth(1)
                .is_some_and(|c| is_letter(c) || matches!(c, ')' | '"' | '”'))
    }

    /// A tag or a comment of HTML. Tags between blocks of text are a blank, a raised number is a power or a footnote.
    fn tag(&mut self, at: usize) -> Option<Mark> {
        let rest = &self.text[at..];
        if rest.starts_with("<!--") {
            // Where none ends, no later one does.
            let end = if self.is_past_comments { None } else { rest.find("-->") };
            self.is_past_comments = end.is_none();
            return Mark::nothing(end? + 3);
        }
        let inner = &rest[1..];
        let is_closing = inner.starts_with('/');
        let body = &inner[usize::from(is_closing)..];
        let name: String = body.chars().take_while(char::is_ascii_alphanumeric).take(12).collect();
        let name = name.to_ascii_lowercase();
        let length = 1 + until(inner, 400, |c| matches!(c, '>' | '<'))?.len() + 1;
        let after_name = body[name.len()..].chars().next()?;
        let is_tag = matches!(after_name, '>' | '/' | ' ' | '\n' | '\t') && rest[..length].ends_with('>');
        let attributes = body.get(name.len()..length - 2 - usize::from(is_closing))?;
        if !is_tag || !is_known(&name, attributes) {
            return None;
        }
        if name == "sup" {
            return self.raised(at, is_closing, length);
        }
        // `10<sub>2</sub>` is not `102`.
        if name == "sub" && !is_closing && self.before(at).and_then(digit).is_some() {
            return Mark::instead(length, "_");
        }
        if is_inline(&name) { Mark::nothing(length) } else { Mark::instead(length, " ") }
    }

    /// `10<sup>5</sup>` is a power; `open daily.<sup>4</sup>` has a footnote.
    fn raised(&self, at: usize, is_closing: bool, length: usize) -> Option<Mark> {
        if is_closing {
            return Mark::nothing(length);
        }
        let rest = &self.text[at + length..];
        let digits = rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, ',' | '[' | ']')).count();
        let letters = self.text[..at].chars().rev().take_while(|c| is_letter(*c)).count();
        let is_note = letters >= 4 || self.ends_sentence(at);
        if digits > 0 && is_note && rest[digits..].starts_with("</sup>") {
            return Mark::nothing(length + digits + "</sup>".len());
        }
        if self.before(at).is_some_and(is_word) { Mark::instead(length, "^") } else { Mark::nothing(length) }
    }

    /// `19[95]`: a year of which an editor wrote the end.
    fn completes_year(&self, at: usize, inner: &str) -> bool {
        let digits: Vec<char> =
            self.text[..at].chars().rev().take(3).take_while(char::is_ascii_digit).collect();
        matches!(digits.as_slice(), ['8' | '9', '1'] | ['0', '2'])
            && inner.len() == 2
            && inner.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// A link of Markdown becomes its words; a citation mark goes.
    fn bracket(&mut self, at: usize) -> Option<Mark> {
        let rest = &self.text[at..];
        if let Some((shown, length)) = link(rest) {
            if !is_citation(shown) {
                // The words keep their places; the signs around them go.
                self.replace(at, at + 1, "");
                self.keep(at + 1 + shown.len());
            }
            return Mark::nothing(length);
        }
        let inner = until(&rest[1..], 41, |c| c == ']')?;
        let length = inner.len() + 2;
        let next = rest[length..].chars().next();
        let is_attached = self.before(at).is_some_and(|c| {
            (is_letter(c) && self.text[..at].chars().rev().nth(1).is_some_and(is_letter))
                || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '”' | '»' | ')' | ']' | '。' | '、')
                || digit(c).is_some()
        });
        let is_alone = self.before(at).is_some_and(char::is_whitespace)
            && !inner.contains([',', ';'])
            && next.is_none_or(|c| c.is_whitespace() || matches!(c, '.' | ',' | ';' | '!' | '?' | '['));
        (is_citation(inner) && !self.completes_year(at, inner) && (is_attached || is_alone))
            .then_some(Mark { length, instead: String::new() })
    }
}

/// What stands before the first character that `closes`, which is looked for in the first `limit` bytes alone: a text
/// of openings must not be read to its end from each of them.
fn until(text: &str, limit: usize, closes: impl Fn(char) -> bool) -> Option<&str> {
    let mut near = text.char_indices().take_while(|(at, _)| *at < limit);
    near.find(|(_, c)| closes(*c)).map(|(at, _)| &text[..at])
}

/// `[words](address)` or `[words][mark]` at the start of `text`: the words, and the length of all.
fn link(text: &str) -> Option<(&str, usize)> {
    let shown = until(text.strip_prefix('[')?, 301, |c| matches!(c, ']' | '[' | '\n'))?;
    let after = text[shown.len() + 1..].strip_prefix(']').filter(|_| !shown.is_empty())?;
    let (open, close) = match after.chars().next()? {
        '(' => ('(', ')'),
        '[' => ('[', ']'),
        _ => return None,
    };
    let target = &after[open.len_utf8()..];
    // An address has no bracket as it is (RFC 3986, 2.2): where one stands, another link begins.
    let address = until(target, 2000, |c| c == close || c == '[')?;
    target[address.len()..].strip_prefix(close)?;
    let (target, end) = (address, address.len());
    let is_address =
        !target.contains(char::is_whitespace) || target.contains("://") || target.contains(" \"");
    let is_mark = open == '(' || (!is_citation(target) && !is_citation(shown));
    (is_address && is_mark).then_some((shown, shown.len() + 2 + 1 + end + 1))
}

/// What stands in the brackets of a citation: `3`, `1, 2`, `^4`, `note 1`, `citation needed`.
fn is_citation(inner: &str) -> bool {
    const WORDS: [&str; 8] =
        ["citation needed", "note", "nb", "ref", "fn", "clarification needed", "update", "sic"];
    let lower = inner.trim().to_lowercase();
    if lower.starts_with('^') || WORDS.iter().any(|word| lower == *word) {
        return true;
    }
    let bare = WORDS.iter().find_map(|word| lower.strip_prefix(word)).unwrap_or(&lower).trim();
    let mut runs = bare.split([',', ';', '-', '–', ' ']).filter(|run| !run.is_empty()).peekable();
    runs.peek().is_some() && runs.all(|run| run.len() <= 3 && run.bytes().all(|byte| byte.is_ascii_digit()))
}

const INLINE: &str = " a abbr acronym b bdi big cite code del dfn em font i ins kbd label mark q s samp small span strike \
    strong sub sup time tt u var wbr ";
const BLOCKS: &str = " article aside blockquote body br caption center col colgroup dd details div dl dt figcaption figure \
    footer h1 h2 h3 h4 h5 h6 head header hr html img li link main meta nav ol p pre section summary table tbody td tfoot \
    th thead title tr ul ";

fn is_inline(name: &str) -> bool {
    INLINE.contains(&format!(" {name} "))
}

/// A tag of HTML: by its name, and with attributes only where they look like some (`a < b and c > d` has none).
fn is_known(name: &str, attributes: &str) -> bool {
    let attributes = attributes.trim().trim_end_matches('/').trim();
    !name.is_empty()
        && (is_inline(name) || BLOCKS.contains(&format!(" {name} ")))
        && (attributes.is_empty() || attributes.contains('='))
}

/// A character reference of HTML at the start of `text`.
fn entity(text: &str) -> Option<Mark> {
    let end = text.char_indices().take(12).find(|(_, c)| *c == ';')?.0;
    let name = &text[1..end];
    let value = if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        char::from_u32(code.ok()?).filter(|c| !c.is_control())?.to_string()
    } else {
        named(name)?
    };
    Mark::instead(end + 1, value)
}

fn named(name: &str) -> Option<String> {
    const NAMES: [(&str, &str); 44] = [
        ("amp", "&"),
        ("lt", "<"),
        ("gt", ">"),
        ("quot", "\""),
        ("apos", "'"),
        ("nbsp", " "),
        ("ensp", " "),
        ("emsp", " "),
        ("thinsp", " "),
        ("shy", ""),
        ("ndash", "–"),
        ("mdash", "—"),
        ("minus", "−"),
        ("hellip", "…"),
        ("lsquo", "‘"),
        ("rsquo", "’"),
        ("sbquo", "‚"),
        ("ldquo", "“"),
        ("rdquo", "”"),
        ("bdquo", "„"),
        ("laquo", "«"),
        ("raquo", "»"),
        ("bull", "•"),
        ("middot", "·"),
        ("deg", "°"),
        ("plusmn", "±"),
        ("times", "×"),
        ("divide", "÷"),
        ("frac12", "½"),
        ("frac14", "¼"),
        ("frac34", "¾"),
        ("sup1", "¹"),
        ("sup2", "²"),
        ("sup3", "³"),
        ("micro", "µ"),
        ("euro", "€"),
        ("pound", "£"),
        ("yen", "¥"),
        ("cent", "¢"),
        ("sect", "§"),
        ("szlig", "ß"),
        ("aelig", "æ"),
        ("oslash", "ø"),
        ("Oslash", "Ø"),
    ];
    const ACCENTS: [(&str, char); 8] = [
        ("grave", '\u{300}'),
        ("acute", '\u{301}'),
        ("circ", '\u{302}'),
        ("tilde", '\u{303}'),
        ("uml", '\u{308}'),
        ("ring", '\u{30a}'),
        ("caron", '\u{30c}'),
        ("cedil", '\u{327}'),
    ];
    if let Some((_, value)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some((*value).to_owned());
    }
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let (_, accent) = ACCENTS.iter().find(|(known, _)| *known == &name[1..])?;
    Some([letter, *accent].into_iter().nfc().collect())
}

#[cfg(test)]
mod tests {
    use super::strip;

    fn plain(text: &str) -> String {
        strip(text).map_or_else(|| text.to_owned(), |stripped| stripped.text)
    }

    #[test]
    fn markup_goes_and_words_stay() {
        for (text, wanted) in [
            ("The [Old Mill](https://x.example/m) turns", "The Old Mill turns"),
            ("The [Old Mill][mill] turns", "The Old Mill turns"),
            ("![bell](b.png) rings", "bell rings"),
            ("The <b>Old</b> Mill<br/>turns", "The Old Mill turns"),
            ("caf&eacute; &amp; bar&#39;s &ndash; 5&nbsp;m", "café & bar's – 5 m"),
            ("It turns.[3][4] It rings [5].", "It turns. It rings ."),
            ("It turns.<sup>4</sup> It rings.^2", "It turns. It rings."),
            ("It turns【4†mill】.", "It turns."),
            ("10<sup>5</sup> and CO<sub>2</sub>", "10^5 and CO2"),
            ("needed[citation needed] here", "needed here"),
        ] {
            assert_eq!(plain(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_says_something_stays() {
        for text in [
            "a < b and c > d",
            "a <b and c> d",
            "values in [1, 2] only",
            "the array a[1] holds",
            "[1] The fee",
            "10^5 cells",
            "10⁵ cells",
            "AT&T; R&D",
            "[sic]",
        ] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn the_way_back_is_kept() {
        let text = "A [mill](u) turns&nbsp;<b>now</b>.";
        let stripped = strip(text).unwrap();
        let at = stripped.text.find("mill turns").unwrap();
        assert_eq!(&text[stripped.original(at..at + "mill turns".len())], "mill](u) turns");
    }
}
