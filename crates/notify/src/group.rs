//! Which items make one page.

use crate::Notice;

/// The kind that items of one page have in common: project, audit kind, severity and reasons.
///
/// Severity is part of it so that a critical finding never hides in a page that was about something lesser.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kindred {
    /// The producer's project.
    pub project: String,
    /// The audit kind.
    pub kind: String,
    /// The gravest finding.
    pub severity: Option<&'static str>,
    /// Whether routing made the items urgent.
    pub urgent: bool,
    /// The codes of the reasons, joined by commas.
    pub reason: String,
}

impl Kindred {
    /// The kind of an item.
    pub fn of(notice: &Notice) -> Self {
        Self {
            project: notice.project.clone(),
            kind: notice.kind.clone(),
            severity: notice.severity.map(audit::report::Severity::as_str),
            urgent: notice.urgent,
            reason: notice.reasons.join(","),
        }
    }
}
