//! Cutting out of an answer what is not grounded, so that the rest can still be read.
//!
//! Nothing is cut on a guess. A sentence goes when it states a claim that is not grounded, wherever it stands and
//! however often; where it carries grounded claims as well, only its last clause may go. What would be left dangling
//! goes too: white space, list marks, lead-ins of lists that are gone. Where the place of a claim is not certain, or
//! what is left would not be whole sentences that grounded claims carry, there is no redaction.

use std::collections::HashSet;

use super::balance::{NESTED, is_whole};
use super::stated::{Said, Stated};
use crate::report::{Claim, Span};
use crate::text::negation::changes_sense;
use crate::text::{self, Sentence, SentenceKind, chars};
use crate::verify::{declines, is_courtesy};

/// The answer without what is not grounded; none when that cannot be taken out for certain, or nothing that can be read
/// would be left. Every other sentence stays as it was written.
pub fn redact(answer: &str, claims: &[Claim]) -> Option<String> {
    let letters: Vec<char> = answer.chars().collect();
    let is_placed = |claim: &Claim| claim.answer_span.is_some_and(|span| span.end <= letters.len());
    if !claims.iter().filter(|claim| claim.is_finding()).all(is_placed) {
        return None;
    }
    let stated = Stated::of(claims)?;
    let sentences = text::sentences(answer);
    let mut cut = vec![false; letters.len()];
    let mut taken = Vec::new();
    for sentence in &sentences {
        if stated.is_stated_in(&Said::of(&sentence.text)) {
            let range = cut_of(sentence, &letters, claims, &stated)?;
            taken.push(Said::of(&letters[range.clone()].iter().collect::<String>()));
            cut[range].fill(true);
        }
    }
    // A claim of which some word is nowhere was worded anew, and what states it is not known.
    if !stated.are_all_found_in(&taken.iter().collect::<Vec<_>>()) {
        return None;
    }
    cut_lead_ins(&sentences, &letters, &mut cut);
    if !sentences.iter().all(|sentence| is_carried(sentence, &letters, &cut, &stated)) {
        return None;
    }
    keep_pairs(&letters, &mut cut);
    let text = tidy(&letters, &cut);
    // What nobody has found grounded, a greeting for instance, is no answer.
    let is_left =
        claims.is_empty() || claims.iter().any(|claim| !claim.is_finding() && is_in_part(claim, &cut));
    let leaves_nothing_else =
        || !text::sentences(&text).iter().any(|it| stated.is_stated_in(&Said::of(&it.text)));
    (is_left && is_whole(answer, &text) && leaves_nothing_else()).then_some(text)
}

/// Whether something of a claim's sentence is left.
fn is_in_part(claim: &Claim, cut: &[bool]) -> bool {
    let range = claim.answer_span.map(|span| span.start..span.end.min(cut.len()));
    range.and_then(|range| cut.get(range)).is_some_and(|cut| cut.contains(&false))
}

/// Whether what is left of a sentence may stay: it states nothing, or grounded claims carry it.
fn is_carried(sentence: &Sentence, letters: &[char], cut: &[bool], stated: &Stated) -> bool {
    let range = sentence.span.start..sentence.span.end.min(letters.len());
    let Some(gone) = cut.get(range.clone()) else { return false };
    if !sentence.is_statement() || gone.iter().all(|gone| *gone) {
        return true;
    }
    let left = if gone.contains(&true) {
        range.filter(|at| !cut[*at]).map(|at| letters[at]).collect()
    } else {
        sentence.text.clone()
    };
    is_courtesy(&text::words(&left)) || declines(&left) || stated.is_carried(sentence, &Said::of(&left))
}

