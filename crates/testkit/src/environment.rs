//! Where the services are, and who may stop them.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

/// The value of a variable that `./dev test` sets.
///
/// # Panics
/// When it is not set. A test over services that are not there has not passed, so it is not skipped either.
pub fn required(name: &str) -> String {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => value,
        _ => panic!("{name} is not set: this test needs RabbitMQ and PostgreSQL. Run it with ./dev test"),
    }
}

/// The broker's URL; its virtual host is replaced for each test.
pub fn amqp_url() -> String {
    required("AMQP_URL")
}

/// The database server's URL; its database is replaced for each test.
pub fn database_url() -> String {
    required("DATABASE_URL")
}

/// The broker's HTTP API, with user and password.
pub fn management_url() -> String {
    required("GROUNDCREW_TEST_RABBITMQ_MANAGEMENT")
}

/// One of the private services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// The broker.
    RabbitMq,
    /// The database.
    Postgres,
}

/// Crashes a service and starts it again: SIGKILL, then a new start. Returns when it answers.
///
/// # Panics
/// When it does not come back.
pub async fn kill(service: Service) {
    dev(match service {
        Service::RabbitMq => &["service", "kill", "rabbitmq"],
        Service::Postgres => &["service", "kill", "postgres"],
    })
    .await;
}

/// Stops a service in order and starts it again. Returns when it answers.
///
/// # Panics
/// When it does not come back.
pub async fn restart(service: Service) {
    dev(match service {
        Service::RabbitMq => &["service", "restart", "rabbitmq"],
        Service::Postgres => &["service", "restart", "postgres"],
    })
    .await;
}

/// Makes the broker believe that it is short of memory: it takes nothing from publishers until [`calm`].
///
/// # Panics
/// When it cannot be told.
pub async fn alarm() {
    dev(&["service", "alarm", "rabbitmq"]).await;
}

/// Ends [`alarm`].
///
/// # Panics
/// When the broker cannot be told.
pub async fn calm() {
    dev(&["service", "calm", "rabbitmq"]).await;
}

async fn dev(arguments: &'static [&'static str]) {
    let program = PathBuf::from(required("GROUNDCREW_TEST_DEV"));
    let begun = Instant::now();
    let output = tokio::task::spawn_blocking(move || {
        std::process::Command::new(&program)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("{} could not be run: {error}", program.display()))
    })
    .await
    .unwrap();
    assert!(
        output.status.success(),
        "./dev {} ended with {}:\n{}{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("./dev {} took {:?}", arguments.join(" "), begun.elapsed());
}

/// The right to use the shared services. Every test holds a share of it; a test that stops a service holds it
/// alone, so that it disturbs nobody.
#[derive(Debug)]
pub struct ServicesLock {
    _file: std::fs::File,
}

impl ServicesLock {
    /// Waits until nobody stops the services.
    ///
    /// # Panics
    /// When the lock's file cannot be used.
    pub async fn shared() -> Self {
        Self::take(std::fs::File::lock_shared).await
    }

    /// Waits until nobody else uses the services.
    ///
    /// # Panics
    /// When the lock's file cannot be used.
    pub async fn alone() -> Self {
        Self::take(std::fs::File::lock).await
    }

    async fn take(lock: fn(&std::fs::File) -> std::io::Result<()>) -> Self {
        let path = PathBuf::from(required("GROUNDCREW_TEST_DEV"))
            .with_file_name(".groundcrew")
            .join("test-services.lock");
        let taken = tokio::task::spawn_blocking(move || {
            let options = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = options.unwrap_or_else(|error| panic!("{} cannot be opened: {error}", path.display()));
            lock(&file).unwrap_or_else(|error| panic!("{} cannot be locked: {error}", path.display()));
            file
        });
        Self { _file: taken.await.unwrap() }
    }
}
