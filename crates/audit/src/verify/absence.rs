//! Words by which a judge says that there is nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::text::fixed::Quick;
use crate::text::fold::{Case, fold};
use crate::text::{denies, words};

const PHRASES: &str = "|no|none|null|nil|n/a|na|n.a|not applicable|not available|not found|not provided|not specified|\
    not mentioned|not stated|not present|not in context|not in the context|not in evidence|\
    not in the evidence|undefined|unknown|missing|absent|empty|nothing|nothing found|no evidence|\
    no evidence found|no evidence provided|no evidence available|no evidence exists|\
    no evidence in context|no evidence in the context|no evidence in the retrieved context|\
    no evidence found in context|no evidence found in the context|no such evidence|there is no evidence|\
    there is none|no supporting evidence|no supporting evidence found|no supporting passage|\
    no supporting passage found|no supporting text|no support|no support found|no direct evidence|\
    no direct support|no relevant evidence|no relevant evidence found|no contradicting evidence|\
    no contradicting evidence found|no contradictory evidence|no contradictory evidence found|\
    no contradicting passage|no contradicting passage found|no contradiction|no contradiction found|\
    no contradictions|no contradictions found|no conflicting evidence|no passage|no passage found|\
    no quote|no quote found|no source|no source found|no match|no match found|no mention|no information|\
    no information found|no data|none found|none available|none provided|evidence not found|\
    source not found|absence of evidence|unsupported|keine|keiner|keins|kein beleg|keine belege|\
    keine belege gefunden|kein nachweis|nicht gefunden|nicht vorhanden|aucun|aucune|aucune preuve|\
    aucune preuve trouvée|aucun élément|non trouvé|néant|ninguno|ninguna|ninguna evidencia|sin evidencia|\
    no se encontró evidencia|no encontrado|no disponible|nessuno|nessuna|nessuna prova|nessuna evidenza|\
    non trovato|nenhum|nenhuma|nenhuma evidência|sem evidência|não encontrado|geen|geen bewijs|\
    niet gevonden|нет|не найдено|нет доказательств|отсутствует|なし|無し|該当なし|証拠なし|根拠なし|无|無|没有|沒有|没有证据|无证据|\
    未找到|未找到证据|无相关证据|없음|해당 없음|증거 없음|لا يوجد|لا شيء|لا يوجد دليل|غير موجود|कोई नहीं|कोई प्रमाण नहीं|ไม่มี|\
    ไม่พบ|không có|tidak ada|yok|brak";

/// Whether a text says that there is nothing, whatever brackets, marks and case it does so in.
pub fn is_absent(text: &str) -> bool {
    static KNOWN: LazyLock<HashSet<&str, Quick>> = LazyLock::new(|| PHRASES.split('|').collect());
    // A long text is no such phrase, and need not be folded.
    if text.len() > 200 {
        return false;
    }
    let folded = fold(text, Case::Folded);
    let bare = folded.trim_matches(|c: char| !c.is_alphanumeric());
    KNOWN.contains(bare)
}

/// What a judge calls the evidence; `*` ends the beginning of a word.
const EVIDENCE: &str = "evidence context* source* chunk* document* docs doc passage* excerpt* text texts reference* retriev* \
    material* snippet* provided given corpus knowledge beleg* quelle* kontext* dokument* textstelle* abschnitt* auszug* \
    nachweis* preuve* contexte* extrait* texte* evidencia* contexto* fuente* documento* fragmento* texto* pasaje* prova \
    prove contesto* fonte* fonti brano* testo* evidência* trecho* bewijs* bron bronnen tekst* контекст* источник* документ* \
    отрывк* фрагмент* текст* kontekst* źródł* fragment* bağlam* kaynak* belge*";

/// How it says that something stands there, or does not.
const SAYING: &str = "mention* state stated states stating contain* say says said specif* provid* support* includ* discuss* \
    address* describ* cover* indicat* confirm* refer* find found contradict* available present exist* appear* inform* \
    evidence detail* quote match* data silent addressed touch* relevant erwähn* nenn* genannt* enthalt* enthält* steht* \
    sagt* angeg* angab* beleg* bestätig* widerspr* gefunden finde* vorhanden* information* hinweis* mentionn* indiqu* \
    contien* contenu* précis* trouv* confirm* contredi* figure* mencion* indic* encontr* encuentr* contradi* contradice* \
    dispon* menzion* trov* conferm* contradd* specific* conté* contêm* especific* vermeld* noemt genoemd* bevat* staat \
    gevonden bevestig* tegenspr* beschikbaar упомин* указ* содерж* говор* найд* подтвер* противореч* информац* wspomin* \
    podan* podaje zawier* znalezion* potwier* informacj* belirt* geçm* bahs* bulun*";

