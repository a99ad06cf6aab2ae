//! Who asks, and what they may do.
//!
//! Three ways in, each only where the configuration opens it ([`Logins`]): a named token, the word of a trusted
//! proxy, and for demonstrations nothing at all, over loopback only. Whoever it is becomes a [`Principal`];
//! [`Role::covers`] and [`Principal::may_see`] decide, and nothing else does.

mod failures;
mod guard;
mod origin;
mod principal;
mod proxy;
mod secret;
mod session;
mod token;

pub(crate) use failures::Failures;
pub use guard::Guard;
pub(crate) use guard::{address, guard, keep, peer};
pub(crate) use origin::is_cross_site;
pub use principal::{Login, Principal, Role};
pub use proxy::Proxy;
pub(crate) use secret::{hex, secret};
pub use session::Csrf;
pub(crate) use session::{session, session_cookie};
pub(crate) use token::Tokens;
pub use token::{NewToken, hash};

/// The ways in that are open.
#[derive(Debug, Clone, Default)]
pub struct Logins {
    /// Named tokens.
    pub token: bool,
    /// A proxy that says who asks.
    pub proxy: Option<Proxy>,
    /// Whoever comes over loopback has this role and is not asked.
    pub loopback: Option<Role>,
}
