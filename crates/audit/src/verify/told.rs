//! Which statements of the answer no claim speaks of.

use std::collections::{HashMap, HashSet};

use super::claims::{Answer, Prepared, declines};
use super::courtesy::is_courtesy;
use super::listed::Listed;
use crate::reply;
use crate::report::Span;
use crate::text::{self, Number, Vocabulary, denies};

/// From so many content words on the claims together may tell a statement; of fewer, one claim has to.
const ENOUGH: usize = 3;

/// Up to so many content words a statement is so short that one denial or one number is all it says.
const SHORT: usize = 5;

/// So many words in a row that no claim holds are a clause of their own: "and Smith murdered Jones with a knife".
const CLAUSE: usize = 4;

/// An answer of which more is left out is not read any better for a longer list.
const MOST: usize = 20;

/// The claims of a list, looked up by their words and numbers.
struct Told<'c> {
    claims: &'c [Listed],
    vocabulary: Vocabulary,
    numbers: HashMap<&'c str, Vec<usize>>,
    negated: Vec<bool>,
    /// The claims about each sentence.
    about: HashMap<Span, Vec<usize>>,
}

impl<'c> Told<'c> {
    fn of(claims: &'c [Listed], spans: &[Option<Span>]) -> Self {
        let mut told = Self {
            claims,
            vocabulary: Vocabulary::default(),
            numbers: HashMap::new(),
            negated: claims.iter().map(Listed::is_negated).collect(),
            about: HashMap::new(),
        };
        for (at, claim) in claims.iter().enumerate() {
            told.vocabulary.add(at, &claim.text, &claim.words);
            for key in claim.numbers.iter().flat_map(Number::keys) {
                told.numbers.entry(key).or_default().push(at);
            }
        }
        for (at, span) in spans.iter().enumerate() {
            if let Some(span) = span {
                told.about.entry(*span).or_default().push(at);
            }
        }
        told
    }

    fn claims_with(&self, number: &Number) -> HashSet<usize> {
        number.keys().filter_map(|key| self.numbers.get(key)).flatten().copied().collect()
    }

    /// How many of a statement's content words each claim holds; a number in words may stand there in digits.
    fn held(&self, prepared: &Prepared) -> HashMap<usize, usize> {
        let mut held: HashMap<usize, usize> = HashMap::new();
        for word in own_words(prepared) {
            let mut claims: HashSet<usize> = self.vocabulary.places(word).into_iter().collect();
            for number in prepared.numbers.iter().filter(|number| number.text.to_lowercase() == *word) {
                claims.extend(self.claims_with(number));
            }
            claims.into_iter().for_each(|claim| *held.entry(claim).or_default() += 1);
        }
        held
    }

    /// Whether one claim says what a statement of few words says: all of its words, or some of them where it is about
    /// this statement; its numbers; and its denial.
    /// A claim with a word that `is_own` to the statement, in no other sentence and not in the question, is about it too.
    fn tells_short(&self, prepared: &Prepared, is_own: impl Fn(&str) -> bool) -> bool {
        let held = self.held(prepared);
        let own: HashSet<usize> = own_words(prepared)
            .iter()
            .filter(|word| is_own(word))
            .flat_map(|word| self.vocabulary.places(word))
            .collect();
        let is_negated = is_negated(prepared);
        let counted: Vec<HashSet<usize>> = prepared
            .numbers
            .iter()
            .filter(|number| !number.is_one())
            .map(|number| self.claims_with(number))
            .collect();
        let has_numbers = |claim: usize| counted.iter().all(|claims| claims.contains(&claim));
        let about = self.about.get(&prepared.sentence.span);
        (0..self.claims.len()).any(|claim| {
            let held = held.get(&claim).copied().unwrap_or(0);
            let is_about = about.is_some_and(|about| about.contains(&claim));
            let is_all = held == own_words(prepared).len();
            let says_so = if is_negated { self.negated[claim] } else { !self.negated[claim] || is_about };
            says_so && has_numbers(claim) && (is_all || (is_about && held > 0) || own.contains(&claim))
        })
    }

    /// Whether claims with much of a statement say its denial and its numbers in words.
    fn tells_sense(&self, prepared: &Prepared) -> bool {
        let held = self.held(prepared);
        let about = self.about.get(&prepared.sentence.span);
        let half = |claim: &usize| held.get(claim).is_some_and(|held| held * 2 >= prepared.content.len());
        let speaks = |claim: &usize| half(claim) || about.is_some_and(|about| about.contains(claim));
        let is_negated = is_negated(prepared);
        let denied = !is_negated || (0..self.claims.len()).any(|claim| speaks(&claim) && self.negated[claim]);
        let counted = prepared
            .numbers
            .iter()
            .filter(|number| number.is_spelled())
            .all(|number| !self.claims_with(number).is_empty());
        denied && counted && (0..self.claims.len()).any(|claim| speaks(&claim))
    }
}

/// Whether a statement denies something. "No, it is old" does not: its no is an answer of its own.
fn is_negated(prepared: &Prepared) -> bool {
    let own_answer = prepared.words.first().is_some_and(|word| {
        let rest = prepared.sentence.text.trim_start().chars().skip(word.chars().count());
        denies(word) && rest.clone().next().is_some_and(|c| ",.;:!–—،、，。".contains(c))
    });
    prepared.words.iter().skip(usize::from(own_answer)).any(|word| denies(word))
}

