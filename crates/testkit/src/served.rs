//! A desk for one test: a database, a practice judge and a server of its own. It needs no broker.

use std::net::SocketAddr;
use std::time::Duration;

use desk::access::{Logins, NewToken, Role};
use desk::{GateSettings, Server, Settings};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::environment::ServicesLock;
use crate::{Database, TcpRelay, Tuning};

/// A desk that listens.
#[derive(Debug)]
pub struct Desk {
    /// Where.
    pub address: SocketAddr,
    /// Its judge.
    pub judge: practice::Server,
    /// Stands between the desk and the database.
    pub to_database: TcpRelay,
    /// What it stores, as the database has it.
    pub store: Store,
    client: reqwest::Client,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
    /// Its database.
    pub database: Database,
    _services: ServicesLock,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub text: String,
    /// The body as JSON; null when it is none.
    pub body: Value,
}

impl Desk {
    /// A desk with the product's settings, but for what is changed.
    ///
    /// # Panics
    /// When a service does not answer.
    pub async fn start(
        change: impl FnOnce(&mut Settings),
        judged: impl FnOnce(&mut practice::Settings),
    ) -> Self {
        Self::start_with(Tuning { concurrency: 300, ..Tuning::default() }, change, judged).await
    }

    /// The same with other settings of judge and runner.
    ///
    /// # Panics
    /// When a service does not answer.
    pub async fn start_with(
        tuning: Tuning,
        change: impl FnOnce(&mut Settings),
        judged: impl FnOnce(&mut practice::Settings),
    ) -> Self {
        let services = ServicesLock::shared().await;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut judge = practice::Settings::default();
        judged(&mut judge);
        let judge = practice::Server::start("127.0.0.1:0".parse().unwrap(), judge).await.unwrap();
        let database = Database::create().await;
        let to_database = TcpRelay::start(Database::address()).await;
        let own = Store::connect(&store::Settings::new(database.url(Some(to_database.address())))).unwrap();
        let profile = judge::Profile::new(tuning.judge(&judge.base_url())).unwrap();
        let runner =
            runner::Runner::new(judge::Judge::new(profile, &tuning.limits()).unwrap(), tuning.runner());
        let worker = tuning.worker();
        let mut settings = Settings {
            listen: "127.0.0.1:0".parse().unwrap(),
            logins: Logins { token: true, ..Logins::default() },
            max_body_bytes: 1 << 20,
            drain_deadline: Duration::from_secs(10),
            gate: GateSettings::default(),
            review: desk::ReviewSettings::default(),
            spend: worker.spend,
            policies: worker.policies,
            projects: worker.projects,
            default_project: worker.default_project,
        };
        change(&mut settings);
        let server = Server::bind(settings, own, runner).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        let token = stop.clone();
        let task = tokio::spawn(async move { server.run(token).await });
        Self {
            address,
            judge,
            to_database,
            store: Store::connect(&store::Settings::new(database.url(None))).unwrap(),
            client: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(200).build().unwrap(),
            stop,
            task: Some(task),
            database,
            _services: services,
        }
    }

    /// A new token.
    ///
    /// # Panics
    /// When it cannot be stored.
    pub async fn token(&self, role: Role, projects: Option<&[&str]>) -> String {
        let token = NewToken::make();
        let projects = projects.map(|it| it.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let name = crate::unique("token");
        let added = self.store.add_token(&name, token.hash(), role.as_str(), projects.as_deref()).await;
        assert!(added.unwrap());
        token.expose().to_owned()
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request that is not sent yet.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method.parse().expect("a method"), self.url(path))
    }

    /// Asks the gate.
    ///
    /// # Panics
    /// When there is no response.
    pub async fn gate(&self, token: &str, body: &Value) -> Response {
        self.gate_with(token, body, &[]).await
    }

    /// Asks the gate with further headers.
    ///
    /// # Panics
    /// When there is no response.
    pub async fn gate_with(&self, token: &str, body: &Value, headers: &[(&'static str, &str)]) -> Response {
        let mut request = self.request("POST", "/v1/gate").bearer_auth(token).json(body);
        for (name, value) in headers {
            request = request.header(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).expect("a header's value"),
            );
        }
        Response::of(request.send().await.unwrap()).await
    }

    /// Rows as JSON.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn json(&self, sql: &'static str) -> Vec<Value> {
        sqlx::query_scalar(sql).fetch_all(&self.database.pool).await.unwrap()
    }

    /// A column of text.
    ///
    /// # Panics
    /// When the database does not answer.
    pub async fn strings(&self, sql: &'static str) -> Vec<String> {
        sqlx::query_scalar(sql).fetch_all(&self.database.pool).await.unwrap()
    }

    /// Asks it to stop.
    pub fn ask_to_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until it has stopped.
    ///
    /// # Panics
    /// When it takes longer than `deadline`.
    pub async fn stopped(&mut self, deadline: Duration) {
        let task = self.task.take().unwrap();
        tokio::time::timeout(deadline, task).await.expect("the desk did not stop").unwrap();
    }
}

impl Response {
    /// Reads a response to its end.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn of(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status, headers, text, body }
    }

    /// The value of a header; empty without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
