//! How to reach the database.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::store::WRITERS;
use crate::{Error, Result};

/// The largest batch that makes sense: beyond it a transaction only grows, and with it what one bad
/// row costs.
const LARGEST_BATCH: usize = 1_000;

/// How to reach the database, and how long the server may take for anything.
///
/// The time-outs are the server's. A time-out around a future on our side would drop transactions, see the
/// crate's own page.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// `postgres://user:password@host:port/database`. Not shown by `Debug`.
    pub url: String,
    /// A file with the certificates, as PEM, of the authorities that may have signed the server's certificate; none
    /// for those that the system trusts.
    pub ca_file: Option<PathBuf>,
    /// Connections at most, 4 at least: the writers may hold three.
    pub max_connections: u32,
    /// How long a call waits for a connection, the time to make one included.
    pub acquire_timeout: Duration,
    /// How long one statement may run.
    pub statement_timeout: Duration,
    /// How long one statement may wait for a lock; less than `statement_timeout` to be of use.
    pub lock_timeout: Duration,
    /// How long a transaction may be idle: a worker that was frozen must not hold locks.
    pub idle_in_transaction_timeout: Duration,
    /// The name that `pg_stat_activity` shows.
    pub application_name: String,
    /// Audits per transaction and lookups per query at most, 1 to 1000; 64 to 200 is the useful range.
    pub batch_max: usize,
}

impl Settings {
    /// Settings for a database, with defaults for the rest.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ca_file: None,
            max_connections: 10,
            acquire_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(10),
            idle_in_transaction_timeout: Duration::from_secs(30),
            application_name: "groundcrew".to_owned(),
            batch_max: 128,
        }
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |why: String| Err(Error::Settings(why));
        // The writers, and one for everything else.
        let least = u32::try_from(WRITERS + 1).unwrap_or(u32::MAX);
        if self.max_connections < least {
            return refuse(format!(
                "max_connections is {}, at least {least} are needed",
                self.max_connections
            ));
        }
        if !(1..=LARGEST_BATCH).contains(&self.batch_max) {
            return refuse(format!("batch_max is {}, expected 1 to {LARGEST_BATCH}", self.batch_max));
        }
        let timeouts = [
            ("acquire_timeout", self.acquire_timeout),
            ("statement_timeout", self.statement_timeout),
            ("lock_timeout", self.lock_timeout),
            ("idle_in_transaction_timeout", self.idle_in_transaction_timeout),
        ];
        // The server takes 0 for "for ever".
        match timeouts.iter().find(|(_, timeout)| timeout.as_millis() == 0) {
            Some((name, _)) => refuse(format!("{name} must be at least a millisecond")),
            None => Ok(()),
        }
    }

    /// Where to connect, without time-outs.
    pub(crate) fn address(&self) -> Result<PgConnectOptions> {
        // sqlx takes any scheme.
        if !["postgres://", "postgresql://"].iter().any(|scheme| self.url.starts_with(scheme)) {
            return Err(Error::Settings("the URL does not begin with postgres://".to_owned()));
        }
        let options = PgConnectOptions::from_str(&self.url)
            .map_err(|error| Error::Settings(format!("the URL is not a Postgres URL ({error})")))?;
        let mut options = options.application_name(&self.application_name);
        if !self.names_ssl_mode() && (self.ca_file.is_some() || !is_near(&options)) {
            // Otherwise the client would take any certificate, or none.
            options = options.ssl_mode(PgSslMode::VerifyFull);
        }
        if let Some(file) = &self.ca_file {
            options = options.ssl_root_cert(file);
        }
        Ok(options)
    }

    fn names_ssl_mode(&self) -> bool {
        let query = self.url.split_once('?').map(|(_, query)| query).unwrap_or_default();
        query.split('&').any(|pair| pair.starts_with("sslmode=") || pair.starts_with("ssl-mode="))
    }

    /// Where to connect, with the server's time-outs.
    pub(crate) fn options(&self) -> Result<PgConnectOptions> {
        let ms = |timeout: Duration| timeout.as_millis().to_string();
        Ok(self.address()?.options([
            ("statement_timeout", ms(self.statement_timeout)),
            ("lock_timeout", ms(self.lock_timeout)),
            ("idle_in_transaction_session_timeout", ms(self.idle_in_transaction_timeout)),
        ]))
    }
}

/// Whether nothing of the way to the server is a network.
fn is_near(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = PgConnectOptions::from_str(&self.url).map_or_else(
            |_| "[not a URL]".to_owned(),
            |options| {
                let database = options.get_database().unwrap_or_default();
                format!("postgres://[redacted]@{}:{}/{database}", options.get_host(), options.get_port())
            },
        );
        formatter
            .debug_struct("Settings")
            .field("url", &place)
            .field("max_connections", &self.max_connections)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("idle_in_transaction_timeout", &self.idle_in_transaction_timeout)
            .field("application_name", &self.application_name)
            .field("batch_max", &self.batch_max)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for url in ["postgres://me:s3cret@db:5433/audits", "postgres://db/audits?password=s3cret", "s3cret"] {
            let shown = format!("{:?}", Settings::new(url));
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        assert!(format!("{:?}", Settings::new("postgres://me:x@db:5433/audits")).contains("db:5433/audits"));
    }

    #[test]
    fn a_server_beyond_this_host_is_verified_unless_the_url_says_otherwise() {
        let mode = |url: &str, ca_file: Option<&str>| {
            let settings = Settings { ca_file: ca_file.map(Into::into), ..Settings::new(url) };
            format!("{:?}", settings.options().unwrap().get_ssl_mode())
        };
        assert_eq!(mode("postgres://me@db.example/audits", None), "VerifyFull");
        assert_eq!(mode("postgres://me@10.0.0.7/audits?connect_timeout=1", None), "VerifyFull");
        assert_eq!(mode("postgres://me@db.example/audits?sslmode=disable", None), "Disable");
        assert_eq!(mode("postgres://me@db.example/audits?sslmode=verify-ca", Some("/ca.pem")), "VerifyCa");
        for near in
            ["postgres://me@localhost/audits", "postgres://me@127.0.0.1:5433/audits", "postgres://me@[::1]/a"]
        {
            assert_eq!(mode(near, None), "Prefer", "{near}");
            assert_eq!(mode(near, Some("/ca.pem")), "VerifyFull", "{near}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let url = "postgres://db/audits";
        assert!(Settings::new(url).check().is_ok());
        assert!(Settings { max_connections: 3, ..Settings::new(url) }.check().is_err());
        assert!(Settings { batch_max: 0, ..Settings::new(url) }.check().is_err());
        assert!(Settings { lock_timeout: Duration::ZERO, ..Settings::new(url) }.check().is_err());
        assert!(Settings::new("mysql://db").options().is_err());
    }
}
