//! Words by which a judge says that there is nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::text::fixed::Quick;
use crate::text::fold::{Case, fold};

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

#[cfg(test)]
mod tests {
    use super::is_absent;

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
