//! Is the markup of what is left whole? Half a pair of brackets, an open emphasis, an empty fence or element would show
//! that something is gone, or hide what follows.

/// Pairs whose halves differ.
pub(super) const NESTED: [(char, char); 12] = [
    ('(', ')'),
    ('[', ']'),
    ('{', '}'),
    ('“', '”'),
    ('«', '»'),
    ('「', '」'),
    ('『', '』'),
    ('（', '）'),
    ('【', '】'),
    ('《', '》'),
    ('〈', '〉'),
    ('［', '］'),
];

/// Marks that open and close alike.
const TWINS: [char; 4] = ['*', '_', '`', '"'];

/// Whether `left` is as whole as the `answer` that it was cut out of.
pub(super) fn is_whole(answer: &str, left: &str) -> bool {
    let (before, after) = (without_list_marks(answer), without_list_marks(left));
    let nested = NESTED.iter().all(|pair| {
        let ((stray, open), (more_stray, more_open)) =
            (count_open(&before, *pair), count_open(&after, *pair));
        more_stray <= stray && more_open <= open
    });
    let twins = TWINS.iter().all(|mark| {
        let (was, is) = (unpaired_runs(&before, *mark), unpaired_runs(&after, *mark));
        is.iter().all(|run| was.contains(run))
    });
    nested
        && twins
        && has_whole_links(&before, &after)
        && has_whole_elements(answer, left)
        && !has_empty_fence(left)
}

/// A link goes as a whole, with the brackets around its words.
fn has_whole_links(before: &str, after: &str) -> bool {
    let gone = |part: &str| before.matches(part).count().saturating_sub(after.matches(part).count());
    gone("[") >= gone("](")
}

/// List marks are no emphasis.
fn without_list_marks(text: &str) -> String {
    let bare = |line: &str| line.trim_start().trim_start_matches("* ").to_owned();
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

/// The lengths of runs of a mark that come an odd number of times in a paragraph: `*` and `**` open and close apart.
/// What stands inside a word, or alone, opens nothing.
fn unpaired_runs(text: &str, mark: char) -> Vec<usize> {
    let mut unpaired = Vec::new();
    for part in text.split("\n\n") {
        let chars: Vec<char> = part.chars().collect();
        let mut odd: Vec<usize> = Vec::new();
        let mut at = 0;
        while at < chars.len() {
            let length = chars[at..].iter().take_while(|c| **c == mark).count();
            if length > 0 {
                let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or(' ');
                let after = chars.get(at + length).copied().unwrap_or(' ');
                let is_inside = mark == '_' && before.is_alphanumeric() && after.is_alphanumeric();
                let is_alone = mark == '*' && before.is_whitespace() && after.is_whitespace();
                let open = odd.iter().position(|other| *other == length);
                match open {
                    _ if is_inside || is_alone => {}
                    Some(place) => drop(odd.remove(place)),
                    None => odd.push(length),
                }
            }
            at += length.max(1);
        }
        unpaired.extend(odd);
    }
    unpaired
}

/// How many are closed that were not opened, and opened that are not closed.
fn count_open(text: &str, (open, close): (char, char)) -> (usize, usize) {
    let (mut opened, mut stray) = (0_usize, 0_usize);
    for c in text.chars() {
        if c == open {
            opened += 1;
        } else if c == close && opened > 0 {
            opened -= 1;
        } else if c == close {
            stray += 1;
        }
    }
    (stray, opened)
}

/// A tag that was met: its name, and whether it closes.
struct Tag<'t> {
    name: &'t str,
    closes: bool,
    /// Where it begins and ends, in bytes.
    place: (usize, usize),
}

fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices('<') {
        let rest = &text[start + 1..];
        let Some(end) = rest.find('>') else { break };
        let inside = &rest[..end];
        let closes = inside.starts_with('/');
        let body = inside.trim_start_matches('/');
        let name = body.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_void = inside.ends_with('/')
            || ["br", "hr", "img", "wbr", "input", "meta", "link"]
                .contains(&name.to_ascii_lowercase().as_str());
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_void && !inside.contains('<') {
            found.push(Tag { name, closes, place: (start, start + end + 2) });
        }
    }
    found
}

/// How many tags have no partner, and whether an element has nothing in it.
fn unpaired(text: &str) -> (usize, bool) {
    let mut open: Vec<Tag<'_>> = Vec::new();
    let (mut stray, mut has_empty) = (0, false);
    for tag in tags(text) {
        if !tag.closes {
            open.push(tag);
        } else if let Some(opened) = open.pop_if(|opened| opened.name.eq_ignore_ascii_case(tag.name)) {
            has_empty |= text[opened.place.1..tag.place.0].trim().is_empty();
        } else {
            stray += 1;
        }
    }
    (stray + open.len(), has_empty)
}

fn has_whole_elements(answer: &str, left: &str) -> bool {
    let (before, had_empty) = unpaired(answer);
    let (after, has_empty) = unpaired(left);
    before == after && (had_empty || !has_empty)
}

/// A fence that holds nothing any more.
fn has_empty_fence(text: &str) -> bool {
    let mut open = false;
    let mut holds = false;
    for line in text.lines().map(str::trim) {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        if is_fence && open && !holds {
            return true;
        }
        if is_fence {
            open = !open;
            holds = false;
        } else {
            holds |= !line.is_empty();
        }
    }
    open && !holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_an_open_element_and_an_empty_fence_are_not_whole() {
        for (answer, left) in [
            ("*[The wheel](a)* turns. It is old.", "*[The wheel It is old."),
            ("<p>One.</p><p>Two.</p>", "<p>One.</p><p>"),
            ("<p>One.</p><p>Two.</p>", "<p>One.</p><p></p>"),
            ("One.\n```\nwheels\n```\n", "One.\n```\n```"),
            ("**One. Two.**", "**One."),
            ("**One.**\n\n**Two.** x", "**One.\n\nTwo.** x"),
            ("(One. Two.)", "(One."),
            ("He said \"One. Two.\"", "He said \"One."),
        ] {
            assert!(!is_whole(answer, left), "{left}");
        }
        for (answer, left) in [
            ("<p>One.</p><p>Two.</p>", "<p>One.</p>"),
            ("**One.** *Two.*", "**One.**"),
            ("3 * 4 is 12. Two.", "3 * 4 is 12."),
            ("(One.) Two.", "(One.)"),
            ("One.<br>Two.", "One."),
            ("a < b. Two.", "a < b."),
            ("1) One.\n2) Two.", "1) One."),
            ("* One.\n* Two.", "* One."),
            ("a_b.txt is old. c_d.txt is new.", "a_b.txt is old."),
        ] {
            assert!(is_whole(answer, left), "{left}");
        }
    }
}
