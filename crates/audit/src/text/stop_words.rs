//! Words that carry no content of their own. A word that is a noun or verb in another listed
//! language is left out: to miss a stop word costs little, to lose a content word costs more.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::fixed::Quick;

const ENGLISH: &str = "a an the this that these those some any each every all both either neither no not nor and or \
    but if then else than as at by for from in into of off on onto out over to up down with within without about \
    above across after against along among around before behind below beneath beside besides between beyond during \
    except inside like near since through throughout toward towards under until unto upon via while where when why \
    how what which who whom whose i me my mine we us our ours you your yours he him his she her hers it its they \
    them their theirs myself itself himself herself themselves ourselves yourself am is are was were be been being \
    do does did done doing have has had having can could may might must shall should will would ought need cannot \
    there here also too very just only even still yet again ever never so such because due however therefore thus \
    hence although though whether more most less least much many few other another same own per etc e.g i.e don \
    doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain ll ve re s t d m";
const GERMAN: &str = "der dem das ein eine einer eines einem einen und oder aber nicht kein keine ist sind waren wird \
    werden wurde wurden sein seine seiner ihr ihre ihrer im am zum zur von vom mit bei nach aus auf für über unter \
    zwischen durch gegen ohne um bis seit dass daß wenn weil als auch noch nur sehr schon wie wo ich du er sie es wir \
    haben hatte hatten kann können muss müssen soll sollen";
const FRENCH: &str = "le la les un une du des au aux et ou mais ne pas dans par avec sans sous vers chez entre ce cet \
    cette ces qui que quoi dont où est sont était étaient être avoir ont avait il elle ils elles nous vous leur leurs \
    son sa ses se si aussi très";
const SPANISH: &str = "el los las una unos unas del al y o pero no en por con para como que quien cuyo es son era eran \
    fue fueron ser estar está están ha han había hay su sus lo le les se ya muy también más";
const ITALIAN: &str = "il lo gli uno della dello delle degli dei al alla alle ai nel nella nelle nei dal dalla con per \
    tra fra che chi cui è sono erano essere avere hanno aveva ha suo sua suoi loro si non anche più molto";
const PORTUGUESE: &str = "os um uma uns umas da do das dos na nas nos pelo pela com por que é são foi foram ser estar \
    está têm tem seu sua seus suas ao aos às não também mais muito e";
const DUTCH: &str = "het een van op te aan met voor door naar uit bij om niet geen zijn wordt worden werd werden heeft \
    hebben er dat dit deze die ook nog wel zich hun haar wij jij";
const RUSSIAN: &str = "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по её мне было от \
    из о об при для или это был была были быть";
const ARABIC: &str = "في من على إلى عن مع هذا هذه ذلك التي الذي كان كانت هو هي أن إن لا ما و أو";
const HINDI: &str = "का की के को में से पर और है हैं था थे थी यह वह एक ने भी कि";
const CHINESE: &str = "的 了 是 在 和 与 與 及 或 也 都 就 不 有 这 這 那 为 為 以 于 於 由 从 從 到 对 對 把 被 而 但 之 其 着 地 得 个 個";
const JAPANESE: &str = "は が を に の と で も へ や から まで より です ます する した して いる ある こと もの ため よう という";
const THAI: &str = "ที่ ของ และ เป็น มี ใน ไม่ ได้ จะ ให้ กับ จาก ว่า นี้ นั้น ก็ แต่ หรือ อยู่ โดย เพื่อ";
const KOREAN: &str = "은 는 이 가 을 를 의 에 에서 와 과 도 로 으로 그 및 등";

static ALL: LazyLock<HashSet<&str, Quick>> = LazyLock::new(|| {
    let lists = [
        ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, RUSSIAN, ARABIC, HINDI, CHINESE,
        JAPANESE, THAI, KOREAN,
    ];
    lists.iter().flat_map(|list| list.split_whitespace()).collect()
});

/// Whether a folded word carries no content of its own.
pub fn is_stop_word(word: &str) -> bool {
    ALL.contains(word)
}
