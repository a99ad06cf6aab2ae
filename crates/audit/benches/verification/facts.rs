//! Made-up evidence: sentences in four languages, the same in every run and on every machine.

/// A language of the evidence, the answer and the claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Japanese,
    Thai,
    Arabic,
}

/// Numbers that look random and are not.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        // Knuth's multiplier for 64 bits; the upper half is random enough to choose words.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    pub fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.roll(words.len())]
    }
}

/// One fact: as a source has it, as the answer and the claim have it, and the two ends of a quote
/// that leaves out its middle.
pub struct Fact {
    pub evidence: String,
    pub answer: String,
    pub claim: String,
    pub ends: [String; 2],
}

const ADJECTIVES: [&str; 24] = [
    "old",
    "narrow",
    "northern",
    "public",
    "wooden",
    "busy",
    "quiet",
    "modern",
    "rural",
    "deep",
    "early",
    "annual",
    "private",
    "coastal",
    "stone",
    "heavy",
    "local",
    "broad",
    "steep",
    "former",
    "royal",
    "small",
    "well-known",
    "three-storey",
];
const NOUNS: [&str; 40] = [
    "mill",
    "harbour",
    "library",
    "bridge",
    "market",
    "school",
    "garden",
    "railway",
    "castle",
    "museum",
    "council",
    "river",
    "factory",
    "theatre",
    "lighthouse",
    "orchard",
    "canal",
    "workshop",
    "archive",
    "station",
    "reservoir",
    "monastery",
    "quarry",
    "observatory",
    "brewery",
    "ferry",
    "granary",
    "hospital",
    "tannery",
    "foundry",
    "vineyard",
    "windmill",
    "chapel",
    "barracks",
    "aqueduct",
    "warehouse",
    "shipyard",
    "courthouse",
    "printing house",
    "saltworks",
];
const VERBS: [&str; 16] = [
    "overlooks",
    "supplies",
    "replaced",
    "borders",
    "inspired",
    "outlived",
    "serves",
    "surrounds",
    "dominates",
    "resembles",
    "predates",
    "supports",
    "protects",
    "feeds",
    "crosses",
    "faces",
];
const PLACES: [&str; 20] = [
    "Harrow",
    "Ashby",
    "Thornwick",
    "Lindell",
    "Marlow",
    "Eastmere",
    "Corvin",
    "Dunholm",
    "Wexley",
    "Tarrant",
    "Oldport",
    "Fenwick",
    "Rosmere",
    "Halden",
    "Brackley",
    "Stroud",
    "Kelmar",
    "Vesper",
    "Norrington",
    "Quillan",
];
const UNITS: [&str; 10] = [
    "visitors",
    "sacks",
    "barrels",
    "volumes",
    "tickets",
    "seats",
    "crates",
    "workers",
    "litres",
    "paintings",
];

const JAPANESE: [&str; 30] = [
    "東京",
    "図書館",
    "古い",
    "港",
    "市場",
    "は",
    "が",
    "の",
    "を",
    "に",
    "毎年",
    "多くの",
    "観光客",
    "訪れる",
    "建物",
    "美術館",
    "川",
    "橋",
    "駅",
    "から",
    "近く",
    "小さな",
    "山",
    "保護する",
    "材料",
    "データ",
    "センター",
    "として",
    "有名",
    "である",
];
const THAI: [&str; 30] = [
    "ห้องสมุด",
    "สะพาน",
    "ตลาด",
    "โรงเรียน",
    "แม่น้ำ",
    "เมือง",
    "เก่า",
    "ใหม่",
    "ใหญ่",
    "เล็ก",
    "อยู่",
    "ใกล้",
    "สถานี",
    "รถไฟ",
    "และ",
    "มี",
    "นักท่องเที่ยว",
    "จำนวน",
    "มาก",
    "ทุกปี",
    "พิพิธภัณฑ์",
    "สวน",
    "ของ",
    "ภูเขา",
    "ท่าเรือ",
    "เปิด",
    "ให้บริการ",
    "ประชาชน",
    "ใน",
    "ภาคเหนือ",
];
const ARABIC: [&str; 24] = [
    "المدينة",
    "القديمة",
    "المكتبة",
    "الجسر",
    "السوق",
    "تقع",
    "قرب",
    "النهر",
    "الكبير",
    "في",
    "من",
    "على",
    "المحطة",
    "الجديدة",
    "يزورها",
    "كثير",
    "السياح",
    "المتحف",
    "الوطني",
    "الميناء",
    "الشمالي",
    "بناء",
    "حديث",
    "الحديقة",
];

