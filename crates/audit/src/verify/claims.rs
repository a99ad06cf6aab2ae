//! Do the claims that a judge listed itself make up the answer: none invented, none twice, and no
//! number or date left out? Aligned by words, in any inflection, since a sentence may be split or
//! worded anew.

use std::collections::{HashMap, HashSet};

use trace::Trace;

use crate::reply::{self, Code, Problem};
use crate::report::Span;
use crate::text::{self, Form, Number, Pool, Sentence, SentenceKind, Vocabulary, numbers, shorten, words};

use super::Corpus;
use super::listed::{Listed, Sayings, telling};
use super::measures::is_measuring;
use super::pointers::{leave_citations, leave_counters, leave_pointers};
use super::pronouns::{WrittenOut, is_pronoun};
use super::senses::is_yes_or_no;

/// The answer of a trace, prepared for the alignment.
pub struct Answer {
    pub(super) sentences: Vec<Prepared>,
    /// Words of the answer; the places are sentences.
    answer: Vocabulary,
    query: Vocabulary,
    /// Numbers of answer and query.
    pub(super) numbers: Pool,
    /// The sentences in which each reading of a number stands.
    places_of_numbers: HashMap<String, Vec<usize>>,
    /// How many content words the answer has.
    size: usize,
    /// Whether the answer says yes or no to the question and so makes the question's words its own.
    affirms: bool,
    /// Whether the question has a content word.
    asks: bool,
    /// Answer and question as they are written, for their abbreviations.
    written: String,
}

pub(super) struct Prepared {
    pub(super) sentence: Sentence,
    /// All words, for repetitions.
    pub(super) words: Vec<String>,
    pub(super) content: Vec<String>,
    pub(super) numbers: Vec<Number>,
    pub(super) is_in_section: bool,
}

/// What the alignment found.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What is wrong, claims first, then the answer's sentences.
    pub problems: Vec<Problem>,
    /// For each claim the sentence of the answer that it is about.
    pub spans: Vec<Option<Span>>,
    /// Share of the answer's content words that the claims hold.
    pub coverage: Option<f64>,
    /// Whether the answer says anything that can be checked.
    pub has_statements: bool,
    /// Claims that deny what their sentence of the answer says, or say what it denies.
    pub turned: Vec<usize>,
    /// Statements of which the claims hold hardly a word, the first of them.
    pub left_out: Vec<Span>,
    /// Claims that say in other words what an earlier one says of the same sentence.
    pub restated: Vec<usize>,
    /// Claims with a number in words that the answer has not, and the number.
    pub added: Vec<(usize, String)>,
    /// Claims with a word of the evidence where the answer has another.
    pub following: Vec<usize>,
    /// Oddities that were tolerated.
    pub notes: Vec<String>,
}

