//! What groups of digits with separators are worth. Values are decimal texts, so that nothing is rounded.

/// What groups of digits mean.
#[derive(Debug, Default)]
pub(super) struct Amount {
    /// What they can mean.
    pub readings: Vec<String>,
    /// What else they confirm.
    pub also: Vec<String>,
    /// What they are made of.
    pub parts: Vec<String>,
}

impl Amount {
    fn of(readings: Vec<String>, parts: Vec<String>) -> Self {
        Self { readings, also: Vec::new(), parts }
    }
}

/// What groups of digits can mean; none when they are several numbers.
pub(super) fn amount(groups: &[Vec<char>], separators: &[char]) -> Option<Amount> {
    let whole = |groups: &[Vec<char>]| integer(&groups.concat());
    let (last, before) = groups.split_last()?;
    let Some((last_separator, earlier)) = separators.split_last() else {
        return Some(Amount::of(vec![whole(groups)], Vec::new()));
    };
    let is_grouped = |groups: &[Vec<char>]| {
        groups.len() > 1
            && groups[0].len() <= 3
            && groups[0] != ['0']
            && groups[1..].iter().all(|group| group.len() == 3)
    };
    if earlier.is_empty() {
        let fraction = decimal(&groups[0], last);
        return Some(match last_separator {
            '.' | ',' if is_grouped(groups) => Amount::of(vec![whole(groups), fraction], Vec::new()),
            '.' => {
                let (hour, minute) = (integer(&groups[0]), integer(last));
                let is_clock = last.len() == 2 && groups[0].len() <= 2;
                let also = if is_clock { vec![format!("t{hour}:{minute}")] } else { Vec::new() };
                Amount { readings: vec![fraction], also, parts: Vec::new() }
            }
            ',' => Amount::of(vec![fraction], vec![integer(&groups[0]), integer(last)]),
            _ => Amount::of(vec![whole(groups)], groups.iter().map(|group| integer(group)).collect()),
        });
    }
    let is_uniform = earlier.iter().all(|separator| separator == last_separator);
    let is_indian = *last_separator == ','
        && last.len() == 3
        && groups[0].len() <= 2
        && before[1..].iter().all(|group| group.len() == 2);
    if is_uniform && (is_grouped(groups) || is_indian) {
        return Some(Amount::of(vec![whole(groups)], Vec::new()));
    }
    if is_uniform && *last_separator == '.' {
        let version: Vec<String> = groups.iter().map(|group| integer(group)).collect();
        return Some(Amount::of(vec![version.join(".")], version));
    }
    let has_decimals = matches!(last_separator, '.' | ',')
        && earlier.iter().all(|separator| separator != last_separator)
        && is_grouped(before);
    has_decimals.then(|| Amount::of(vec![decimal(&before.concat(), last)], Vec::new()))
}

pub(super) fn integer(digits: &[char]) -> String {
    let text: String = digits.iter().collect();
    let trimmed = text.trim_start_matches('0');
    if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() }
}

pub(super) fn decimal(whole: &[char], fraction: &[char]) -> String {
    let fraction: String = fraction.iter().collect();
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { integer(whole) } else { format!("{}.{fraction}", integer(whole)) }
}

/// Moves the decimal point to the right.
pub(super) fn shift(value: &str, places: usize) -> String {
    if !value.starts_with(|c: char| c.is_ascii_digit()) {
        return value.to_owned();
    }
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let mut digits: Vec<char> = fraction.chars().collect();
    digits.resize(digits.len().max(places), '0');
    let moved: Vec<char> = whole.chars().chain(digits.drain(..places)).collect();
    decimal(&moved, &digits)
}

pub(super) fn divide_by_hundred(value: &str) -> String {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let padded: Vec<char> = format!("{whole:0>3}").chars().collect();
    let (left, right) = padded.split_at(padded.len() - 2);
    let right: Vec<char> = right.iter().copied().chain(fraction.chars()).collect();
    decimal(left, &right)
}

/// The hour on a clock of 24 hours.
pub(super) fn on_clock(hour: u32, is_pm: bool) -> u32 {
    match (hour, is_pm) {
        (12, false) => 0,
        (1..12, true) => hour + 12,
        _ => hour,
    }
}