/// What of a sentence that states a failed claim has to go; none when grounded claims would go with it.
fn cut_of(
    sentence: &Sentence,
    letters: &[char],
    claims: &[Claim],
    stated: &Stated,
) -> Option<std::ops::Range<usize>> {
    let Span { start, end } = sentence.span;
    let end = end.min(letters.len());
    let touches = |claim: &&Claim| claim.answer_span.is_some_and(|span| span.start < end && start < span.end);
    let (failed, grounded): (Vec<&Claim>, Vec<&Claim>) =
        claims.iter().filter(touches).partition(|claim| claim.is_finding());
    if grounded.is_empty() {
        return Some(start..end);
    }
    let tail = tail(letters.get(start..end)?, &failed, &grounded, stated)?;
    Some(start + tail.start..start + tail.end)
}

/// The last clauses of a sentence, when they hold all that only the failed claims say and nothing that only the
/// grounded ones say, and the rest is a sentence that means the same without them. The sentence's own end mark is not
/// part of it.
fn tail(
    sentence: &[char],
    failed: &[&Claim],
    grounded: &[&Claim],
    stated: &Stated,
) -> Option<std::ops::Range<usize>> {
    /// Fewer words are an item of a list, whose conjunction would be left behind.
    const LEAST_WORDS: usize = 3;
    let of = |claims: &[&Claim]| -> HashSet<String> {
        claims.iter().flat_map(|claim| text::content_words(&claim.text)).collect()
    };
    let (bad, good) = (of(failed), of(grounded));
    let own_end = sentence.len() - sentence.iter().rev().take_while(|c| is_end(**c)).count();
    let borders = (1..own_end).filter(|at| is_border(sentence, *at));
    for at in borders.collect::<Vec<_>>().into_iter().rev() {
        let (head, last): (String, String) =
            (sentence[..at].iter().collect(), sentence[at..own_end].iter().collect());
        let (head_words, last_words) = (text::content_words(&head), text::content_words(&last));
        let says_bad = |word: &String| bad.contains(word) && !good.contains(word);
        let says_good = |word: &String| good.contains(word) && !bad.contains(word);
        if text::words(&last).len() >= LEAST_WORDS
            && last_words.iter().any(says_bad)
            && !last_words.iter().any(says_good)
            && !head_words.iter().any(says_bad)
            && head_words.iter().any(says_good)
            && !stated.is_stated_in(&Said::of(&head))
            && stands_alone(&head)
            && !changes_sense(&last)
        {
            let spaces = sentence[..at].iter().rev().take_while(|c| c.is_whitespace()).count();
            return Some(at - spaces..own_end);
        }
    }
    None
}

/// Whether the first clauses of a sentence are one themselves: neither a condition nor half of "not only ... but also",
/// and in a script whose verbs do not say that something follows.
fn stands_alone(head: &str) -> bool {
    const OPENINGS: &str = " if when whenever although though because since while unless until as before after once given         despite even whereas provided suppose assuming wenn falls obwohl weil da während sobald bevor nachdem als ob         trotz si quand lorsque bien puisque comme cuando aunque porque mientras como se quando sebbene perché mentre         embora enquanto als hoewel omdat terwijl если когда хотя إذا لو عندما رغم ";
    const HALVES: &str = " only either neither both whether sowohl entweder weder nur soit ni tanto sia né ";
    let words = text::words(head);
    let first = words.first().map(|word| format!(" {word} "));
    !first.is_some_and(|first| OPENINGS.contains(&first))
        && !words.iter().any(|word| HALVES.contains(&format!(" {word} ")))
        && !head.chars().any(chars::is_unspaced)
}

/// Whether a clause may begin at this mark: a comma, a semicolon or a dash between words, and none inside a number.
fn is_border(sentence: &[char], at: usize) -> bool {
    let next = sentence.get(at + 1);
    let is_spaced = next.is_some_and(|c| c.is_whitespace());
    match sentence[at] {
        ',' | ';' => is_spaced,
        '，' | '；' | '،' | '؛' | '、' => true,
        '–' | '-' => is_spaced && sentence[at - 1].is_whitespace(),
        c => chars::is_long_dash(c),
    }
}

