//! A virtual host per test, and the broker's HTTP API.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use crate::{environment, from_drop, unique};

/// A virtual host of its own, deleted at the end of the test.
#[derive(Debug)]
pub struct Vhost {
    name: String,
    management: Management,
}

/// A message as the broker shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The routing key it was published with.
    pub routing_key: String,
    /// Its message id.
    pub message_id: Option<String>,
    /// Its correlation id.
    pub correlation_id: Option<String>,
    /// Its headers.
    pub headers: Value,
    /// Its content, as JSON.
    pub body: Value,
}

impl Vhost {
    /// Makes one.
    ///
    /// # Panics
    /// When the broker's HTTP API does not answer.
    pub async fn create() -> Self {
        let name = unique("gc-test");
        let management = Management::from_environment();
        management.ask(Method::PUT, &["vhosts", &name], Some(json!({}))).await;
        let all = json!({ "configure": ".*", "write": ".*", "read": ".*" });
        management.ask(Method::PUT, &["permissions", &name, &management.user.clone()], Some(all)).await;
        Self { name, management }
    }

    /// The URL that AMQP clients connect to; `address` replaces the broker's own, to lead through a relay.
    pub fn url(&self, address: Option<std::net::SocketAddr>) -> String {
        let mut url = reqwest::Url::parse(&environment::amqp_url()).expect("AMQP_URL is a URL");
        url.set_path(&self.name);
        if let Some(address) = address {
            url.set_ip_host(address.ip()).expect("the URL has a host");
            url.set_port(Some(address.port())).expect("the URL has a host");
        }
        url.to_string()
    }

    /// Host and port of the broker.
    pub fn address() -> String {
        let url = reqwest::Url::parse(&environment::amqp_url()).expect("AMQP_URL is a URL");
        format!("{}:{}", url.host_str().unwrap_or("127.0.0.1"), url.port().unwrap_or(5672))
    }

    /// Publishes bytes to an exchange, as a stranger would. Says whether a queue took them.
    ///
    /// # Panics
    /// When the exchange does not exist.
    pub async fn publish(&self, exchange: &str, routing_key: &str, properties: Value, body: &[u8]) -> bool {
        let message = json!({
            "routing_key": routing_key,
            "properties": properties,
            "payload": base64(body),
            "payload_encoding": "base64",
        });
        let path = ["exchanges", &self.name, exchange, "publish"];
        self.management.ask(Method::POST, &path, Some(message)).await["routed"] == json!(true)
    }

    /// Declares a queue that keeps copies of what `exchange` gets under `pattern`.
    ///
    /// # Panics
    /// When the exchange does not exist.
    pub async fn tap(&self, queue: &str, exchange: &str, pattern: &str) {
        let durable = json!({ "durable": true });
        self.management.ask(Method::PUT, &["queues", &self.name, queue], Some(durable)).await;
        let binding = json!({ "routing_key": pattern });
        let path = ["bindings", &self.name, "e", exchange, "q", queue];
        self.management.ask(Method::POST, &path, Some(binding)).await;
    }

    /// All messages that wait in a queue. They stay there.
    ///
    /// # Panics
    /// When the queue does not exist.
    pub async fn peek(&self, queue: &str) -> Vec<Seen> {
        let how = json!({ "count": 100_000, "ackmode": "ack_requeue_true", "encoding": "base64" });
        let answer =
            self.management.ask(Method::POST, &["queues", &self.name, queue, "get"], Some(how)).await;
        let messages = answer.as_array().cloned().unwrap_or_default();
        messages
            .iter()
            .map(|message| {
                let text = |name: &str| message["properties"][name].as_str().map(str::to_owned);
                Seen {
                    routing_key: message["routing_key"].as_str().unwrap_or_default().to_owned(),
                    message_id: text("message_id"),
                    correlation_id: text("correlation_id"),
                    headers: message["properties"]["headers"].clone(),
                    body: serde_json::from_slice(&unbase64(message["payload"].as_str().unwrap_or_default()))
                        .unwrap_or_default(),
                }
            })
            .collect()
    }

    /// Takes the first message of a queue and hands it back, which the broker counts.
    ///
    /// # Panics
    /// When the queue does not exist.
    pub async fn hand_back(&self, queue: &str) {
        let how = json!({ "count": 1, "ackmode": "reject_requeue_true", "encoding": "base64" });
        self.management.ask(Method::POST, &["queues", &self.name, queue, "get"], Some(how)).await;
    }

