//! Who asks, and what they may do.
//!
//! Three ways in, each only where the configuration opens it ([`Logins`]): a named token, the word of a trusted
//! proxy, and for demonstrations nothing at all, over loopback only. Whoever it is becomes a [`Principal`];
//! [`Role::covers`] and [`Principal::may_see`] decide, and nothing else does.

use std::net::IpAddr;

mod failures;
mod guard;
mod origin;
mod principal;
mod proxy;
mod refused;
mod secret;
mod session;
mod token;

pub(crate) use failures::Failures;
pub use guard::Guard;
pub(crate) use guard::{address, guard, keep, keep_refusal, peer};
pub(crate) use origin::is_cross_site;
pub use principal::{Login, Principal, Role, is_reserved};
pub use proxy::Proxy;
pub(crate) use refused::Refused;
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
    /// Addresses of what stands in front of the desk, such as where TLS ends: what they say about where a request comes
    /// from is believed, also where they do not say who asks.
    pub fronts: Vec<IpAddr>,
    /// Whoever comes over loopback has this role and is not asked.
    pub loopback: Option<Role>,
}

impl Logins {
    /// Whether this address stands in front of the desk.
    pub(crate) fn is_front(&self, address: IpAddr) -> bool {
        self.fronts.contains(&address.to_canonical())
            || self.proxy.as_ref().is_some_and(|proxy| proxy.is_trusted(address))
    }
}
