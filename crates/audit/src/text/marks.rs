//! What stands in an answer and says nothing: list marks, citations, links, emphasis.

use super::chars::{digit, is_bullet, is_letter, is_word, leading_word};
use super::data;
use super::numbers;
use super::sentences::Kept;
use super::windows::Windows;

/// What a line begins with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leading {
    /// How many characters the marks take.
    pub length: usize,
    /// A heading.
    pub is_heading: bool,
    /// A list item.
    pub is_item: bool,
}

/// A horizontal rule, a fence, or the ruler of a table.
pub(super) fn is_rule_line(line: &[Kept]) -> bool {
    !line.iter().any(|(c, _)| is_word(*c))
}

/// What a fence line opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// Prose.
    Prose,
    /// Data, whose values are statements unless it is announced as an example.
    Data,
    /// Code.
    Code,
}

/// What a fence line opens; none where the line is no fence.
pub(super) fn fence(line: &str) -> Option<Frame> {
    let info = line.trim().strip_prefix("```").or_else(|| line.trim().strip_prefix("~~~"))?;
    let name = info.trim_matches(|c: char| matches!(c, '`' | '~') || c.is_whitespace()).to_ascii_lowercase();
    Some(match name.as_str() {
        "" | "text" | "txt" | "plaintext" | "markdown" | "md" => Frame::Prose,
        "json" | "jsonl" | "json5" | "ndjson" => Frame::Data,
        _ => Frame::Code,
    })
}

