//! Certificates of the database, the broker and the judge are verified.

use std::path::PathBuf;

use practice::CannedReply;
use serde_json::Value;
use testkit::material::{all_grounded, trace};
use testkit::{Authority, Command, Database, Speaks, System, TlsRelay, Vhost};

/// A file with the certificate of an authority, removed at the end.
struct File(PathBuf);

impl File {
    fn new(authority: &Authority) -> Self {
        let path = std::env::temp_dir().join(format!("groundcrew-ca-{}.pem", uuid::Uuid::now_v7().simple()));
        std::fs::write(&path, authority.pem()).unwrap();
        Self(path)
    }

    fn path(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Relays before all three services, with certificates that `authority` signed for `name`.
struct Relays {
    database: TlsRelay,
    broker: TlsRelay,
    judge: TlsRelay,
}

impl Relays {
    async fn start(system: &System, authority: &Authority, name: &str) -> Self {
        Self {
            database: TlsRelay::start(Database::address(), Speaks::Postgres, authority, name).await,
            broker: TlsRelay::start(Vhost::address(), Speaks::Tls, authority, name).await,
            judge: TlsRelay::start(system.judge.local_addr().to_string(), Speaks::Tls, authority, name).await,
        }
    }

    /// The program, led through these relays.
    fn program(&self, system: &System, arguments: &[&str], ca_file: Option<&File>) -> Command {
        let at = |url: String, scheme: &str, port: u16| {
            let rest = url.split_once("://").unwrap().1;
            let (before, after) = rest.split_once('@').unwrap();
            let path = after.split_once('/').map(|(_, path)| path).unwrap_or_default();
            format!("{scheme}://{before}@localhost:{port}/{path}")
        };
        let mut program = system
            .program(arguments)
            .set(
                "DATABASE_URL",
                with_verification(at(system.database.url(None), "postgres", self.database.port())),
            )
            .set("AMQP_URL", at(system.vhost.url(None), "amqps", self.broker.port()))
            .set("GROUNDCREW_JUDGE__BASE_URL", format!("https://localhost:{}/v1", self.judge.port()));
        if let Some(file) = ca_file {
            for section in ["DATABASE", "QUEUE", "JUDGE"] {
                program = program.set(format!("GROUNDCREW_{section}__CA_FILE"), file.path());
            }
        }
        program
    }

    /// What `check services` says of each service, with what it printed.
    async fn check(&self, system: &System, ca_file: Option<&File>) -> (Vec<(String, bool)>, String) {
        let program = self.program(system, &["check", "services", "--json"], ca_file);
        let (_, printed) = program.run().await;
        let answer: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}"));
        let services = answer.as_array().unwrap_or_else(|| panic!("{printed}"));
        let ready = services
            .iter()
            .map(|service| (service["name"].as_str().unwrap().to_owned(), service["ok"] == true))
            .collect();
        (ready, printed)
    }
}

/// As it is for a server on another host; this one is on loopback.
fn with_verification(url: String) -> String {
    format!("{url}?sslmode=verify-full")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_accepted_from_the_named_authority_for_the_right_name_only() {
    let system = System::builder().replies("t", [CannedReply::content(all_grounded())]).start().await;
    let (ours, other) = (Authority::new(), Authority::new());
    let (trusted, untrusted) = (File::new(&ours), File::new(&other));

    let right = Relays::start(&system, &ours, "localhost").await;
    let (ready, printed) = right.check(&system, Some(&trusted)).await;
    assert_eq!(ready.len(), 3, "{printed}");
    assert!(ready.iter().all(|(_, ok)| *ok), "{printed}");

    system.publish(&trace("t")).await;
    let worker = right.program(&system, &["worker"], Some(&trusted)).start();
    assert_eq!(system.ended("t").await["disposition"], "passed", "{}", worker.log());
    drop(worker);

    let misnamed = Relays::start(&system, &ours, "elsewhere.example").await;
    for (what, relays, ca_file) in [
        ("an authority that nobody named", &right, None),
        ("another authority than the named one", &right, Some(&untrusted)),
        ("a certificate for another name", &misnamed, Some(&trusted)),
    ] {
        let (ready, printed) = relays.check(&system, ca_file).await;
        assert_eq!(ready.len(), 3, "{what}: {printed}");
        assert!(ready.iter().all(|(_, ok)| !ok), "{what} was accepted: {printed}");
        assert_eq!(
            printed.matches("invalid peer certificate").count(),
            3,
            "{what} is not what was refused: {printed}"
        );
    }
}
