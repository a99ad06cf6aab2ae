//! Words that are only polite: no evidence could carry them, and no claim has to speak of them.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::text::fixed::Quick;

/// Words of which one alone makes a sentence polite.
const POLITE: &str = "thank thanks welcome hello hi hey greetings regards sincerely certainly sure course absolutely definitely \
    understood okay ok alright great good nice lovely glad happy pleasure luck enjoy cheers sorry apologies apologise apologize \
    hope helps question goodbye bye afternoon morning evening \
    danke vielen bitte gerne gern hallo grüße gruß natürlich sicher klar willkommen entschuldigung hoffe erfolg freut \
    merci bonjour salut bienvenue volontiers cordialement désolé avec plaisir rien \
    gracias hola saludos claro gusto nada perdón bienvenido obrigado obrigada olá prazer \
    grazie ciao prego piacere certo saluti dank bedankt dag graag groeten tuurlijk natuurlijk \
    спасибо здравствуйте пожалуйста конечно привет شكرا مرحبا أهلا عفوا بالتأكيد धन्यवाद नमस्ते \
    谢谢 謝謝 你好 您好 当然 好的 不客气 ありがとう こんにちは もちろん 承知 了解 감사합니다 안녕하세요 물론 물론입니다 \
    ขอบคุณ สวัสดี ยินดี teşekkürler teşekkür merhaba elbette dziękuję cześć oczywiście";

/// Words that stand between polite ones. None of them makes a statement of a subject and what is said of it.
const AROUND: &str = "you your yours for the a an this that to my i am i'm m re ve are have day very much so again \
    there all any further more please let me know asking reaching out contacting using everyone friend dear sir madam \
    help helpful helped interest patience inquiry enquiry message confusion inconvenience and of in with best kind \
    warm be assist ask need anytime at from d'accord \
    dir ihnen für ihre deine die frage das ich sie es und mit freundlichen schönen tag guten morgen abend viel freue mich \
    anfrage geschehen sehr hilft \
    pour votre ta je vous et bien de la le il un une \
    por su tu con mucho muchas muito pela sua di la tua per domanda pregunta pergunta voor uw vraag \
    за ваш вопрос على سؤالك ございます どう いたし まし て し た ます 您的 提问 您 的 问题";

/// What an answer may call itself and its evidence: "Here's what I found in the documents."
const SELF: &str = "what found find answer answers summary information overview details based documents document context \
    provided evidence passages passage sources given short brief quick some know on about";

/// A longer sentence says something else too.
const LONGEST: usize = 12;

/// Whether a sentence of these folded words says nothing but something polite.
pub(crate) fn is_courtesy(words: &[String]) -> bool {
    static SETS: LazyLock<[HashSet<&str, Quick>; 3]> =
        LazyLock::new(|| [POLITE, AROUND, SELF].map(|list| list.split_whitespace().collect()));
    let [polite, around, own] = &*SETS;
    if let [first, rest @ ..] = words
        && first == "here"
    {
        let rest = rest.strip_prefix(&["is".to_owned()]).unwrap_or(rest);
        return rest.len() <= LONGEST
            && rest.iter().all(|word| [own, around, polite].iter().any(|list| list.contains(word.as_str())));
    }
    let is_polite = |word: &String| polite.contains(word.as_str());
    words.len() <= LONGEST
        && words.iter().any(is_polite)
        && words.iter().all(|word| is_polite(word) || around.contains(word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn courtesy_is_told_from_statements() {
        for polite in [
            "Thank you!",
            "I hope this helps.",
            "Sure!",
            "Of course.",
            "You're welcome!",
            "Great question!",
            "Thank you for your question.",
            "Have a nice day!",
            "Good luck!",
            "I'm sorry for the confusion.",
            "Gerne!",
            "Vielen Dank für Ihre Frage.",
            "Merci pour votre question.",
            "De rien.",
            "¡Claro!",
            "谢谢！",
            "もちろん！",
            "Спасибо за ваш вопрос.",
            "Here's what I found.",
            "Here is the answer to your question.",
        ] {
            assert!(is_courtesy(&text::words(polite)), "{polite}");
        }
        for statement in [
            "The mill is good.",
            "It is good.",
            "Dogs are welcome.",
            "It has three wheels.",
            "Good mills turn.",
            "The owner is sorry.",
            "It helps.",
            "Here dogs are forbidden.",
            "Here is a murderer.",
            "所有者は殺人犯である。",
            "The mill never opened.",
        ] {
            assert!(!is_courtesy(&text::words(statement)), "{statement}");
        }
    }
}