/// Whether a line announces an example.
pub(super) fn announces_example(line: &str) -> bool {
    const WORDS: [&str; 7] = ["example", "e.g.", "beispiel", "exemple", "ejemplo", "esempio", "exemplo"];
    let lower = line.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a line of code or data states an amount in the words of one of its strings.
pub(super) fn states_amount_inside(line: &str) -> bool {
    states_amount(line) || (line.contains('"') && line.split('"').any(states_amount))
}

/// Whether a line only names a source. One that goes on with an amount states it: `Source: take 500 mg.`
pub(super) fn names_source(line: &str) -> bool {
    let names = |(label, rest): (&str, &str)| {
        let words =
            || rest.split_whitespace().filter(|word| !word.contains("://") && !word.starts_with("www."));
        !label.trim_start().starts_with('{')
            && heads_sources(label)
            && !states_amount(&words().collect::<Vec<_>>().join(" "))
    };
    line.split_once([':', '：']).is_some_and(names)
}

/// Whether a line has a number that is no year, no date, no page and no mark, and a word behind it: such a line says
/// something wherever it stands, in a list of sources or in a frame of code.
pub(crate) fn states_amount(line: &str) -> bool {
    /// Words and numbers together, of them two words at least: "500 people died in 2020", and not "10 tips".
    const ENOUGH: usize = 4;
    const PLACES: &str = " p pp page pages s seite seiten section sections sec chapter ch vol volume no nr number table figure \
        fig line lines rule article art part version v doc document source isbn issn doi § edition ed cap pos ";
    // Nothing is read for its words that has no number to begin with.
    if line.is_ascii() && !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    if line.contains(['{', '}', '=', ';', '$', '\\', '<']) || line.contains("://") || line.contains("()") {
        return false;
    }
    let found = numbers::numbers(line);
    let windows = Windows::of(line);
    let is_amount = |number: &numbers::Number| {
        let is_year = number.text.len() == 4 && number.text.starts_with(['1', '2']);
        if number.form != numbers::Form::Digits || is_year {
            return false;
        }
        let (before, after) = windows.around(number.span);
        let last = before.split_whitespace().next_back().unwrap_or_default();
        let last = last.trim_matches(|c: char| !c.is_alphanumeric() && c != '§').to_lowercase();
        let is_place = PLACES.contains(&format!(" {last} ")) && !last.is_empty();
        let has_unit = after.trim_start().starts_with(|c: char| is_letter(c) || matches!(c, '%' | '°' | '€'))
            && !after.starts_with(['-', '_', '.', '/']);
        !is_place && has_unit
    };
    let is_dated =
        found.iter().any(|number| numbers::words::month(&leading_word(number.text.chars(), 12)).is_some());
    let words = || crate::text::content_words(line).len();
    !is_dated && found.iter().any(is_amount) && (2..).contains(&words()) && words() + found.len() >= ENOUGH
}

/// Whether a line is the heading of a list of sources, which says nothing about the question.
pub(super) fn heads_sources(line: &str) -> bool {
    const WORDS: &str = "references reference sources source citations bibliography footnotes quellen quelle literatur \
        références sources fuentes referencias bibliografía fonti riferimenti fontes referências bronnen источники \
        参考文献 参考资料 来源 出典 出処 참고문헌 출처 المصادر المراجع";
    const LONGEST: usize = 40;
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() || bare.len() > LONGEST {
        return false;
    }
    let bare = bare.to_lowercase();
    WORDS.split_whitespace().any(|word| word == bare)
}

/// The heading, bullet and number marks at the beginning of a line.
pub(super) fn leading_mark(line: &[Kept]) -> Leading {
    let mut mark = Leading::default();
    let hashes = line.iter().take_while(|(c, _)| *c == '#').count();
    if (1..=6).contains(&hashes) && line.get(hashes).is_some_and(|(c, _)| c.is_whitespace()) {
        mark.is_heading = true;
        mark.length = hashes;
    }
    // An item may be numbered behind its bullet, and emphasised; three rounds are enough.
    for _ in 0..4 {
        mark.length += blanks(&line[mark.length..]);
        let rest = &line[mark.length..];
        let length = bullet(rest).or_else(|| numbering(rest)).or_else(|| label(rest));
        let emphasis = rest.iter().take_while(|(c, _)| matches!(c, '*' | '_')).count();
        match length {
            Some(length) => {
                mark.length += length;
                mark.is_item = true;
            }
            None if emphasis > 0
                && (numbering(&rest[emphasis..]).is_some() || label(&rest[emphasis..]).is_some()) =>
            {
                mark.length += emphasis;
            }
            None => break,
        }
    }
    let is_bold_line = line.len() > 4
        && line.starts_with_chars("**")
        && line[2..].iter().position(|(c, _)| *c == '*').is_some_and(|closing| closing + 4 >= line.len());
    mark.is_heading |= is_bold_line && !line.iter().any(|(c, _)| matches!(c, '.' | '。' | '!' | '?'));
    mark
}

trait StartsWithChars {
    fn starts_with_chars(&self, prefix: &str) -> bool;
}

impl StartsWithChars for [Kept] {
    fn starts_with_chars(&self, prefix: &str) -> bool {
        let mut chars = self.iter();
        prefix.chars().all(|wanted| chars.next().is_some_and(|(c, _)| *c == wanted))
    }
}

fn blanks(line: &[Kept]) -> usize {
    line.iter().take_while(|(c, _)| c.is_whitespace()).count()
}

fn is_blank_at(line: &[Kept], at: usize) -> bool {
    line.get(at).is_none_or(|(c, _)| c.is_whitespace())
}

/// `-`, `•`, `[x]`.
fn bullet(line: &[Kept]) -> Option<usize> {
    let first = line.first()?.0;
    if is_bullet(first) || matches!(first, '✓' | '✔') {
        return Some(1);
    }
    if matches!(first, '-' | '*' | '+' | '–' | '—' | '>') && is_blank_at(line, 1) {
        return Some(1);
    }
    let is_box = first == '[' && matches!(line.get(1)?.0, ' ' | 'x' | 'X') && line.get(2)?.0 == ']';
    is_box.then_some(3)
}

/// `1.`, `(2)`, `３、`, `a)`, `iv.`, `④`.
fn numbering(line: &[Kept]) -> Option<usize> {
    let first = line.first()?.0;
    if matches!(first, '①'..='⑳' | '⓪' | '❶'..='❿' | '➀'..='➓') {
        return Some(1);
    }
    // A digit in a key cap.
    let cap = line.iter().take(3).position(|(c, _)| *c == '\u{20e3}');
    if let Some(cap) = cap.filter(|_| digit(first).is_some()) {
        return Some(cap + 1);
    }
    let opening = usize::from(matches!(first, '(' | '（'));
    let digits = line[opening..].iter().take_while(|(c, _)| digit(*c).is_some()).count();
    let letters = line[opening..].iter().take_while(|(c, _)| c.is_ascii_alphabetic()).count();
    let is_roman = line[opening..opening + letters].iter().all(|(c, _)| matches!(c, 'i' | 'v' | 'x'));
    let count = match (digits, letters) {
        (1..=3, _) => digits,
        (0, 1) => 1,
        (0, 2..=5) if is_roman => letters,
        _ => return None,
    };
    // `1[2]. Dogs`: some put the citation behind the number.
    let count = count + if digits > 0 { cited(&line[opening + count..]) } else { 0 };
    let closing = line.get(opening + count)?.0;
    let end = opening + count + 1;
    match closing {
        ')' | '）' if opening == 1 || is_blank_at(line, end) || digits == 0 || !is_digit_at(line, end) => {
            Some(end)
        }
        '.' | '．' if opening == 0 && (is_blank_at(line, end) || line[end].0 == '*') => {
            let is_initial = digits == 0 && line[0].0.is_uppercase();
            (!is_initial && !is_month_at(line, end)).then_some(end)
        }
        '、' if opening == 0 && digits > 0 => Some(end),
        _ => None,
    }
}

/// The length of a citation mark such as `[2]`, or none.
fn cited(line: &[Kept]) -> usize {
    let Some(('[', _)) = line.first() else { return 0 };
    let digits = line[1..].iter().take(3).take_while(|(c, _)| digit(*c).is_some()).count();
    let is_closed = digits > 0 && line.get(digits + 1).is_some_and(|(c, _)| *c == ']');
    if is_closed { digits + 2 } else { 0 }
}

fn is_digit_at(line: &[Kept], at: usize) -> bool {
    line.get(at).is_some_and(|(c, _)| digit(*c).is_some())
}

/// `3. Mai` at the beginning of a line is a date.
fn is_month_at(line: &[Kept], at: usize) -> bool {
    let start = at + blanks(&line[at..]);
    numbers::words::month(&leading_word(line[start..].iter().map(|(c, _)| *c), 12)).is_some()
}

/// `Step 1:`, `Tip 3 -`, `第2章`.
fn label(line: &[Kept]) -> Option<usize> {
    const LABELS: &str = "step part phase stage option tip point reason example question answer method day week note figure \
        fig table chapter section rule fact item schritt étape paso passo stap";
    let word = leading_word(line.iter().map(|(c, _)| *c), 12);
    if !LABELS.split(' ').any(|label| label == word) {
        return None;
    }
    let mut at = line.iter().take_while(|(c, _)| is_letter(*c)).count();
    at += blanks(&line[at..]);
    let digits = line[at..].iter().take_while(|(c, _)| digit(*c).is_some()).count();
    at += digits;
    at += line[at..].iter().take_while(|(c, _)| *c == '*').count();
    let is_closed =
        matches!(line.get(at)?.0, ':' | '：' | '.' | ')' | '-' | '–' | '—') && !is_digit_at(line, at + 1);
    ((1..=3).contains(&digits) && is_closed).then_some(at + 1)
}

/// The characters of a line that say something.
pub(super) fn clean(line: &[Kept]) -> Vec<Kept> {
    let mut out: Vec<Kept> = Vec::with_capacity(line.len());
    let mut at = 0;
    let is_data = data::holds_object(line);
    while let Some((c, place)) = line.get(at).copied() {
        if let Some((c, length)) = Some(&line[at..]).filter(|_| is_data && c == '\\').and_then(data::escape) {
            out.push((c, place));
            at += length;
        } else if let Some(length) = removed(line, at) {
            at += length;
            drop_mark(line, at, place, &mut out);
        } else if let Some((text, length)) = link(&line[at..]) {
            out.extend(clean(text));
            at += length;
            if text.is_empty() {
                drop_mark(line, at, place, &mut out);
            }
        } else {
            let is_emphasis = matches!(c, '*' | '_' | '`') && is_at_edge(line, at);
            let is_second_blank =
                c.is_whitespace() && out.last().is_some_and(|(last, _)| last.is_whitespace());
            if !is_emphasis && !is_second_blank {
                out.push((c, place));
            }
            at += 1;
        }
    }
    out
}

/// Closes the gap that a removed mark leaves: `facts [1].` is `facts.`, and `one.[1]Two` is two sentences.
fn drop_mark(line: &[Kept], at: usize, place: usize, out: &mut Vec<Kept>) {
    let next = line.get(at).map(|(c, _)| *c);
    let last = out.last().map(|(c, _)| *c);
    let closes = next.is_none_or(|c| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | '。' | '、'));
    if closes && last.is_some_and(char::is_whitespace) {
        out.pop();
    } else if next.is_some_and(is_word) && last.is_some_and(|c| !c.is_whitespace() && !is_word(c)) {
        out.push((' ', place));
    }
}

