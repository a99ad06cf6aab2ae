use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lapin::uri::AMQPUri;

use crate::error::Error;
use crate::names::{Lane, Source};

/// What an operator may choose. [`Settings::new`] checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How this process is called in the broker's list of connections.
    pub name: String,
    /// Heartbeat interval, seconds, 1 to 600. A dead peer is noticed after about two of them.
    pub heartbeat_s: u16,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long one publish may take, waiting for a connection and a channel included.
    pub publish_timeout: Duration,
    /// How long an ack, a requeue or another answer on an open channel may take.
    pub settle_timeout: Duration,
    /// The delays of the retry tiers, shortest first, whole milliseconds.
    pub retry_tiers: Vec<Duration>,
    /// How often the broker may deliver a message again before it gives up on it, at least 1.
    ///
    /// RabbitMQ 3.10 to 4.2 also count what a shutdown hands back, so this is well above the number of
    /// deployments that a message may live through. It is a seat belt: retries are counted by the worker.
    pub delivery_limit: u32,
    /// How many unsettled deliveries one consumer may hold.
    pub prefetch: Prefetch,
    /// How many publishes may be in flight at once, 1 to 64.
    pub publish_channels: usize,
    /// After this time without a delivery a consumer that has room for one looks whether messages wait; see
    /// [`crate::Consumer`].
    pub watchdog: Duration,
    /// Certificates of authorities, as PEM, that an `amqps://` broker may be signed by besides those that the system
    /// trusts. The broker's certificate and name are verified in any case.
    pub authorities: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "groundcrew".into(),
            heartbeat_s: 10,
            connect_timeout: Duration::from_secs(10),
            publish_timeout: Duration::from_secs(10),
            settle_timeout: Duration::from_secs(5),
            retry_tiers: [30, 120, 600, 3600].map(Duration::from_secs).to_vec(),
            delivery_limit: 50,
            prefetch: Prefetch::default(),
            publish_channels: 8,
            watchdog: Duration::from_secs(60),
            authorities: None,
        }
    }
}

/// Unsettled deliveries per consumer, each 1 to 2000. A judge call takes seconds: more than the worker's
/// concurrency only hoards messages that another worker could take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefetch {
    /// For [`Lane::Urgent`].
    pub urgent: u16,
    /// For [`Lane::Normal`].
    pub normal: u16,
    /// For [`Lane::Bulk`].
    pub bulk: u16,
    /// For [`Source::Dead`] and [`Source::Review`].
    pub other: u16,
}

impl Default for Prefetch {
    fn default() -> Self {
        Self { urgent: 8, normal: 8, bulk: 8, other: 16 }
    }
}

/// Checked settings: where the broker is and how to behave towards it. Cheap to clone.
///
/// `Debug` and [`Settings::broker`] never show the password.
#[derive(Clone)]
pub struct Settings {
    inner: Arc<Inner>,
}

struct Inner {
    uri: AMQPUri,
    options: Options,
}

impl Settings {
    /// Checks the URL (`amqp://` or `amqps://`) and every option.
    ///
    /// Two things differ from the letter of the AMQP URI specification. A URL that ends in `/` means the virtual
    /// host `/`, not the empty name, which no broker has by default. A heartbeat in the URL's query gives way to
    /// [`Options::heartbeat_s`].
    ///
    /// # Errors
    /// [`Error::Url`] without a word of the URL in it, [`Error::Setting`] for the first option out of range.
    pub fn new(url: &str, options: Options) -> Result<Self, Error> {
        check(&options)?;
        let mut uri = parse(url)?;
        uri.query.heartbeat = Some(options.heartbeat_s);
        Ok(Self { inner: Arc::new(Inner { uri, options }) })
    }

    /// The options as they were given.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Host, port and virtual host, for logs.
    #[must_use]
    pub fn broker(&self) -> String {
        let authority = &self.inner.uri.authority;
        format!("{}:{}/{}", authority.host, authority.port, self.inner.uri.vhost.trim_start_matches('/'))
    }

    /// The delay of the tier with this index; an index beyond the last tier means the last one.
    #[must_use]
    pub fn retry_tier(&self, index: usize) -> Duration {
        let tiers = &self.inner.options.retry_tiers;
        tiers.get(index).or(tiers.last()).copied().unwrap_or_default()
    }

    pub(crate) fn uri(&self) -> AMQPUri {
        self.inner.uri.clone()
    }