impl Answer {
    /// The answer of `trace`. Only the statements in `section` have to be covered; claims may take their words from all of it.
    pub fn new(trace: &Trace, section: Option<Span>) -> Self {
        let text = trace.answer.as_deref().unwrap_or_default();
        let query = trace.query.as_deref().unwrap_or_default();
        let has_digit = |id: &&str| id.chars().any(|c| text::chars::digit(c).is_some());
        let cited: Vec<&str> =
            trace.chunks().iter().filter_map(|chunk| chunk.source_id.as_deref()).filter(has_digit).collect();
        let mut answer = Vocabulary::default();
        let mut sentences = Vec::new();
        let mut places_of_numbers: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, sentence) in text::sentences(text).into_iter().enumerate() {
            let words = words(&sentence.text);
            answer.add(at, &sentence.text, &words);
            let acronyms = text::acronyms(&sentence.text);
            let is_content = |word: &&String| text::is_content(word) || acronyms.contains(word);
            let content = words.iter().filter(is_content).cloned().collect();
            let mut numbers = numbers(&sentence.text);
            leave_citations(&sentence.text, &cited, &mut numbers);
            leave_pointers(&sentence.text, &mut numbers);
            leave_counters(&sentence.text, &mut numbers);
            let is_in_section =
                section.is_none_or(|section| (section.start..section.end).contains(&sentence.span.start));
            for key in numbers.iter().flat_map(Number::keys) {
                match places_of_numbers.get_mut(key) {
                    Some(places) if places.last() == Some(&at) => {}
                    Some(places) => places.push(at),
                    None => {
                        places_of_numbers.insert(key.to_owned(), vec![at]);
                    }
                }
            }
            sentences.push(Prepared { sentence, words, content, numbers, is_in_section });
        }
        let mut all = Pool::of([query]);
        all.add_digits(text);
        sentences.iter().for_each(|prepared: &Prepared| all.add(&prepared.numbers));
        let size = sentences.iter().map(|sentence| sentence.content.len()).sum();
        let affirms =
            sentences.iter().any(|sentence| sentence.words.first().is_some_and(|word| is_yes_or_no(word)));
        Self {
            sentences,
            answer,
            query: Vocabulary::of(query),
            numbers: all,
            places_of_numbers,
            size,
            affirms,
            asks: !text::content_words(query).is_empty(),
            written: format!("{text}\n{query}"),
        }
    }

    /// Aligns the judge's claims with the answer. `list` is the path of the list in the reply.
    /// `evidence`: where the answer's abbreviations and pronouns may be written out.
    pub fn check(&self, claims: &[Listed], list: &str, evidence: &Corpus<'_>) -> Checked {
        let mut checked = Checked { has_statements: self.has_statements(), ..Checked::default() };
        let mut lookup = Lookup::new(self);
        let written_out = WrittenOut::new(self.all_words(), evidence);
        let mut aligned = Vec::with_capacity(claims.len());
        for claim in claims {
            let mut alignment = lookup.align(claim);
            aligned.push(alignment.sentence);
            let sentence = alignment.sentence.and_then(|at| self.sentences.get(at));
            checked.spans.push(sentence.map(|it| it.sentence.span));
            if alignment.known * 2 < claim.content.len() {
                let has_pronoun = sentence.is_some_and(|it| it.words.iter().any(|word| is_pronoun(word)));
                let resolved = written_out.resolve(claim, has_pronoun, |word| !self.knows(word));
                alignment.known += self.measuring_words(claim, sentence);
                if resolved > 0 {
                    alignment.known += resolved;
                    let path = &claim.path;
                    checked
                        .notes
                        .push(format!("{path}: an abbreviation or pronoun of the answer is written out"));
                }
            }
            checked.problems.extend(self.invention(claim, &alignment));
        }
        checked.restated = self.restated(claims, &checked.spans);
        checked.turned = self.turned(claims, &checked.spans);
        checked.turned.extend(self.misnumbered(claims));
        checked.turned.sort_unstable();
        checked.turned.dedup();
        let (exchanged, added) = self.exchanged(claims, &aligned);
        checked.problems.extend(exchanged);
        checked.added = added;
        let held = self.held(claims);
        checked.following = self.following(claims, &aligned, &held, &written_out, evidence);
        checked.following.retain(|at| !checked.turned.contains(at));
        if !claims.is_empty() {
            checked.left_out = self.left_out(claims, &held, &checked.spans);
        }
        checked.problems.extend(self.repetitions(claims, &checked.spans));
        checked.problems.extend(self.gaps(claims, list));
        checked.coverage = self.coverage(&held);
        checked
    }

    /// How many words of a claim only say what its number counts, as the answer says without them: "the actress, 45" is
    /// "45 years old", and "80 km/h" is "80 kilometres per hour".
    fn measuring_words(&self, claim: &Listed, sentence: Option<&Prepared>) -> usize {
        let is_shared = |number: &Number| {
            sentence.is_some_and(|sentence| sentence.numbers.iter().any(|other| number.says_the_same(other)))
        };
        if !claim.numbers.iter().any(is_shared) {
            return 0;
        }
        claim.content.iter().filter(|word| !self.knows(word) && is_measuring(word)).count()
    }

    /// Whether anything is said that can be checked; an answer that declines says nothing.
    fn has_statements(&self) -> bool {
        self.statements().any(|prepared| !reply::is_refusal(&prepared.sentence.text))
            || self.bare_affirmations().next().is_some()
            || self.hidden_statements().next().is_some()
    }

    /// Headings, announcements and orders that state an amount all the same. They need no claim, but nobody shall
    /// overlook them.
    pub(super) fn hidden_statements(&self) -> impl Iterator<Item = &Prepared> {
        const ENOUGH: usize = 2;
        let last = self.sentences.iter().rposition(|prepared| prepared.sentence.kind != SentenceKind::Mark);
        self.sentences.iter().enumerate().filter_map(move |(at, prepared)| {
            let is_announcing = prepared.sentence.text.trim_end().ends_with([':', '：']) && Some(at) != last;
            let is_kind = match prepared.sentence.kind {
                SentenceKind::LeadIn => !is_announcing,
                SentenceKind::Order => true,
                SentenceKind::Question => Some(at) == last && self.sentences.len() == 1,
                SentenceKind::Statement | SentenceKind::Remark | SentenceKind::Mark => false,
            };
            let states = || prepared.content.len() >= ENOUGH && text::states_amount(&prepared.sentence.text);
            (prepared.is_in_section && is_kind && states()).then_some(prepared)
        })
    }

    /// Every word of the answer and the question, as it is written.
    fn all_words(&self) -> &str {
        &self.written
    }

    pub(super) fn knows(&self, word: &str) -> bool {
        self.answer.holds(word) || self.query.holds(word)
    }

    /// Whether there is a question that says anything.
    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    /// The answer as it is written, and the question after it.
    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// Whether a word stands in one sentence of the answer alone, and not in the question.
    pub(super) fn is_only_once(&self, word: &str) -> bool {
        self.answer.places(word).len() == 1 && !self.query.holds(word)
    }

    /// Whether a word stands in the question.
    pub(super) fn is_asked(&self, word: &str) -> bool {
        self.query.holds(word)
    }

    pub(super) fn statements(&self) -> impl Iterator<Item = &Prepared> {
        self.sentences.iter().filter(|prepared| {
            prepared.is_in_section
                && prepared.sentence.is_statement()
                && !(prepared.content.is_empty() && prepared.numbers.is_empty())
        })
    }

    fn invention(&self, claim: &Listed, alignment: &Alignment) -> Option<Problem> {
        const ENOUGH: usize = 3;
        let invented =
            |message: String| Some(Problem::new(Code::InventedClaim, claim.path.as_str(), message));
        let foreign = claim
            .numbers
            .iter()
            .find(|number| number.form == Form::Digits && !self.numbers.holds_loosely(number));
        if let Some(number) = foreign {
            return invented(format!(
                "the answer does not say this: `{}` stands neither in it nor in the question",
                number.text
            ));
        }
        let (known, total) = (alignment.known, claim.content.len());
        if total == 0 && claim.numbers.is_empty() && self.times_said(claim, None) == 0 {
            return invented(
                "the claim says nothing that can be checked, and the answer does not say it".to_owned(),
            );
        }
        if known * 2 < total {
            return invented(format!(
                "the answer does not say this: it has {known} of the claim's {total} content words"
            ));
        }
        let shares_number = claim.numbers.iter().any(|number| self.numbers.holds_loosely(number));
        if total > 0 && alignment.held == 0 && self.size >= ENOUGH && !shares_number && !self.affirms {
            return invented(
                "the answer does not say this: all of the claim's words come from the question".to_owned(),
            );
        }
        None
    }

    fn repetitions(&self, claims: &[Listed], spans: &[Option<Span>]) -> Vec<Problem> {
        // How often it came, and how often the answer says it, which takes a walk over all of it.
        let mut seen: HashMap<Sayings<'_>, (usize, Option<usize>)> = HashMap::new();
        let mut problems = Vec::new();
        for (claim, span) in claims.iter().zip(spans) {
            let (count, said) = seen.entry(claim.sayings()).or_default();
            *count += 1;
            if *count > 1 && *count > *said.get_or_insert_with(|| self.times_said(claim, *span)) {
                let message = format!(
                    "this claim comes more often than the answer makes it: \"{}\"",
                    shorten(&claim.text, 80)
                );
                problems.push(Problem::new(Code::DuplicateClaim, claim.path.as_str(), message));
            }
        }
        problems
    }

    /// How often the answer says what the claim says: word by word, or in the sentence that it is aligned with.
    fn times_said(&self, claim: &Listed, span: Option<Span>) -> usize {
        let wanted = claim.telling_words();
        let length = wanted.len().max(1);
        let literally: usize = self
            .sentences
            .iter()
            .map(|prepared| {
                let words = telling(&prepared.words);
                words.windows(length).filter(|window| *window == wanted).count()
            })
            .sum();
        let aligned = self.sentences.iter().find(|prepared| Some(prepared.sentence.span) == span);
        let repeated = aligned
            .map_or(0, |aligned| self.sentences.iter().filter(|other| other.words == aligned.words).count());
        literally.max(repeated)
    }

    /// Statements of which a number or date was left out.
    fn gaps(&self, claims: &[Listed], list: &str) -> Vec<Problem> {
        let mut pool = Pool::default();
        for claim in claims {
            pool.add(&claim.numbers);
            // What was taken for a list mark of the claim may be the number that the answer has.
            pool.add_leading(&claim.text);
        }
        let mut problems = Vec::new();
        for prepared in self.statements() {
            // "I have no information about that in 2024" says nothing of the year.
            if claims.is_empty() && declines(&prepared.sentence.text) {
                continue;
            }
            let open = prepared
                .numbers
                .iter()
                .find(|number| number.form == Form::Digits && !pool.holds_loosely(number));
            if let Some(number) = open {
                let message = format!(
                    "no claim holds `{}` of the answer's sentence \"{}\"",
                    number.text,
                    shorten(&prepared.sentence.text, 120)
                );
                problems.push(Problem::new(Code::UncoveredSentence, list, message));
            }
        }
        problems
    }

    /// The words of the answer that the claims hold, in whatever inflection.
    fn held(&self, claims: &[Listed]) -> HashSet<&str> {
        let mut vocabulary = Vocabulary::default();
        for claim in claims {
            vocabulary.add(0, &claim.text, &claim.words);
        }
        let words: HashSet<&str> =
            self.sentences.iter().flat_map(|prepared| &prepared.content).map(String::as_str).collect();
        words.into_iter().filter(|word| vocabulary.holds(word)).collect()
    }

    fn coverage(&self, held: &HashSet<&str>) -> Option<f64> {
        let mut total = 0_usize;
        let words = self.statements().flat_map(|prepared| &prepared.content).inspect(|_| total += 1);
        let held = words.filter(|word| held.contains(word.as_str())).count();
        #[expect(clippy::cast_precision_loss, reason = "an answer has fewer than 2^52 words")]
        (total > 0).then(|| held as f64 / total as f64)
    }
}