/// Marks that end a sentence, with what closes around them.
fn is_end(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '.' | '!'
                | '?'
                | '…'
                | '。'
                | '！'
                | '？'
                | '．'
                | '؟'
                | '۔'
                | '।'
                | '॥'
                | '၊'
                | '။'
                | '՞'
                | '։'
                | '፧'
                | '።'
        )
        || is_closing(c)
}

/// A lead-in goes with the list that it announces.
fn cut_lead_ins(sentences: &[Sentence], letters: &[char], cut: &mut [bool]) {
    for (at, lead) in sentences.iter().enumerate().rev() {
        if lead.kind != SentenceKind::LeadIn || lead.span.end > letters.len() {
            continue;
        }
        let mut rest = sentences[at + 1..].iter().peekable();
        // What follows on the same line is announced, and so are the items of the list below.
        let mut announced = Vec::new();
        while let Some(next) = rest.peek() {
            let is_below = letters[lead.span.end..next.span.start.max(lead.span.end)].contains(&'\n');
            if is_below && !begins_item(letters, next.span.start) {
                break;
            }
            if next.kind == SentenceKind::LeadIn && !begins_item(letters, next.span.start) {
                break;
            }
            announced.push(next.span);
            rest.next();
        }
        let is_gone = |span: &Span| cut[span.start.min(letters.len() - 1)];
        if !announced.is_empty() && announced.iter().all(is_gone) {
            cut[lead.span.start..lead.span.end].fill(true);
        }
    }
}

/// Whether a sentence stands in a line that begins with a list mark.
fn begins_item(letters: &[char], start: usize) -> bool {
    let line = letters[..start].iter().rposition(|c| is_break(*c)).map_or(0, |at| at + 1);
    let lead: String = letters[line..start].iter().collect();
    let lead = lead.trim_start();
    lead.chars().next().is_some_and(is_mark) || lead.starts_with(|c: char| chars::digit(c).is_some())
}

