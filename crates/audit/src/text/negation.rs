//! Words that turn a statement into its opposite, or narrow what it says.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::chars::is_unspaced;
use super::fixed::Quick;
use super::words::words;

const DENYING: &str = "not no nein non nee nej never none nor neither without cannot nothing nobody nowhere nicht kein keine keinen keiner \
    keinem keines nie niemals nirgends ohne pas jamais aucun aucune sans nunca jamás ninguno ninguna ningún sin não \
    nenhum nenhuma sem nessun nessuna nessuno senza niet geen nooit zonder не нет ни без никогда nie brak bez żaden \
    yok değil asla không chưa tidak bukan tanpa لا ليس ليست لم لن بدون دون غير ไม่ नहीं नही बिना לא אין בלי אינו אינה אינם אינן איני איננו 不 没 沒 無 无 非 未 \
    ない ません なかった ず 안 못 없다 없는 없이 않다 않는다 않는 않습니다";

/// What can be cut out of a sentence only with a part of its sense.
const NARROWING: &str = "except unless only hardly barely rarely seldom scarcely formerly refuses refused fails failed \
    außer nur kaum selten sauf rarement excepto salvo solo sólo apenas tranne soltanto raramente exceto somente \
    behalve alleen zelden кроме только редко";

/// Signs of denial in scripts without spaces between words, and endings of Korean verbs.
const PARTS: [&str; 9] = ["不", "没", "沒", "ない", "ません", "なかった", "않", "없", "ไม่"];

fn set(words: &'static str) -> HashSet<&'static str, Quick> {
    words.split_whitespace().collect()
}

/// Whether a folded word denies something.
pub fn denies(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str, Quick>> = LazyLock::new(|| set(DENYING));
    WORDS.contains(word)
}

/// Words of opposite sense, each the other's; a beginning stands for all its inflections.
const OPPOSITES: &str = "allow/forbid allow/prohibit allow/ban permit/forbid permit/prohibit permit/ban safe/dangerous \
    safe/harmful open/close increase/decrease rise/fall rose/fell rising/falling high/low long/short old/new large/small \
    big/small early/late accept/reject approve/reject include/exclude gain/lose win/lose won/lost maximum/minimum \
    first/last north/south east/west hot/cold true/false always/never free/paid enable/disable buy/sell bought/sold \
    erlaubt/verboten sicher/gefährlich öffne/schließ steig/sink steigen/fallen hoch/niedrig autorisé/interdit permis/interdit \
    ouvert/fermé permitido/prohibido abierto/cerrado permesso/vietato aperto/chiuso permitido/proibido toegestaan/verboden";

const REVERSING: [&str; 8] = ["un", "in", "il", "im", "ir", "dis", "non", "a"];

/// Whether two texts differ in one content word, and that one says the opposite.
pub fn opposite(ours: &[String], theirs: &[String]) -> bool {
    let only = |some: &[String], others: &[String]| -> Option<String> {
        let mut own = some.iter().filter(|word| !others.contains(word));
        own.next().filter(|_| own.next().is_none()).cloned()
    };
    let (Some(one), Some(other)) = (only(ours, theirs), only(theirs, ours)) else { return false };
    let reverses = |one: &str, other: &str| {
        REVERSING
            .iter()
            .any(|prefix| other.strip_prefix(prefix).is_some_and(|rest| rest == one && one.len() > 3))
    };
    let is_pair = |pair: &str| {
        pair.split_once('/').is_some_and(|(left, right)| {
            (is_form(&one, left) && is_form(&other, right)) || (is_form(&one, right) && is_form(&other, left))
        })
    };
    reverses(&one, &other) || reverses(&other, &one) || OPPOSITES.split_whitespace().any(is_pair)
}

/// Whether a word is this one, or it with an ending.
fn is_form(word: &str, beginning: &str) -> bool {
    const LONGEST_ENDING: usize = 5;
    word.strip_prefix(beginning).is_some_and(|ending| ending.len() <= LONGEST_ENDING)
        || beginning.strip_suffix('e').is_some_and(|stem| {
            word.strip_prefix(stem).is_some_and(|ending| matches!(ending, "ing" | "ed" | "able"))
        })
}

/// Whether a text denies or narrows something: what must not be left out of a quote unnoticed.
pub fn changes_sense(text: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str, Quick>> = LazyLock::new(|| set(NARROWING));
    let has_part = || {
        text.chars().any(|c| is_unspaced(c) || is_hangul(c)) && PARTS.iter().any(|part| text.contains(part))
    };
    words(text).iter().any(|word| denies(word) || WORDS.contains(word.as_str())) || has_part()
}

fn is_hangul(c: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::{changes_sense, opposite};

    #[test]
    fn opposites_are_told_from_other_words() {
        let differs = |one: &str, other: &str| {
            let words = |text: &str| crate::text::content_words(text);
            opposite(&words(one), &words(other))
        };
        assert!(differs("The drug is forbidden for children", "The drug is allowed for children"));
        assert!(differs("The pool opens late", "The pool closes late"));
        assert!(differs("The route is safe", "The route is unsafe"));
        assert!(differs("Preise steigen schnell", "Preise fallen schnell"));
        assert!(!differs("The drug is allowed for children", "The drug is permitted for children"));
        assert!(!differs("The old mill turns", "The old mill stands"));
        assert!(!differs("The route is safe", "The route is safe"));
    }

    #[test]
    fn denials_of_many_languages_are_seen() {
        for text in [
            "are not",
            "aren't",
            "can’t be",
            "nicht mehr",
            "ne sont pas",
            "sin coste",
            "не работает",
            "利用できません",
            "并不",
            "하지 않는",
            "ไม่เปิด",
            "except on Mondays",
        ] {
            assert!(changes_sense(text), "{text}");
        }
        for text in ["built in 1907", "a knotted rope", "eine Minute", "nota bene", "これは駅です"] {
            assert!(!changes_sense(text), "{text}");
        }
    }
}
