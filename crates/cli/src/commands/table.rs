//! Lists for people: columns as wide as their content. A last column that does not fit moves below its row.

use crate::{output, terminal};

/// How far what stands below a row is moved in.
const INDENT: usize = 4;

/// The lines of a table whose first row is its head. Cells must be fit for a terminal.
pub(crate) fn lines<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    lines_within(output::columns(), head, rows)
}

fn lines_within<const N: usize>(columns: usize, head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            let cells = rows.iter().map(|row| terminal::width(&row[column]));
            cells.chain([terminal::width(head[column])]).max().unwrap_or(0)
        })
        .collect();
    let is_narrow = widths.iter().map(|width| width + 2).sum::<usize>() <= columns + 2;
    let head = head.map(str::to_owned);
    std::iter::once(&head).chain(rows).flat_map(|row| line(row, &widths, is_narrow, columns)).collect()
}

fn line(cells: &[String], widths: &[usize], is_narrow: bool, columns: usize) -> Vec<String> {
    let beside = if is_narrow { cells.len() } else { cells.len().saturating_sub(1) };
    let row: String =
        cells[..beside].iter().zip(widths).map(|(cell, width)| terminal::pad(cell, *width) + "  ").collect();
    let below = cells[beside..]
        .iter()
        .map(|cell| format!("{}{}", " ".repeat(INDENT), terminal::cut(cell, columns - INDENT)));
    std::iter::once(row.trim_end().to_owned()).chain(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "x".to_owned()], ["横浜".to_owned(), "y".to_owned()]];
        assert_eq!(lines_within(60, ["id", "text"], &rows), ["id    text", "a     x", "横浜  y"]);
    }

    #[test]
    fn a_last_column_that_does_not_fit_moves_below() {
        let rows = [["a".to_owned(), "x".repeat(200)], ["b".to_owned(), "y".to_owned()]];
        let lines = lines_within(60, ["id", "text"], &rows);
        assert_eq!(lines[..3], ["id", "    text", "a"]);
        assert_eq!((terminal::width(&lines[3]), lines[3].chars().last()), (60, Some('…')));
        assert_eq!(lines[4..], ["b", "    y"]);
    }
}