impl Language {
    /// A sentence without numbers.
    pub fn filler(self, dice: &mut Dice) -> String {
        match self {
            Self::English => english_filler(dice),
            Self::Japanese => format!("{}。", run(&JAPANESE, "", 14, dice)),
            Self::Thai => format!("{} {} ", run(&THAI, "", 9, dice), run(&THAI, "", 7, dice)),
            Self::Arabic => format!("{}، {}. ", run(&ARABIC, " ", 8, dice), run(&ARABIC, " ", 6, dice)),
        }
    }

    /// Fact number `at`.
    pub fn fact(self, at: usize, dice: &mut Dice) -> Fact {
        let (year, amount) = (1500 + at * 7, 1_234 + at * 1_111);
        match self {
            Self::English => english_fact(at, year, amount, dice),
            Self::Japanese => {
                let name = run(&JAPANESE, "", 4, dice);
                let start = format!("{name}は{year}年に建てられ");
                let end = format!("{amount}人の観光客が訪れる");
                fact(start, "、「市の記録」によると、", end, "。")
            }
            Self::Thai => {
                let name = run(&THAI, "", 3, dice);
                fact(
                    format!("{name}สร้างในปี {year}"),
                    " ตาม “บันทึกของเมือง” – ",
                    format!("มีนักท่องเที่ยว {amount} คน"),
                    " ",
                )
            }
            Self::Arabic => {
                let name = run(&ARABIC, " ", 3, dice);
                fact(
                    format!("{name} بنيت عام {year}"),
                    " حسب “سجل المدينة” – ",
                    format!("ويزورها {amount} شخصا"),
                    ". ",
                )
            }
        }
    }
}

fn run(words: &[&str], between: &str, length: usize, dice: &mut Dice) -> String {
    (0..length).map(|_| dice.pick(words)).collect::<Vec<_>>().join(between)
}

fn fact(start: String, middle: &str, end: String, stop: &str) -> Fact {
    let comma = if middle.starts_with(' ') { " " } else { "、" };
    Fact {
        evidence: format!("{start}{middle}{end}{stop}"),
        answer: format!("{start}{comma}{end}{stop}"),
        claim: format!("{start}{comma}{end}"),
        ends: [start, end],
    }
}

fn english_filler(dice: &mut Dice) -> String {
    let [one, two, three] = [dice.pick(&NOUNS), dice.pick(&NOUNS), dice.pick(&NOUNS)];
    let [near, far] = [dice.pick(&ADJECTIVES), dice.pick(&ADJECTIVES)];
    let verb = dice.pick(&VERBS);
    match dice.roll(4) {
        0 => format!(
            "The {near} {one} of {} {verb} the {far} {two}, and its keeper’s house stands beside the {three}. ",
            dice.pick(&PLACES)
        ),
        1 => format!(
            "Travellers who reach the {near} {one} say that it {verb} the {two} — a “{far}” sight from the {three}. "
        ),
        2 => format!(
            "In summer the {one} {verb} a {near}  {two}; in winter only the {far} {three} stays open to the public. "
        ),
        _ => format!(
            "According to the register, no {near} {one} in the district {verb} its {far} {two} or the {three}.\n"
        ),
    }
}

fn english_fact(at: usize, year: usize, amount: usize, dice: &mut Dice) -> Fact {
    let place = PLACES[at % PLACES.len()];
    let (noun, unit) = (NOUNS[(at * 3 + at / PLACES.len()) % NOUNS.len()], UNITS[at % UNITS.len()]);
    let (adjective, page) = (dice.pick(&ADJECTIVES), 20 + at);
    let number = format!("{},{:03}", amount / 1000, amount % 1000);
    let start = format!("The {place} {noun} was rebuilt in {year} after a fire");
    let end = format!("it can take {number} {unit}");
    Fact {
        evidence: format!(
            "{start}, as the “{adjective} chronicle” tells on page {page} – since then {end}. "
        ),
        answer: format!(
            "Records show that the {place} {noun} was rebuilt in {year} after a fire, and {end} today. "
        ),
        claim: format!("The {place} {noun} was rebuilt in {year} and can take {number} {unit}."),
        ends: [start, end],
    }
}