/// Whether a statement only says yes or no.
fn is_bare_answer(prepared: &Prepared) -> bool {
    const ANSWERS: &str = " yes no ja nein doch oui non si sí sì sim não nee да нет नहीं हाँ نعم لا はい いいえ 是 是的 对 不 否 네 \
        아니요 evet hayır tak nie ใช่ ไม่ ";
    let answers = |word: &String| ANSWERS.contains(&format!(" {word} "));
    prepared.numbers.is_empty()
        && prepared.words.first().is_some_and(answers)
        && prepared.content.iter().all(answers)
}

/// "I don't know more": the writer speaks of himself.
fn is_unknowing(prepared: &Prepared) -> bool {
    const KNOWING: [&str; 5] = ["know", "sure", "certain", "tell", "say"];
    let first = prepared.words.first().map(String::as_str);
    matches!(first, Some("i" | "we"))
        && prepared.words.iter().any(|word| denies(word))
        && prepared.content.iter().all(|word| KNOWING.contains(&word.as_str()))
}

/// The content words of a statement without those that only lead into it: "In short, ...", "Overall, ...".
fn own_words(prepared: &Prepared) -> &[String] {
    const LEADING: &str = " short summary conclusion overall finally lastly additionally furthermore moreover addition \
        example instance fact note result similarly generally importantly notably specifically consequently meanwhile \
        contrast conversely instead otherwise currently today kurz zusammenfassend insgesamt außerdem schließlich \
        beispielsweise beispiel résumé bref enfin exemple ainsi resumen finalmente ejemplo además sintesi infine esempio \
        resumo exemplo kortom tenslotte ";
    let Some((lead, _)) = prepared.sentence.text.split_once(", ") else { return &prepared.content };
    let leading = text::content_words(lead);
    let only_leads = leading.iter().all(|word| LEADING.contains(&format!(" {word} ")));
    match prepared.content.get(leading.len()..) {
        Some(own) if only_leads && !own.is_empty() && prepared.content.starts_with(&leading) => own,
        _ => &prepared.content,
    }
}

impl Answer {
    /// Statements of which the claims hold less than a third; or no more than half, where no claim is about the
    /// statement. A short statement needs one claim that says it, with its denial and its numbers.
    pub(super) fn left_out(
        &self,
        claims: &[Listed],
        held: &HashSet<&str>,
        spans: &[Option<Span>],
    ) -> Vec<Span> {
        let told = Told::of(claims, spans);
        self.statements()
            .chain(self.bare_affirmations())
            .chain(self.hidden_statements())
            .filter(|prepared| {
                let words = prepared.content.len();
                if is_bare_answer(prepared) {
                    return self.asks() && !self.is_affirmed(claims, prepared);
                }
                if words < ENOUGH && prepared.sentence.is_statement() {
                    // Digits that no claim holds are a failure of their own.
                    return words > 0
                        && !told.tells_short(prepared, |word| self.is_only_once(word))
                        && !is_courtesy(&prepared.words)
                        && !is_unknowing(prepared)
                        && !declines(&prepared.sentence.text)
                        && !self.is_frame(prepared);
                }
                let lacks_sense = words <= SHORT
                    && prepared.sentence.is_statement()
                    && !told.tells_sense(prepared)
                    && !is_courtesy(&prepared.words);
                (lacks_sense || is_hardly_held(prepared, held, &told))
                    && !reply::is_refusal(&prepared.sentence.text)
            })
            .map(|prepared| prepared.sentence.span)
            .take(MOST)
            .collect()
    }

    /// "No.", "No, it is not.": without a word of their own, they make the question's words a statement.
    pub(super) fn bare_affirmations(&self) -> impl Iterator<Item = &Prepared> {
        let asks = self.asks();
        self.sentences.iter().filter(move |prepared| {
            asks && prepared.is_in_section
                && prepared.sentence.is_statement()
                && prepared.content.is_empty()
                && is_bare_answer(prepared)
        })
    }

    /// Whether a statement is the head of a table or the text of a footnote: what they say, they say of other sentences.
    fn is_frame(&self, prepared: &Prepared) -> bool {
        let start = prepared.sentence.span.start;
        let byte = self.written().char_indices().nth(start).map_or(0, |(byte, _)| byte);
        let (before, after) = self.written().split_at(byte);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.written()[line_start..].lines().next().unwrap_or_default().trim_start();
        let mark = line.split_once("]:").map(|(mark, _)| mark);
        let is_footnote = mark.is_some_and(|mark| {
            mark.strip_prefix('[').is_some_and(|id| id.chars().all(|c| c == '^' || c.is_alphanumeric()))
        });
        let mut lines = after.lines();
        let rest = lines.next().unwrap_or_default();
        let is_row = line.starts_with('|') || rest.trim_end().ends_with('|');
        let next = lines.next().unwrap_or_default().trim();
        let is_rule = next.contains("--") && next.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
        is_footnote || (is_row && is_rule)
    }

    /// Whether a claim takes up the question that the answer affirms or denies, or repeats the answer.
    fn is_affirmed(&self, claims: &[Listed], prepared: &Prepared) -> bool {
        claims.iter().flat_map(|claim| &claim.content).any(|word| self.is_asked(word))
            || claims.iter().any(|claim| claim.words == prepared.words)
    }
}

fn is_hardly_held(prepared: &Prepared, held: &HashSet<&str>, told: &Told<'_>) -> bool {
    let words = prepared.content.len();
    let mut run = 0;
    let longest_run = prepared
        .content
        .iter()
        .map(|word| {
            run = if held.contains(word.as_str()) { 0 } else { run + 1 };
            run
        })
        .max();
    let held = prepared.content.iter().filter(|word| held.contains(word.as_str())).count();
    held * 3 < words
        || (held * 2 <= words && !told.about.contains_key(&prepared.sentence.span))
        || longest_run.is_some_and(|run| run >= CLAUSE)
}
