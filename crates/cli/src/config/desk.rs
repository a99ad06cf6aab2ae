//! The sections `[desk]`, `[gate]` and `[review]`: as they are written, and as they are used.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use desk::access::{Logins, Proxy, Role};
use serde::Deserialize;

use super::bounded::{Seconds, Whole};
use super::key::Key;
use super::sources::Sources;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Desk {
    pub(crate) listen: String,
    pub(crate) login: Vec<Login>,
    pub(crate) proxy_addresses: Vec<String>,
    pub(crate) proxy_user_header: String,
    pub(crate) proxy_role_header: String,
    pub(crate) proxy_projects_header: String,
    pub(crate) proxy_role: Role,
    pub(crate) loopback_role: Role,
    pub(crate) max_body_bytes: Whole<1024, 134_217_728>,
    pub(crate) drain_deadline_s: Seconds<1, 86_400_000>,
}

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Login {
    Token,
    Proxy,
    Loopback,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gate {
    pub(crate) max_calls: Whole<1, 10_000>,
    pub(crate) deadline_s: Seconds<1, 3_600_000>,
    pub(crate) max_deadline_s: Seconds<1, 3_600_000>,
    pub(crate) parallel: Whole<1, 100>,
    pub(crate) part_chars: Whole<1, 1_000_000>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Review {
    pub(crate) lease_s: Seconds<30_000, 86_400_000>,
    pub(crate) session_h: Whole<1, 720>,
    pub(crate) due_urgent_m: Whole<1, 525_600>,
    pub(crate) due_critical_m: Whole<1, 525_600>,
    pub(crate) due_major_m: Whole<1, 525_600>,
    pub(crate) due_other_m: Whole<1, 525_600>,
}

fn key(name: &str) -> Key {
    Key::new(&["desk", name])
}

/// Where the desk listens, and who gets in. What is wrong is noted.
pub(super) fn listen_and_logins(raw: &Desk, sources: &mut Sources) -> (SocketAddr, Logins) {
    let listen = raw.listen.trim().parse().unwrap_or_else(|_| {
        sources.note(&key("listen"), "expected an address and a port, such as 127.0.0.1:8090".into());
        SocketAddr::from(([127, 0, 0, 1], 0))
    });
    if raw.login.is_empty() {
        sources.note(&key("login"), "expected at least one of token, proxy, loopback".into());
    }
    let is_open = raw.login.contains(&Login::Loopback);
    if is_open && !listen.ip().is_loopback() {
        let message = format!(
            "loopback asks nobody who they are, and desk.listen ({listen}) can be reached from other machines; \
             listen on 127.0.0.1, or use token or proxy"
        );
        sources.note(&key("login"), message);
    }
    let fronts = fronts(raw, sources);
    let logins = Logins {
        token: raw.login.contains(&Login::Token),
        proxy: raw.login.contains(&Login::Proxy).then(|| proxy(raw, fronts.clone(), sources)).flatten(),
        fronts,
        loopback: is_open.then_some(raw.loopback_role),
    };
    (listen, logins)
}

/// What stands in front of the desk. It says where requests come from, whether or not it says who asks.
fn fronts(raw: &Desk, sources: &mut Sources) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for text in &raw.proxy_addresses {
        match text.trim().parse::<IpAddr>() {
            Ok(address) => addresses.push(address.to_canonical()),
            Err(_) => {
                let message = "expected addresses such as 10.0.0.7, each of one proxy".into();
                sources.note(&key("proxy_addresses"), message);
            }
        }
    }
    addresses
}

fn proxy(raw: &Desk, addresses: Vec<IpAddr>, sources: &mut Sources) -> Option<Proxy> {
    if addresses.is_empty() {
        let message = "names no proxy: with login = proxy its addresses must be listed".into();
        sources.note(&key("proxy_addresses"), message);
    }
    if raw.proxy_user_header.trim().is_empty() {
        sources.note(&key("proxy_user_header"), "expected the name of a header".into());
    }
    let mut header = |name: &str, text: &str| {
        let text = text.trim().to_ascii_lowercase();
        if text.is_empty() {
            return None;
        }
        let parsed = text.parse().ok();
        if parsed.is_none() {
            sources.note(&key(name), "expected the name of a header".into());
        }
        parsed
    };
    Some(Proxy {
        addresses,
        user_header: header("proxy_user_header", &raw.proxy_user_header)?,
        role_header: header("proxy_role_header", &raw.proxy_role_header),
        projects_header: header("proxy_projects_header", &raw.proxy_projects_header),
        role: raw.proxy_role,
    })
}

/// How the gate works. What is wrong is noted.
pub(super) fn gate(raw: &Gate, sources: &mut Sources) -> desk::GateSettings {
    if raw.deadline_s.get() > raw.max_deadline_s.get() {
        let most = raw.max_deadline_s.get().as_secs_f64();
        let message = format!("must not be longer than gate.max_deadline_s, which is {most}");
        sources.note(&Key::new(&["gate", "deadline_s"]), message);
    }
    desk::GateSettings {
        max_calls: raw.max_calls.count(),
        deadline: raw.deadline_s.get(),
        max_deadline: raw.max_deadline_s.get(),
        parallel: raw.parallel.count(),
        part_chars: raw.part_chars.count(),
    }
}

/// How reviews work. What is wrong is noted.
pub(super) fn review(raw: &Review, sources: &mut Sources) -> desk::ReviewSettings {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let due = [
        ("due_critical_m", raw.due_urgent_m.get(), raw.due_critical_m.get(), "due_urgent_m"),
        ("due_major_m", raw.due_critical_m.get(), raw.due_major_m.get(), "due_critical_m"),
        ("due_other_m", raw.due_major_m.get(), raw.due_other_m.get(), "due_major_m"),
    ];
    for (name, sooner, later, before) in due {
        if later < sooner {
            let message = format!("must not be shorter than review.{before}, which is {sooner}");
            sources.note(&Key::new(&["review", name]), message);
        }
    }
    desk::ReviewSettings {
        lease: raw.lease_s.get(),
        session: minutes(raw.session_h.get() * 60),
        due: desk::Due {
            urgent: minutes(raw.due_urgent_m.get()),
            critical: minutes(raw.due_critical_m.get()),
            major: minutes(raw.due_major_m.get()),
            other: minutes(raw.due_other_m.get()),
        },
    }
}
