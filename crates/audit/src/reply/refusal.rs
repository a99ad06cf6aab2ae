//! Does a text without JSON decline the task?

use std::sync::LazyLock;

use memchr::memmem::Finder;
use unicode_normalization::UnicodeNormalization;

/// Only the beginning is looked at: a refusal says so at once.
const HEAD: usize = 400;

/// Openings that alone decline or lead to declining, in several languages.
const APOLOGIES: &str = "sorry|i'm sorry|i am sorry|i'm very sorry|we're sorry|my apologies|apologies|i apologize|i apologise|\
    i regret|unfortunately, i|as an ai|as a language model|as a large language model|es tut mir leid|\
    tut mir leid|entschuldigung|leider kann ich|leider ist es mir nicht|als ki-|als sprachmodell|désolé|\
    je suis désolé|je regrette|en tant qu'ia|en tant que modèle|malheureusement, je ne|lo siento|lamento|\
    como modelo de lenguaje|como ia|desculpe|sinto muito|como um modelo de linguagem|mi dispiace|\
    spiacente|purtroppo non posso|come modello linguistico|het spijt me|helaas kan ik|als taalmodel|\
    извините|простите|к сожалению, я не|как языковая модель|вибачте|на жаль, я не|抱歉|很抱歉|非常抱歉|对不起|對不起|\
    作为一个ai|作为人工智能|作为ai|申し訳|大変申し訳|すみませんが|恐れ入りますが|aiとして|죄송|미안하지만|유감|آسف|أنا آسف|عذر|أعتذر|نأسف|क्षमा करें|\
    मुझे खेद|माफ़ करें|माफ कीजिए|üzgünüm|özür dilerim|maalesef|przepraszam|przykro mi|niestety nie mogę|\
    xin lỗi|rất tiếc|maaf|ขออภัย|ขอโทษ|tyvärr kan jag|jag är ledsen|beklager|desværre kan jeg|undskyld|\
    omlouvám se|bohužel nemohu|valitettavasti en|pahoittelen|λυπάμαι|συγγνώμη|מצטער|סליחה";

/// First persons that cannot or will not, with what they decline to do left open.
const INABILITIES: &str = "i can't|i cannot|i can not|i could not|i couldn't|i won't|i will not|i am unable|i'm unable|\
    i am not able|i'm not able|i must decline|i have to decline|i decline|i refuse|i must refuse|\
    i am not comfortable|i'm not comfortable|i don't feel comfortable|i do not feel comfortable|\
    i am not permitted|i'm not permitted|i'm not allowed|i am not allowed|i must refrain|we cannot|\
    we can't|we are unable";

/// What a judge declines to do, after "I cannot". "I cannot find support" is a verdict and no refusal.
const TASKS: &str = "help|assist|verify|assess|evaluate|provide|comply|fulfil|complete|do |do.|do this|answer|process|\
    judge|analy|audit|engage|discuss|respond|continue|participate|perform|review|rate |generate|create|\
    produce|offer|share|support this|fact-check|check these|check this|be used|grade|score|give you|be of|\
    make this|make a|carry out|follow|accommodate|proceed|view|access|write|in good|with this|to help|\
    to assist|to ";

/// Whole phrases of other languages that decline anywhere at the beginning.
const PHRASES: &str = "ich kann ihnen dabei nicht|ich kann dabei nicht|ich kann diese|ich kann das nicht|ich kann nicht|\
    ich bin nicht in der lage|ich darf nicht|dabei kann ich nicht helfen|je ne peux pas|\
    je ne suis pas en mesure|je ne puis|il m'est impossible|no puedo|no me es posible|\
    no estoy en condiciones|não posso|não consigo|não sou capaz|non posso|non sono in grado|ik kan niet|\
    ik kan deze|ik kan dit niet|ik kan u niet|ik ben niet in staat|я не могу|я не в состоянии|\
    я не маю змоги|我无法|我不能|我無法|无法协助|无法提供|無法提供|不能协助|お手伝いできません|お答えできません|対応できません|対応いたしかねます|応じることができません|\
    応じられません|できかねます|도와드릴 수 없|도와줄 수 없|답변할 수 없|수행할 수 없|لا أستطيع|لا يمكنني|لا أقدر|मैं नहीं कर सकता|\
    सहायता नहीं कर सकता|मदद नहीं कर सकता|yardımcı olamam|yapamam|nie mogę|nie jestem w stanie|\
    tôi không thể|saya tidak dapat|saya tidak bisa|ไม่สามารถ|jag kan inte|jeg kan ikke|nemohu|en voi |\
    δεν μπορώ|אני לא יכול|איני יכול";

/// Words of a verdict: a text that gives one was no refusal.
const VERDICTS: &[&str] =
    &["grounded", "hallucinated", "supported", "unsupported", "contradicted", "faithful"];