    pub(crate) fn prefetch(&self, source: Source) -> u16 {
        let prefetch = self.inner.options.prefetch;
        match source {
            Source::Lane(Lane::Urgent) => prefetch.urgent,
            Source::Lane(Lane::Normal) => prefetch.normal,
            Source::Lane(Lane::Bulk) => prefetch.bulk,
            Source::Dead | Source::Review => prefetch.other,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("broker", &self.broker())
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

/// The parser's own messages repeat the text that it could not read, password included: none of them gets out.
fn parse(url: &str) -> Result<AMQPUri, Error> {
    let Some((scheme, rest)) = url.trim().split_once("://") else {
        return Err(Error::Url("no scheme"));
    };
    if !matches!(scheme, "amqp" | "amqps") {
        return Err(Error::Url("the scheme is neither amqp nor amqps"));
    }
    let mut uri: AMQPUri = url.trim().parse().map_err(|_| Error::Url("malformed"))?;
    // The parser drops a host in brackets and would silently connect to localhost.
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some((address, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        uri.authority.host = address.to_owned();
    }
    if uri.authority.host.is_empty() || host.is_empty() {
        return Err(Error::Url("no host"));
    }
    if uri.vhost.is_empty() {
        uri.vhost = "/".into();
    }
    if uri.vhost.len() > 255 {
        return Err(Error::TooLong("virtual host"));
    }
    Ok(uri)
}

fn check(options: &Options) -> Result<(), Error> {
    let fail = |name, problem| Err(Error::Setting { name, problem });
    if options.name.is_empty() {
        return fail("name", "is empty");
    }
    if !(1..=600).contains(&options.heartbeat_s) {
        return fail("heartbeat_s", "must be between 1 and 600 seconds");
    }
    for (name, timeout) in [
        ("connect_timeout", options.connect_timeout),
        ("publish_timeout", options.publish_timeout),
        ("settle_timeout", options.settle_timeout),
    ] {
        if timeout.is_zero() || timeout > Duration::from_secs(600) {
            return fail(name, "must be above zero and at most 600 seconds");
        }
    }
    let tiers = &options.retry_tiers;
    if tiers.is_empty() || tiers.len() > 16 {
        return fail("retry_tiers", "must name between 1 and 16 delays");
    }
    if tiers.iter().any(|tier| tier.as_millis() == 0 || tier.subsec_nanos() % 1_000_000 != 0) {
        return fail("retry_tiers", "must be whole milliseconds above zero");
    }
    if tiers.iter().any(|tier| *tier > Duration::from_secs(24 * 3600)) {
        return fail("retry_tiers", "must be at most 24 hours each");
    }
    if tiers.windows(2).any(|pair| pair[0] >= pair[1]) {
        return fail("retry_tiers", "must ascend");
    }
    if options.delivery_limit == 0 {
        return fail("delivery_limit", "must be at least 1");
    }
    let Prefetch { urgent, normal, bulk, other } = options.prefetch;
    // A quorum queue refuses to go above 2000.
    if [urgent, normal, bulk, other].iter().any(|prefetch| !(1..=2000).contains(prefetch)) {
        return fail("prefetch", "must be between 1 and 2000");
    }
    if options.watchdog.is_zero() {
        return fail("watchdog", "must be above zero");
    }
    if !(1..=64).contains(&options.publish_channels) {
        return fail("publish_channels", "must be between 1 and 64");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "amqp://user:s3cret@broker:5673/audits";

    fn refused(change: impl FnOnce(&mut Options)) -> &'static str {
        let mut options = Options::default();
        change(&mut options);
        match Settings::new(URL, options) {
            Err(Error::Setting { name, .. }) => name,
            other => panic!("expected a refused setting, got {other:?}"),
        }
    }

    #[test]
    fn the_defaults_are_accepted() {
        let settings = Settings::new(URL, Options::default()).unwrap();
        assert_eq!(settings.broker(), "broker:5673/audits");
        assert_eq!(settings.uri().query.heartbeat, Some(10));
        assert_eq!(settings.retry_tier(0), Duration::from_secs(30));
        assert_eq!(settings.retry_tier(99), Duration::from_secs(3600));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        assert_eq!(refused(|options| options.delivery_limit = 0), "delivery_limit");
        assert_eq!(refused(|options| options.retry_tiers.clear()), "retry_tiers");
        assert_eq!(refused(|options| options.retry_tiers.swap(0, 1)), "retry_tiers");
        assert_eq!(refused(|options| options.retry_tiers[0] = Duration::from_micros(1500)), "retry_tiers");
        assert_eq!(refused(|options| options.prefetch.bulk = 0), "prefetch");
        assert_eq!(refused(|options| options.publish_channels = 0), "publish_channels");
        assert_eq!(refused(|options| options.heartbeat_s = 0), "heartbeat_s");
        assert_eq!(refused(|options| options.settle_timeout = Duration::ZERO), "settle_timeout");
    }

    #[test]
    fn the_password_is_shown_nowhere() {
        let settings = Settings::new(URL, Options::default()).unwrap();
        assert!(!format!("{settings:?}").contains("s3cret"));
        for url in [
            "user:s3cret@broker",
            "http://user:s3cret@broker",
            "amqp://user:s3cret@broker:port/",
            "amqp:s3cret",
        ] {
            let error = Settings::new(url, Options::default()).unwrap_err();
            assert!(matches!(error, Error::Url(_)), "{url}: {error:?}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{url}: {error:?}");
        }
    }

    #[test]
    fn hosts_and_virtual_hosts_mean_what_people_mean() {
        let parsed = |url: &str| {
            let uri = Settings::new(url, Options::default()).unwrap().uri();
            (uri.authority.host, uri.authority.port, uri.vhost)
        };
        assert_eq!(parsed("amqp://broker"), ("broker".into(), 5672, "/".into()));
        assert_eq!(parsed("amqp://broker/"), ("broker".into(), 5672, "/".into()));
        assert_eq!(parsed("amqp://broker/%2f"), ("broker".into(), 5672, "/".into()));
        assert_eq!(parsed("amqps://u:p@127.0.0.1/a%2Fb"), ("127.0.0.1".into(), 5671, "a/b".into()));
        assert_eq!(parsed("amqp://u:p@[fd00::1]:5999/v"), ("fd00::1".into(), 5999, "v".into()));
    }
}
