//! Somebody who asks, and what they may do. Pure.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::problem::Refusal;

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Looks and decides.
    Reviewer,
    /// Does everything.
    Admin,
    /// A program that asks the gate, and can do nothing else.
    Gate,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Reviewer, Self::Admin, Self::Gate];

    /// The word used in tables, configuration and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
            Self::Gate => "gate",
        }
    }

    /// The role of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Whether who has this role may do what `least` may. `gate` is no step on the ladder: a program that asks the
    /// gate reads nobody's reviews, and a reviewer spends no money on the judge.
    pub const fn covers(self, least: Self) -> bool {
        match self {
            Self::Admin => true,
            Self::Reviewer => matches!(least, Self::Reviewer | Self::Viewer),
            Self::Viewer => matches!(least, Self::Viewer),
            Self::Gate => matches!(least, Self::Gate),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// How somebody said who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// With a token in the request.
    Token,
    /// With a token before, and a cookie since.
    Session,
    /// A trusted proxy said so.
    Proxy,
    /// Not at all, over loopback.
    Loopback,
}

impl Login {
    /// Whether a browser would say so by itself, also when another site made it ask.
    pub const fn is_ambient(self) -> bool {
        !matches!(self, Self::Token)
    }
}

/// Names that mean something else where people are named: `me` and `nobody` in the lists' filter, `loopback` who was not
/// asked for a name.
const RESERVED: [&str; 3] = ["me", "nobody", "loopback"];

/// Whether nobody may have this name, since it means something else.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| name.trim().eq_ignore_ascii_case(reserved))
}

/// Somebody who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The token's name, or the user's.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Where; none for every project.
    pub projects: Option<Vec<String>>,
    /// How they said who they are.
    pub login: Login,
}

impl Principal {
    /// Whether a project is in their scope.
    pub fn may_see(&self, project: &str) -> bool {
        self.projects.as_ref().is_none_or(|projects| projects.iter().any(|it| it == project))
    }
}

/// Known to every handler behind a guard that asks for a role.
impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let known = parts.extensions.get::<Self>().cloned();
        known.ok_or_else(|| Refusal::unauthenticated("nobody is logged in"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_cover_what_stands_below_them_and_the_gate_stands_apart() {
        let covered =
            |role: Role| Role::ALL.into_iter().filter(|least| role.covers(*least)).collect::<Vec<_>>();
        assert_eq!(covered(Role::Viewer), [Role::Viewer]);
        assert_eq!(covered(Role::Reviewer), [Role::Viewer, Role::Reviewer]);
        assert_eq!(covered(Role::Admin), Role::ALL);
        assert_eq!(covered(Role::Gate), [Role::Gate]);
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Admin"), None);
    }

    #[test]
    fn a_scope_is_a_list_of_whole_names() {
        let scoped = |projects: Option<&[&str]>| Principal {
            name: "n".into(),
            role: Role::Gate,
            projects: projects.map(|it| it.iter().map(|name| (*name).to_owned()).collect()),
            login: Login::Token,
        };
        assert!(scoped(None).may_see("anything"));
        assert!(scoped(Some(&["a", "b"])).may_see("b"));
        assert!(!scoped(Some(&["a", "b"])).may_see("ab"));
        assert!(!scoped(Some(&["a"])).may_see("A"));
    }
}