/// Whether `text` declines.
pub fn is_refusal(text: &str) -> bool {
    let head = straightened(text);
    let head = head.trim_start_matches(|c: char| !c.is_alphanumeric());
    if gives_verdicts(head) {
        return false;
    }
    let sentences: Vec<&str> = head.split_inclusive(['.', '!', '?', '\n', '。', '！', '؟']).take(3).collect();
    if APOLOGIES.split('|').any(|apology| starts_with_word(head, apology)) {
        // "Sorry for the delay. Claim one is wrong." goes on to do the task.
        return head.chars().count() < 300 || sentences.iter().any(|sentence| declines(sentence));
    }
    sentences.iter().take(2).any(|sentence| declines(sentence))
}

/// The beginning of a text, lower case and with one kind of apostrophe and blank.
fn straightened(text: &str) -> String {
    match text.as_bytes().get(..HEAD.min(text.len())) {
        Some(head) if head.is_ascii() => {
            head.iter().map(|byte| straight(char::from(byte.to_ascii_lowercase()))).collect()
        }
        _ => text.chars().take(HEAD).nfkc().flat_map(char::to_lowercase).map(straight).collect(),
    }
}

fn straight(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' | '`' | '´' => '\'',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let Some(rest) = text.strip_prefix(word) else { return false };
    !word.is_ascii()
        || word.ends_with(|c: char| !c.is_alphanumeric())
        || !rest.starts_with(|c: char| c.is_alphanumeric())
}

fn declines(sentence: &str) -> bool {
    // Asked of every sentence of an answer, so what is looked for is prepared once.
    static PREPARED_PHRASES: LazyLock<Vec<Finder<'static>>> =
        LazyLock::new(|| PHRASES.split('|').map(Finder::new).collect());
    static PREPARED_INABILITIES: LazyLock<Vec<(&str, Finder<'static>)>> =
        LazyLock::new(|| INABILITIES.split('|').map(|it| (it, Finder::new(it))).collect());
    if PREPARED_PHRASES.iter().any(|phrase| phrase.find(sentence.as_bytes()).is_some()) {
        return true;
    }
    PREPARED_INABILITIES.iter().any(|(inability, finder)| {
        finder.find_iter(sentence.as_bytes()).any(|at| {
            let is_word = sentence[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
            let rest = &sentence[at + inability.len()..];
            if !is_word || rest.starts_with(|c: char| c.is_alphanumeric()) {
                return false;
            }
            let rest = rest.trim_start().trim_start_matches("directly ").trim_start_matches("really ");
            let ends = !rest.chars().any(char::is_alphanumeric);
            let is_flat = ["decline", "refuse", "refrain"].iter().any(|end| inability.ends_with(end))
                || inability.contains("comfortable");
            ends || is_flat || TASKS.split('|').any(|task| rest.starts_with(task))
        })
    })
}

/// Whether claims are told their verdicts: "claim 2: hallucinated", "the first is grounded".
fn gives_verdicts(head: &str) -> bool {
    VERDICTS.iter().any(|verdict| {
        head.match_indices(verdict).any(|(at, _)| {
            let before = head[..at].trim_end_matches([' ', '"', '\'', '*', '`']);
            [":", " is", " are", " was", "=", "-", "->", " is not", " not"]
                .iter()
                .any(|lead| before.ends_with(lead))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_refusal;

    #[test]
    fn refusals_in_many_words() {
        for text in [
            "I'm sorry, but I can't help with judging this text.",
            "I’m sorry, I can’t assist with that request.",
            "I cannot verify the claims of this answer.",
            "Sorry.",
            "As an AI language model, I do not judge such texts.",
            "I won't do this.",
            "I must decline.",
            "I am unable to evaluate this answer because it contains medical advice.",
            "Unfortunately, I'm not able to complete this audit.",
            "**I can't provide that.**",
            "Thank you for asking. However, I cannot assist with this.",
            "Es tut mir leid, aber dabei kann ich nicht helfen.",
            "Ich kann diese Anfrage leider nicht bearbeiten.",
            "Je suis désolé, mais je ne peux pas vous aider.",
            "Lo siento, no puedo ayudar con eso.",
            "Desculpe, mas não posso ajudar com isso.",
            "申し訳ありませんが、お手伝いできません。",
            "很抱歉，我无法协助完成此请求。",
            "죄송하지만 도와드릴 수 없습니다.",
            "Извините, я не могу помочь с этим.",
            "عذراً، لا أستطيع المساعدة في ذلك.",
        ] {
            assert!(is_refusal(text), "{text}");
        }
    }

    #[test]
    fn prose_verdicts_are_no_refusals() {
        for text in [
            "Claim A: grounded. Claim B: hallucinated. That makes one half.",
            "I cannot find support for the first claim in the evidence.",
            "The first claim cannot be verified from the passages.",
            "I cannot verify claim 2 in the evidence, so it is hallucinated.",
            "The answer is faithful.",
            "Sorry for the confusion before. Claim 1 is grounded, claim 2 is hallucinated.",
            "All claims are supported.",
        ] {
            assert!(!is_refusal(text), "{text}");
        }
    }
}