fn is_at_edge(line: &[Kept], at: usize) -> bool {
    let is_word_at = |at: Option<usize>| at.and_then(|at| line.get(at)).is_some_and(|(c, _)| is_word(*c));
    let doubled = line.get(at + 1).is_some_and(|(c, _)| *c == line[at].0)
        || at.checked_sub(1).is_some_and(|before| line[before].0 == line[at].0);
    doubled || !(is_word_at(at.checked_sub(1)) && is_word_at(Some(at + 1)))
}

/// The length of what is removed whole at `at`: a citation, a footnote sign, a link, a tag.
fn removed(line: &[Kept], at: usize) -> Option<usize> {
    let rest = &line[at..];
    match rest.first()?.0 {
        '[' => {
            let length = group(rest, ']')?;
            let is_link = rest.get(length).is_some_and(|(c, _)| *c == '(');
            (is_citation(&rest[1..length - 1], true) && !is_link).then_some(length)
        }
        '【' => group(rest, '】').filter(|length| {
            rest[1..length - 1].iter().any(|(c, _)| digit(*c).is_some() || matches!(c, '†' | '‡'))
        }),
        '(' => group(rest, ')').filter(|length| is_citation(&rest[1..length - 1], false)),
        '（' => group(rest, '）').filter(|length| is_citation(&rest[1..length - 1], false)),
        '^' => {
            let digits = rest[1..].iter().take_while(|(c, _)| digit(*c).is_some()).count();
            // `10^6` is a power; `23:10^6` and `1931^6` have a footnote.
            let base: String = line[..at]
                .iter()
                .rev()
                .map(|(c, _)| *c)
                .take_while(|c| digit(*c).is_some() || *c == ':')
                .collect();
            let is_power = !base.is_empty() && base.len() < 4;
            (digits > 0 && !is_power).then_some(digits + 1)
        }
        '<' => tag(rest),
        '{' => data::report(rest).or_else(|| {
            let length = group(rest, '}')?;
            rest[1..length - 1].iter().all(|(c, _)| digit(*c).is_some() || *c == ',').then_some(length)
        }),
        'h' | 'w' if at == 0 || !is_word(line[at - 1].0) => url(rest),
        _ => None,
    }
}

