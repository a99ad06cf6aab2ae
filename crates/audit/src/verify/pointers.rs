//! Numbers of an answer that point to a source and state nothing.

use crate::text::windows::Windows;
use crate::text::{Number, Pool};

/// Takes out the numbers of source ids that a sentence cites in brackets: `[Section 3.2]` states no 3.2.
pub(super) fn leave_citations(sentence: &str, ids: &[&str], found: &mut Vec<Number>) {
    if found.is_empty() || !sentence.contains(['[', '(', '【']) {
        return;
    }
    for id in ids {
        let is_cited = sentence.match_indices(id).any(|(at, _)| {
            sentence[..at].trim_end().ends_with(['[', '(', '【', ',', ';', ':'])
                && sentence[at + id.len()..].trim_start().starts_with([']', ')', '】', ',', ';'])
        });
        if is_cited {
            let pool = Pool::of([*id]);
            found.retain(|number| !pool.holds(number));
        }
    }
}

/// Takes out numbers that point to a source and state nothing: `Source 2`, `the 3 documents`, `(Miller, 2020, p. 7)`.
pub(super) fn leave_pointers(sentence: &str, found: &mut Vec<Number>) {
    if found.is_empty() {
        return;
    }
    const BEFORE: &str =
        " source sources context document doc passage chunk reference ref quelle dokument fuente documento ";
    const AFTER: &str =
        " documents sources passages chunks contexts excerpts dokumente quellen fuentes documentos ";
    let listed = |word: &str, words: &str| !word.is_empty() && words.contains(&format!(" {word} "));
    let windows = Windows::of(sentence);
    found.retain(|number| {
        let (before, after) = windows.around(number.span);
        let word = |part: &str| part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let previous = before.split_whitespace().next_back().map(word).unwrap_or_default();
        let next = after.split_whitespace().next().map(word).unwrap_or_default();
        !listed(&previous, BEFORE)
            && !listed(&next, AFTER)
            && !is_in_citation(before, after)
            && !is_year_of_a_work(number, before, after)
            && !is_last_update(before)
    });
}

/// `Smith et al. (2019)`, `Roth and Lee (2019)`, `According to Smith (2019)`, `Smith (2019) found`. A year in brackets
/// behind another name may be what the sentence says: `the Louvre (1793)`.
fn is_year_of_a_work(number: &Number, before: &str, after: &str) -> bool {
    const REPORTS: &str = " found finds showed shows show reported reports report argued argues argue suggested suggests suggest         noted notes states stated wrote writes concluded concludes observed demonstrated demonstrates described proposed ";
    let Some(name) = before.strip_suffix(['(', '[']).map(str::trim_end) else { return false };
    let Some(rest) = after.trim_start_matches(['a', 'b', 'c']).strip_prefix([')', ']']) else { return false };
    let is_year = number.text.len() == 4 && number.text.starts_with(['1', '2']);
    let mut words = name.split_whitespace().rev();
    let is_name = |word: Option<&str>| word.is_some_and(|word| word.starts_with(char::is_uppercase));
    let (last, joint, first) = (words.next(), words.next(), words.next());
    let is_pair =
        || is_name(last) && matches!(joint, Some("and" | "&" | "und" | "et" | "y")) && is_name(first);
    let follows = || {
        let next = rest.split_whitespace().next().unwrap_or_default();
        is_name(last) && REPORTS.contains(&format!(" {next} ")) && !next.is_empty()
    };
    let is_named = || is_name(last) && name.to_lowercase().contains("according to");
    is_year && (name.ends_with("et al.") || name.ends_with("et al") || is_pair() || follows() || is_named())
}

/// "As of my last update in 2023": when the writer learnt something, and nothing about the matter.
fn is_last_update(before: &str) -> bool {
    /// Characters between the words and the year.
    const NEAR: usize = 40;
    const PHRASES: [&str; 6] = [
        "my last update",
        "my last training",
        "my knowledge cutoff",
        "my knowledge cut-off",
        "my training data",
        "my last knowledge",
    ];
    let lower = before.to_lowercase();
    PHRASES.iter().any(|phrase| {
        lower.rfind(phrase).is_some_and(|at| {
            let between = &lower[at + phrase.len()..];
            between.chars().count() <= NEAR && !between.contains([',', '.', ';'])
        })
    })
}

/// Inside of brackets that name somebody and a year, or a section.
fn is_in_citation(before: &str, after: &str) -> bool {
    /// Longer brackets say something.
    const LONGEST: usize = 60;
    let Some(open) = before.rfind(['(', '[']).filter(|at| !before[*at..].contains([')', ']'])) else {
        return false;
    };
    let Some(close) = after.find([')', ']']) else { return false };
    let (left, right) = (&before[open + 1..], &after[..close]);
    if left.chars().count() + right.chars().count() > LONGEST {
        return false;
    }
    let starts_with_name = left.trim_start().starts_with(|c: char| c.is_uppercase() || c == '§');
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let inside = format!("{left} {right}");
    let has_other_digits = inside
        .split(|c: char| !c.is_ascii_digit())
        .any(|run| !run.is_empty() && !is_year(run) && run.len() > 3);
    starts_with_name
        && !has_other_digits
        && (left.contains([',', '§'])
            || left.contains(" al")
            || left.contains('&')
            || left.split_whitespace().count() == 1)
}

/// Takes out the marks of a list that runs on in one sentence: `two options: 1) the bus, 2) the tram`.
pub(super) fn leave_counters(sentence: &str, found: &mut Vec<Number>) {
    if !sentence.contains(')') {
        return;
    }
    let chars: Vec<char> = sentence.chars().collect();
    let is_mark = |number: &Number, wanted: &str| {
        let before = number.span.start.checked_sub(1).and_then(|at| chars.get(at));
        number.text == wanted
            && chars.get(number.span.end) == Some(&')')
            && before.is_none_or(|c| c.is_whitespace() || *c == '(')
    };
    // Only counted from one on, and at least to two.
    let mut next = 1;
    let mut marks = Vec::new();
    for (at, number) in found.iter().enumerate() {
        if is_mark(number, &next.to_string()) {
            marks.push(at);
            next += 1;
        }
    }
    if marks.len() > 1 {
        let mut at = 0;
        found.retain(|_| {
            at += 1;
            !marks.contains(&(at - 1))
        });
    }
}