/// Whether a sentence of an answer says that the writer does not know. "I'm sorry, he died in 2019" does not.
pub(crate) fn declines(sentence: &str) -> bool {
    const WORDS: [&str; 18] = [
        "information",
        "know",
        "cannot",
        "can't",
        "can’t",
        "unable",
        "not able",
        "no data",
        "could not",
        "couldn't",
        "couldn’t",
        "informação",
        "información",
        "informazioni",
        "情報",
        "信息",
        "정보",
        "معلومات",
    ];
    let lower = sentence.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        && reply::is_refusal(sentence)
        && !text::states_amount(sentence)
}

/// How a claim stands to the answer.
struct Alignment {
    /// The sentence that shares most with it.
    sentence: Option<usize>,
    /// How many of its content words stand in the answer.
    held: usize,
    /// How many stand in the answer or in the question.
    known: usize,
}

/// Where words stand. Claims share most of their words, so each is looked up once.
struct Lookup<'a> {
    answer: &'a Answer,
    known: HashMap<&'a str, Places>,
    /// For each sentence what it shares with the claim at hand; zero between claims.
    shared: Vec<usize>,
    /// For each sentence the last number that was counted for it, each by its round.
    counted: Vec<usize>,
    round: usize,
}

struct Places {
    sentences: Vec<usize>,
    is_in_query: bool,
}