/// The length of a bracketed group without brackets inside.
fn group(rest: &[Kept], closing: char) -> Option<usize> {
    let opening = rest.first()?.0;
    let length = rest.iter().take(82).position(|(c, _)| *c == closing)? + 1;
    let inner = &rest[1..length - 1];
    (!inner.is_empty() && !inner.iter().any(|(c, _)| *c == opening)).then_some(length)
}

fn is_citation(inner: &[Kept], is_square: bool) -> bool {
    const WORDS: &str = "source sources doc docs document documents chunk passage ref reference context evidence citation \
        see quelle fuente fonte 出典 来源 note footnote id p pp page pages";
    let text: String = inner.iter().map(|(c, _)| *c).collect::<String>().to_lowercase();
    if let Some((names, _)) = text.split_once("et al") {
        return !names.chars().any(|c| digit(c).is_some());
    }
    if has_amount(&text) {
        return false;
    }
    let is_listed =
        |c: char| digit(c).is_some() || matches!(c, ' ' | ',' | ';' | '-' | '–' | '^' | '*' | '、' | '，');
    let digits = text.chars().filter(|c| digit(*c).is_some()).count();
    if digits > 0 && text.chars().all(is_listed) {
        let longest = text.split(|c| digit(c).is_none()).map(|run| run.chars().count()).max().unwrap_or(0);
        return is_square || longest <= 2;
    }
    if is_square && digits > 0 && !text.contains(char::is_whitespace) {
        return true;
    }
    // `[hours, 2021]`: a name and a year.
    if is_square
        && text.split_once(", ").is_some_and(|(name, year)| {
            !name.contains(char::is_whitespace)
                && year.len() == 4
                && year.bytes().all(|byte| byte.is_ascii_digit())
        })
    {
        return true;
    }
    let rest = text.trim_start_matches(is_letter);
    let word = &text[..text.len() - rest.len()];
    let leads =
        rest.starts_with([':', '：', ' ', '_', '-', '.', '[']) || rest.starts_with(|c| digit(c).is_some());
    let says_which = digits > 0 || rest.contains([':', '：']) || (is_square && rest.is_empty());
    WORDS.split(' ').any(|known| known == word) && (leads || rest.is_empty()) && says_which
}

