//! Whether a description of missing evidence says that the sources contradict the claim or each other.

/// Beginnings of words that speak of a contradiction, in the languages that judges write.
const STEMS: &str = "contradict conflict disagree inconsisten refute incompatib discrepan mismatch diverg \
    widersprech widersprich widerspruch widersprüch widerlegt unvereinbar contredi contradict incohéren réfut divergen \
    contradic contradig contradiz contraddi contraddic incoeren discordan smenti incompatív tegenspre tegenstrijd weersprek weerleg \
    противореч расход опроверг sprzeczn zaprzecz niezgodn çeliş bertentangan mâu";

/// Whole words that do, or do beside a word for sources.
const WORDS: [&str; 5] = ["differ", "differs", "differing", "disputes", "odds"];

/// The same where words are not parted, or are one with their denial.
const PARTS: [&str; 22] = [
    "矛盾",
    "相反",
    "食い違",
    "冲突",
    "衝突",
    "不一致",
    "抵触",
    "모순",
    "상충",
    "충돌",
    "불일치",
    "يتعارض",
    "تتعارض",
    "متعارض",
    "يناقض",
    "تناقض",
    "متناقض",
    "סותר",
    "सोतर",
    "विरोध",
    "ขัดแย้ง",
    "अंतर्विरोध",
];

/// What stands around such a part where there is no contradiction.
const DENIED: [&str; 21] = [
    "不",
    "没有",
    "沒有",
    "无",
    "無",
    "并非",
    "しな",
    "しませ",
    "していな",
    "はな",
    "はありませ",
    "がな",
    "がありませ",
    "되지 않",
    "지 않",
    "이 없",
    "لا ",
    "لم ",
    "ليس",
    "नहीं",
    "ไม่",
];

/// Words that say two things agree; denied, they speak of a contradiction.
const AGREEING: [&str; 7] = ["match", "agree", "agrees", "matches", "consistent", "compatible", "tally"];

/// Words that, near by, turn such a word around.
const NEGATIONS: &str = " not no neither nor never without none nothing nobody n't nicht kein keine keinen keiner weder ne pas \
    aucun aucune ni no ningún ninguna non nessun nessuna né não nenhum nenhuma nem niet geen не нет ни nie żaden değil \
    tidak không ";

/// How many words before it a negation reaches.
const REACH: usize = 4;

/// How many words after it: some languages deny there.
const REACH_AFTER: usize = 3;

/// Whether a contradiction is noted (E-08).
pub fn is_noted(description: &str) -> bool {
    let lower = description.to_lowercase().replace('’', "'");
    // A denial reaches no further than its clause.
    let clauses = lower.split(['.', ';', ':', '!', '?', '\n', '。', '；', '：', '！', '？', '—']);
    clauses.into_iter().any(|clause| is_noted_in(clause) || has_part(clause))
}

fn is_noted_in(clause: &str) -> bool {
    let words: Vec<&str> =
        clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().any(|(at, word)| {
        let before = &words[at.saturating_sub(REACH)..at];
        let after = &words[at + 1..(at + 1 + REACH_AFTER).min(words.len())];
        // English denies before its verbs: "contradicts it, no source ..." denies nothing.
        let is_denied = before.iter().any(|word| denies(word))
            || (!is_english(word) && after.iter().any(|word| denies(word)));
        if AGREEING.contains(word) {
            return before.iter().any(|word| denies(word))
                && !before.contains(&"neither")
                && !before.contains(&"nothing");
        }
        (STEMS.split_whitespace().any(|stem| word.starts_with(stem)) || WORDS.contains(word)) && !is_denied
    })
}

fn is_english(word: &str) -> bool {
    [
        "contradicts",
        "contradicted",
        "contradicting",
        "conflict",
        "disagree",
        "inconsisten",
        "refute",
        "differ",
    ]
    .iter()
    .any(|english| word.starts_with(english))
}

fn denies(word: &str) -> bool {
    NEGATIONS.contains(&format!(" {word} ")) || word.ends_with("n't")
}

fn has_part(clause: &str) -> bool {
    const NEAR: usize = 8;
    PARTS.iter().any(|part| {
        clause.match_indices(part).any(|(at, _)| {
            let before: String =
                clause[..at].chars().rev().take(NEAR).collect::<Vec<_>>().into_iter().rev().collect();
            let after: String = clause[at + part.len()..].chars().take(NEAR).collect();
            let own = *part == "不一致" || *part == "불일치";
            !DENIED.iter().any(|denied| {
                (!own && before.ends_with(denied)) || before.contains("لا ") || after.contains(denied)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_noted;

    #[test]
    fn a_contradiction_is_noted_unless_it_is_denied() {
        for (text, noted) in [
            ("Contradicted: source `b` says 9 euro.", true),
            ("The two timetables conflict with each other.", true),
            ("The sources disagree on the year.", true),
            ("Not supported; sources contradict each other.", true),
            ("No source confirms it. Source b contradicts it.", true),
            ("The two sources differ on the price.", true),
            ("This is incompatible with b.", true),
            ("It does not match source b.", true),
            ("Die Quellen widersprechen sich.", true),
            ("Les sources se contredisent.", true),
            ("Las fuentes se contradicen.", true),
            ("Le fonti si contraddicono.", true),
            ("As fontes contradizem-se.", true),
            ("De bronnen spreken elkaar tegen: tegenstrijdig.", true),
            ("Источники противоречат друг другу.", true),
            ("情報源が矛盾している。", true),
            ("来源相互矛盾。", true),
            ("출처가 서로 모순된다.", true),
            ("Sources neither support nor contradict this.", false),
            ("This does not conflict with the sources, which are silent.", false),
            ("There is nothing that would contradict it", false),
            ("Die Quellen widersprechen dem nicht.", false),
            ("Les sources ne contredisent pas cela.", false),
            ("情報源は矛盾していない。", false),
            ("没有矛盾。", false),
            ("A price list would be needed.", false),
            ("Nothing in the sources matches.", false),
            ("", false),
        ] {
            assert_eq!(is_noted(text), noted, "{text}");
        }
    }
}