impl<'a> Lookup<'a> {
    fn new(answer: &'a Answer) -> Self {
        let size = answer.sentences.len();
        Self { answer, known: HashMap::new(), shared: vec![0; size], counted: vec![0; size], round: 0 }
    }

    fn align(&mut self, claim: &'a Listed) -> Alignment {
        let answer = self.answer;
        // Only the sentences that share something are looked at: of many, most share nothing.
        let mut touched: Vec<usize> = Vec::new();
        let (mut held, mut known) = (0, 0);
        for word in &claim.content {
            let places = self.known.entry(word).or_insert_with(|| Places {
                sentences: answer.answer.places(word),
                is_in_query: answer.query.holds(word),
            });
            held += usize::from(!places.sentences.is_empty());
            known += usize::from(places.is_in_query || !places.sentences.is_empty());
            for place in &places.sentences {
                touched.extend((self.shared[*place] == 0).then_some(*place));
                self.shared[*place] += 2;
            }
        }
        for number in &claim.numbers {
            self.round += 1;
            for place in number.keys().filter_map(|key| answer.places_of_numbers.get(key)).flatten() {
                if std::mem::replace(&mut self.counted[*place], self.round) != self.round {
                    touched.extend((self.shared[*place] == 0).then_some(*place));
                    self.shared[*place] += 3;
                }
            }
        }
        // Of two with as much in common the one that says little else: "It is haunted", not "The mill is old", for "The
        // mill is haunted".
        let best = touched.iter().copied().max_by_key(|at| {
            let prepared = &answer.sentences[*at];
            let size = prepared.content.len() + prepared.numbers.len();
            let is_statement = prepared.sentence.is_statement();
            let in_section = prepared.is_in_section;
            (self.shared[*at], in_section, is_statement, usize::MAX - size, usize::MAX - at)
        });
        for at in touched {
            self.shared[at] = 0;
        }
        Alignment { sentence: best, held, known }
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
pub(super) mod tests;
