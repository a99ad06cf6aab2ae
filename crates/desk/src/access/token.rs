//! Named tokens: 256 random bits, of which only the SHA-256 is kept.
//!
//! A password is hashed slowly because people choose few of them; nobody can try 2^256 tokens, so that a fast hash
//! keeps them as safe, and every request can be checked.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use store::Store;
use tokio::time::Instant;

use super::principal::{Login, Principal, Role};
use super::secret::secret;

/// What every token begins with, so that scanners for leaked secrets can find one.
const PREFIX: &str = "gc_";

/// Whether this has the form of our tokens, and so is not meant for somebody in front of the desk.
pub(crate) fn is_ours(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// How long a token that was found is not looked up again, and so how long one lives on after it was revoked.
const KNOWN_FOR: Duration = Duration::from_secs(5);

/// So many tokens are remembered at once.
const KNOWN_AT_MOST: usize = 10_000;

/// The SHA-256 of a token.
pub fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// A token that was just made. It can be shown once; its hash is what is stored.
pub struct NewToken(String);

impl NewToken {
    /// A token from the operating system's random numbers.
    pub fn make() -> Self {
        Self(format!("{PREFIX}{}", secret()))
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }
}

impl fmt::Debug for NewToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("NewToken(..)")
    }
}

/// Looks tokens up, and remembers them for a moment.
#[derive(Debug)]
pub(crate) struct Tokens {
    store: Store,
    known: Mutex<HashMap<[u8; 32], (Instant, Principal)>>,
}

impl Tokens {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, known: Mutex::default() }
    }

    /// Whose token it is, if that was asked a moment ago.
    pub(crate) fn known(&self, hash: &[u8; 32]) -> Option<Principal> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).filter(|(until, _)| Instant::now() < *until).map(|(_, principal)| principal.clone())
    }

    /// Whose token it is; none when there is no such token in force.
    pub(crate) async fn find(&self, hash: [u8; 32]) -> store::Result<Option<Principal>> {
        let Some(token) = self.store.find_token(hash).await? else { return Ok(None) };
        let Some(role) = Role::parse(&token.role) else { return Ok(None) };
        let principal = Principal { name: token.name, role, projects: token.projects, login: Login::Token };
        let now = Instant::now();
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= KNOWN_AT_MOST {
                known.retain(|_, (until, _)| now < *until);
            }
            known.insert(hash, (now + KNOWN_FOR, principal.clone()));
        }
        if let Err(error) = self.store.note_token_use(token.id).await {
            tracing::debug!(error = %durable::chain(&error), "the use of a token could not be noted");
        }
        Ok(Some(principal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_differ_and_are_not_printed() {
        let (one, other) = (NewToken::make(), NewToken::make());
        assert_eq!(one.expose().len(), PREFIX.len() + 64);
        assert_ne!(one.hash(), other.hash());
        assert!(!format!("{one:?}").contains(&one.expose()[10..20]));
    }
}