/// Whether a number and a word that no citation has follow each other: `p. 500 mg`, not `p. 12, table 3`.
fn has_amount(text: &str) -> bool {
    const FOLLOWING: &str = " and or to of f ff et und et y e u bis page pages p pp section table figure vol no edition ed source \
        sources document documents doc docs chunk ";
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let number = pair[0].trim_start_matches(['(', '~']);
        let is_number = number.chars().all(|c| digit(c).is_some() || c == '.')
            && number.chars().any(|c| digit(c).is_some());
        let is_year = number.len() == 4 && number.starts_with(['1', '2']);
        let next: String = pair[1].chars().take_while(|c| is_letter(*c)).collect();
        is_number
            && !is_year
            && !number.ends_with('.')
            && !next.is_empty()
            && !FOLLOWING.contains(&format!(" {next} "))
    })
}

fn tag(rest: &[Kept]) -> Option<usize> {
    let closing = usize::from(rest.get(1)?.0 == '/');
    let name = rest[1 + closing..].iter().take_while(|(c, _)| c.is_ascii_alphanumeric()).count();
    let length = rest.iter().take(60).position(|(c, _)| *c == '>')? + 1;
    let text: String = rest[1..length - 1].iter().map(|(c, _)| *c).collect();
    if text == "sup" {
        let digits = rest[length..].iter().take_while(|(c, _)| digit(*c).is_some() || *c == ',').count();
        return if rest[length + digits..].starts_with_chars("</sup>") {
            Some(length + digits + 6)
        } else {
            Some(length)
        };
    }
    let is_name = name > 0 && rest.get(1 + closing)?.0.is_ascii_alphabetic();
    // `<take 500 mg>` is no tag: what follows a tag's name has an equals sign.
    let has_attributes =
        text.contains('=') || !text.trim_end_matches(['/', ' ']).contains(char::is_whitespace);
    (is_name && has_attributes && !text.contains('<')).then_some(length)
}

fn url(rest: &[Kept]) -> Option<usize> {
    let is_url = ["http://", "https://", "www."].iter().any(|prefix| rest.starts_with_chars(prefix));
    if !is_url {
        return None;
    }
    let stops = |c: char| c.is_whitespace() || matches!(c, ')' | ']' | '>' | '"' | '）' | '」' | '。' | '、');
    let mut length = rest.iter().position(|(c, _)| stops(*c)).unwrap_or(rest.len());
    while length > 0 && matches!(rest[length - 1].0, '.' | ',' | ';' | ':' | '!' | '?') {
        length -= 1;
    }
    Some(length)
}

/// `[text](address)`: its text, and its length.
fn link(rest: &[Kept]) -> Option<(&[Kept], usize)> {
    if rest.first()?.0 != '[' {
        return None;
    }
    let text = group(rest, ']')?;
    if rest.get(text)?.0 != '(' {
        return None;
    }
    // Where a bracket stands, another link begins.
    let address = rest[text..].iter().take(2000).position(|(c, _)| matches!(c, ')' | '['))? + 1;
    if rest[text + address - 1].0 != ')' {
        return None;
    }
    let inner = &rest[1..text - 1];
    let shown = if is_citation(inner, true) { &inner[..0] } else { inner };
    Some((shown, text + address))
}