/// The same in scripts where words are not parted, or are one with their denial.
const SENTENCES: &str = "未提及|没有提及|没提及|未提到|没有提到|未说明|没有说明|未找到|没有找到|无相关|没有相关|未包含|不包含|没有证据|未提供|\
    没有提供|沒有提到|沒有提及|未載明|記載がな|記載はな|記載されていな|記載されていませ|記載はありませ|記載がありませ|言及されていな|\
    言及されていませ|言及がな|言及はな|言及はありませ|言及していな|言及していませ|見つかりませ|見つからな|情報はありませ|情報がありませ|\
    情報はな|根拠はありませ|根拠がありませ|証拠はありませ|述べられていな|述べられていませ|書かれていな|書かれていませ|示されていな|\
    언급되지 않|언급하지 않|언급이 없|언급되어 있지 않|나와 있지 않|찾을 수 없|포함되어 있지 않|정보가 없|증거가 없|근거가 없|\
    ไม่ได้กล่าวถึง|ไม่มีการกล่าวถึง|ไม่มีข้อมูล|ไม่ได้ระบุ|ไม่พบข้อมูล|لا يذكر|لا تذكر|لم يذكر|لم تذكر|لا يوجد دليل|لا توجد معلومات|\
    لا يحتوي|لا تحتوي|لم يرد|غير مذكور|उल्लेख नहीं|जानकारी नहीं|प्रमाण नहीं|לא מוזכר|לא מצוין|אין מידע|không đề cập|không nêu|\
    không có thông tin|không được nhắc|tidak disebutkan|tidak menyebutkan|tidak ada informasi|tidak ada bukti|belirtilmemiş|\
    bahsedilm|bahsetm|bilgi yok|kanıt yok|yer almıyor|yer almamakta";

/// Whether a text is a sentence about the evidence that says it is silent: "None of the chunks say when it opens.". Such
/// words can also stand in the evidence itself, so that they have to be looked for there first.
pub fn says_absent(text: &str) -> bool {
    /// A longer text says more than that.
    const LONGEST: usize = 400;
    /// How far behind a denial at the beginning the word may stand that it denies: "No further mention of it".
    const REACH: usize = 4;
    if text.len() > LONGEST {
        return false;
    }
    let folded = fold(text, Case::Folded);
    if !folded.is_ascii() && SENTENCES.split('|').any(|sentence| folded.contains(sentence)) {
        return true;
    }
    let words = words(text);
    let says = |word: &String| is_listed(word, SAYING);
    let denial = words
        .iter()
        .position(|word| denies(word) || matches!(word.as_str(), "lacks" | "lack" | "silent" | "n" | "na"));
    let Some(denial) = denial.filter(|_| words.iter().any(says)) else { return false };
    let opens_with_denial = denial < 2 && words.iter().skip(denial).take(REACH).any(says);
    opens_with_denial || words.iter().any(|word| is_listed(word, EVIDENCE))
}

/// Whether a word is on a list of words and of beginnings of words.
fn is_listed(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| match known.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == known,
    })
}

#[cfg(test)]
mod tests {
    use super::{is_absent, says_absent};

    #[test]
    fn sentences_that_say_the_evidence_is_silent() {
        for text in [
            "The evidence does not mention this.",
            "The evidence doesn’t mention this",
            "\"Not stated in the sources.\"",
            "[None of the chunks say when it opens]",
            "No mention of parking in the context.",
            "N/A - not mentioned in the sources",
            "The provided context does not contain information about parking.",
            "No direct contradiction, but not mentioned.",
            "The sources are silent on the price.",
            "Keine der Quellen erwähnt den Preis.",
            "Die Belege nennen keinen Preis.",
            "Aucune source ne mentionne le prix.",
            "Ninguna fuente menciona el precio.",
            "Nessuna fonte menziona il prezzo.",
            "As fontes não mencionam o preço.",
            "Geen van de bronnen vermeldt de prijs.",
            "В источниках цена не упоминается.",
            "资料中未提及价格。",
            "資料には価格の記載がありません。",
            "자료에 가격이 언급되어 있지 않습니다.",
            "لا تذكر المصادر السعر.",
        ] {
            assert!(says_absent(text), "{text}");
        }
    }

    #[test]
    fn statements_about_the_world_are_none() {
        for text in [
            "Dogs are not allowed on trams.",
            "No dogs are allowed.",
            "The pool is closed on Mondays.",
            "The context of the treaty was war.",
            "The museum mentions the flood of 1911.",
            "Nobody was hurt.",
            "犬は利用できません。",
        ] {
            assert!(!says_absent(text), "{text}");
        }
    }

    #[test]
    fn phrases_in_any_dress() {
        for text in [
            "NO EVIDENCE FOUND",
            "none",
            "None.",
            "n/a",
            "N/A",
            "[null]",
            "(not found)",
            "-",
            "—",
            "",
            "  ",
            "\"none\"",
            "...",
            "なし",
            "“No supporting evidence.”",
            "**None**",
        ] {
            assert!(is_absent(text), "{text}");
        }
        for text in ["None of the mills turn", "no evidence of rain", "B12", "0", "null hypothesis"] {
            assert!(!is_absent(text), "{text}");
        }
    }
}
