//! The HTTP clients that a judge is asked with.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Client;

use crate::{dialect::HttpVersion, judge::JudgeSetupError, profile::Profile};

const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a connection of HTTP/2 may be silent before it is asked whether it lives.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// How long its answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls that one connection of HTTP/2 carries at once: no server should allow fewer (RFC 9113, section 6.5.2).
const CALLS_PER_CONNECTION: usize = 100;

/// The HTTP client that a judge of this profile is asked with: whoever only wants to know whether it can be reached
/// should find out in the same way.
///
/// # Errors
/// When it could not be built, for instance because the authorities are no certificates.
pub fn client(profile: &Profile) -> Result<Client, JudgeSetupError> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing the race against another thread means that there is a provider, which is all we want.
        let _lost_race = rustls::crypto::ring::default_provider().install_default();
    }
    let mut builder = Client::builder()
        .user_agent(concat!("groundcrew/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(profile.connect_timeout())
        .read_timeout(profile.read_timeout())
        // Many servers drop idle connections after five seconds; a question sent into such a closing door is
        // lost, and a new connection costs little beside an answer.
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        // A connection that many calls share must not die unseen: its calls would wait for their time-outs, and so
        // would the next ones.
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        // A redirect would turn the POST into a GET or carry the question to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Every call is counted and stored by its caller, so nothing is repeated in secret.
        .retry(reqwest::retry::never());
    builder = match profile.settings().http_version {
        HttpVersion::Auto => builder,
        HttpVersion::Http1 => builder.http1_only(),
        HttpVersion::Http2 => builder.http2_prior_knowledge(),
    };
    if profile.is_loopback() {
        builder = builder.no_proxy();
    }
    if profile.endpoint().scheme() == "http" && profile.settings().authorities.is_none() {
        // Without this a machine without CA certificates could not even talk to its own loopback.
        builder = builder.tls_certs_only([]);
    }
    if let Some(authorities) = &profile.settings().authorities {
        let certificates = reqwest::Certificate::from_pem_bundle(authorities.as_bytes());
        builder = builder.tls_certs_merge(certificates.map_err(JudgeSetupError::Client)?);
    }
    builder.build().map_err(JudgeSetupError::Client)
}

/// As many clients as the calls need.
///
/// Over HTTP/2 a client has one connection, whatever waits for it, and the server says how many calls that carries at
/// once; more would wait unseen while their time runs. So each client gets only as many as every server takes.
#[derive(Debug)]
pub(crate) struct Clients {
    /// Does the work of those that cannot be made.
    first: Client,
    lines: Box<[Line]>,
}

#[derive(Debug, Default)]
struct Line {
    client: OnceLock<Client>,
    calls: AtomicUsize,
}

impl Clients {
    /// Clients for so many calls at once.
    ///
    /// # Errors
    /// When none can be built.
    pub(crate) fn new(profile: &Profile, calls: usize) -> Result<Self, JudgeSetupError> {
        let first = client(profile)?;
        // One of HTTP/1.1 has as many connections as it has calls.
        let count = match profile.may_speak_http2() {
            true => calls.div_ceil(CALLS_PER_CONNECTION).max(1),
            false => 1,
        };
        let lines: Box<[Line]> = (0..count).map(|_| Line::default()).collect();
        Ok(Self { first, lines })
    }

    /// A client with room for one more call.
    pub(crate) fn take(&self, profile: &Profile) -> Taken<'_> {
        let has_room = |line: &&Line| {
            let one_more = |calls| (calls < CALLS_PER_CONNECTION).then_some(calls + 1);
            line.calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
        };
        let nearest = &self.lines[0];
        let line = self.lines.iter().find(has_room).unwrap_or_else(|| {
            nearest.calls.fetch_add(1, Ordering::Relaxed);
            nearest
        });
        // Further clients are made when they are needed, as the first one was.
        let make = || match std::ptr::eq(line, nearest) {
            true => self.first.clone(),
            false => client(profile).unwrap_or_else(|_| self.first.clone()),
        };
        Taken { client: line.client.get_or_init(make).clone(), line }
    }
}

/// A client while it makes one call.
#[derive(Debug)]
pub(crate) struct Taken<'a> {
    client: Client,
    line: &'a Line,
}

impl Taken<'_> {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.line.calls.fetch_sub(1, Ordering::Relaxed);
    }
}