    /// What the broker's HTTP API says about a queue; none when it does not exist.
    pub async fn queue(&self, queue: &str) -> Option<Value> {
        let (status, body) = self.management.request(Method::GET, &["queues", &self.name, queue], None).await;
        (status == StatusCode::OK).then_some(body)
    }

    /// Messages in a queue: ready, and delivered without an ack. The figures may be a second old.
    pub async fn depth(&self, queue: &str) -> Option<(u64, u64)> {
        let found = self.queue(queue).await?;
        Some((found["messages_ready"].as_u64()?, found["messages_unacknowledged"].as_u64()?))
    }

    /// Closes every connection to this virtual host, from the broker's side.
    ///
    /// # Panics
    /// When the broker's HTTP API does not answer.
    pub async fn close_connections(&self) {
        let path = ["vhosts", &self.name, "connections"];
        let connections = self.management.ask(Method::GET, &path, None).await;
        for connection in connections.as_array().into_iter().flatten() {
            if let Some(name) = connection["name"].as_str() {
                // One that is gone by now is as good as closed.
                let _ = self.management.request(Method::DELETE, &["connections", name], None).await;
            }
        }
    }

    /// How many messages the broker has delivered again since it started. The figure may be a second old.
    ///
    /// # Panics
    /// When the broker's HTTP API does not answer.
    pub async fn redelivered(&self) -> u64 {
        let queues = self.management.ask(Method::GET, &["queues", &self.name], None).await;
        let count = |queue: &Value| queue["message_stats"]["redeliver"].as_u64().unwrap_or_default();
        queues.as_array().into_iter().flatten().map(count).sum()
    }

    /// Deletes a queue with all that is in it.
    ///
    /// # Panics
    /// When the queue does not exist.
    pub async fn delete_queue(&self, queue: &str) {
        self.management.ask(Method::DELETE, &["queues", &self.name, queue], None).await;
    }
}

impl Drop for Vhost {
    fn drop(&mut self) {
        let (name, management) = (self.name.clone(), self.management.clone());
        from_drop(async move {
            // A vhost that stays behind disturbs nobody, so a failure here hides none of the test.
            let _ = management.try_request(Method::DELETE, &["vhosts", &name], None).await;
        });
    }
}

/// The broker's HTTP API.
#[derive(Debug, Clone)]
struct Management {
    base: reqwest::Url,
    user: String,
    password: Option<String>,
}

impl Management {
    fn from_environment() -> Self {
        let mut base =
            reqwest::Url::parse(&environment::management_url()).expect("the management address is a URL");
        let (user, password) = (base.username().to_owned(), base.password().map(str::to_owned));
        base.set_username("").and_then(|()| base.set_password(None)).expect("the URL has a host");
        Self { base, user, password }
    }

    async fn ask(&self, method: Method, path: &[&str], body: Option<Value>) -> Value {
        let (status, answer) = self.request(method.clone(), path, body).await;
        assert!(status.is_success(), "{method} {path:?} was answered {status}: {answer}");
        answer
    }

    async fn request(&self, method: Method, path: &[&str], body: Option<Value>) -> (StatusCode, Value) {
        let answered = self.try_request(method.clone(), path, body).await;
        answered.unwrap_or_else(|error| panic!("{method} {path:?} was not answered: {error}"))
    }

    async fn try_request(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Value>,
    ) -> reqwest::Result<(StatusCode, Value)> {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("the URL has a path").clear().push("api").extend(path);
        // One client per request: it lives in whichever runtime asks.
        let client =
            Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_secs(60)).build()?;
        let mut request = client.request(method, url).basic_auth(&self.user, self.password.as_deref());
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            (0..3).fold(0_usize, |group, at| (group << 8) | usize::from(*chunk.get(at).unwrap_or(&0)));
        for place in 0..4 {
            let is_padding = place > chunk.len();
            text.push(if is_padding { '=' } else { char::from(ALPHABET[(group >> (18 - 6 * place)) & 63]) });
        }
    }
    text
}

fn unbase64(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter_map(|byte| ALPHABET.iter().position(|letter| *letter == byte))
        .filter_map(|value| u8::try_from(value).ok())
        .collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let word = (0..4).fold(0_u32, |word, at| (word << 6) | u32::from(*group.get(at).unwrap_or(&0)));
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len().max(1)]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_back_whatever_the_length() {
        for (bytes, text) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes), text);
            assert_eq!(unbase64(text), bytes);
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unbase64(&base64(&all)), all);
    }
}