fn is_mark(c: char) -> bool {
    chars::is_bullet(c) || matches!(c, '-' | '*' | '+' | '–')
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Pairs that are cut together: those that nest, and quotes of which one half also closes or opens another pair.
fn pairs() -> impl Iterator<Item = (char, char)> {
    NESTED.into_iter().chain([('„', '“'), ('"', '"')])
}

fn is_closing(c: char) -> bool {
    pairs().any(|(_, close)| close == c) || matches!(c, '’' | '\'' | '*' | '_')
}

/// Where only one half of a pair would go, it stays; tidying takes it away when nothing is left between.
fn keep_pairs(letters: &[char], cut: &mut [bool]) {
    let mut open: Vec<(usize, char)> = Vec::new();
    for at in 0..letters.len() {
        let c = letters[at];
        if let Some(found) = open.iter().rposition(|(_, close)| *close == c) {
            let (opened, _) = open[found];
            open.truncate(found);
            // One of them stays, and so the other.
            if cut[opened] != cut[at] {
                cut[opened] = false;
                cut[at] = false;
            }
        } else if let Some((_, close)) = pairs().find(|(left, _)| *left == c) {
            open.push((at, close));
        }
        // A pair does not reach over a paragraph.
        if is_break(c) && letters.get(at + 1).is_some_and(|next| is_break(*next)) {
            open.clear();
        }
    }
}

/// The rest, line by line. Lines that nothing was cut from stay as they are; of the others goes what has no word left.
fn tidy(letters: &[char], cut: &[bool]) -> String {
    let mut lines: Vec<(String, bool)> = Vec::new();
    let mut start = 0;
    while start < letters.len() {
        let end = letters[start..].iter().position(|c| is_break(*c)).map_or(letters.len(), |at| start + at);
        let is_touched = cut[start..end].contains(&true);
        let line = if is_touched {
            rest(&letters[start..end], &cut[start..end])
        } else {
            Some(letters[start..end].iter().collect())
        };
        if let Some(line) = line {
            lines.push((line, is_touched));
        } else {
            lines.push((String::new(), true));
        }
        start = end + 1;
    }
    let mut text = String::new();
    let mut was_blank = true;
    let mut dropped = false;
    for (line, is_touched) in lines {
        let is_blank = line.trim().is_empty();
        // A line that is gone leaves no gap, and two gaps become one around it.
        if is_blank && is_touched {
            dropped = true;
            continue;
        }
        if is_blank && dropped && was_blank {
            continue;
        }
        text.push_str(&line);
        text.push('\n');
        was_blank = is_blank;
        dropped = dropped && is_blank;
    }
    text.trim_matches(is_break).trim_end().to_owned()
}

/// What is left of one line; none when it has no word of its own left.
fn rest(line: &[char], cut: &[bool]) -> Option<String> {
    let mut kept = String::new();
    let mut after_cut = false;
    for (at, c) in line.iter().enumerate() {
        if cut[at] {
            after_cut = true;
            continue;
        }
        // One space is enough where there were two around what is gone, and none before a mark or at the beginning.
        if after_cut && c.is_whitespace() && ends_open(&kept) {
            continue;
        }
        if after_cut && !c.is_whitespace() {
            let closes = is_closing(*c) && line.get(at + 1).is_none_or(|next| !chars::is_word(*next));
            let ends = !is_closing(*c) && is_end(*c) && kept.trim_end().ends_with(chars::is_word);
            if (closes || ends) && !kept.trim_end().is_empty() {
                kept.truncate(kept.trim_end().len());
            }
            after_cut = false;
        }
        kept.push(*c);
    }
    let kept = without_empty_pairs(kept.trim_end());
    let said: String =
        kept.trim_start().trim_start_matches(|c: char| is_mark(c) || c == '#' || c == '|').to_owned();
    let said = said.trim_start();
    let number = said.find(|c: char| chars::digit(c).is_none()).unwrap_or(said.len());
    // "2." and "2)" are list marks; a line that is a number was a sentence.
    let said = if number > 0 && said[number..].starts_with(['.', ')', '）', '、']) {
        &said[number..]
    } else {
        said
    };
    said.chars().any(chars::is_word).then(|| kept.trim_end().to_owned())
}

/// Whether what comes next begins something: the line, a word after a space, a bracket, a quote, an emphasis.
fn ends_open(kept: &str) -> bool {
    let bare = kept.trim_end_matches(['*', '_', '"']);
    let is_opening = |c: char| pairs().any(|(open, close)| open == c && open != close);
    bare.is_empty() || bare.ends_with(char::is_whitespace) || kept.ends_with(is_opening)
}

/// Takes away pairs with nothing in them but marks and space: `()`, `""`, `** **`.
fn without_empty_pairs(line: &str) -> String {
    let mut line = line.to_owned();
    loop {
        let before = line.len();
        for (open, close) in pairs() {
            while let Some((start, end)) = empty_pair(&line, open, close) {
                take_out(&mut line, start..end);
            }
        }
        for mark in ["****", "** **", "____", "__ __", "``"] {
            while let Some(start) = line.find(mark) {
                take_out(&mut line, start..start + mark.len());
            }
        }
        if line.len() == before {
            return line;
        }
    }
}

/// Removes a range of bytes, and the second of two spaces that would meet.
fn take_out(line: &mut String, range: std::ops::Range<usize>) {
    let next = line[range.end..].chars().next().filter(|c| c.is_whitespace());
    let end = range.end + next.filter(|_| ends_open(&line[..range.start])).map_or(0, char::len_utf8);
    line.replace_range(range.start..end, "");
}

fn empty_pair(line: &str, open: char, close: char) -> Option<(usize, usize)> {
    line.char_indices().filter(|(_, c)| *c == open).find_map(|(start, _)| {
        let inside = &line[start + open.len_utf8()..];
        let end = inside.find(close)?;
        let is_empty =
            !inside[..end].is_empty() && inside[..end].chars().all(|c| is_end(c) && c != open) || end == 0;
        is_empty.then_some((start, start + open.len_utf8() + end + close.len_utf8()))
    })
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
