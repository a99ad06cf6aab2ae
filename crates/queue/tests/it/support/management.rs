//! The broker's HTTP API, as far as the tests need it: blocking, one request per connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

pub struct Management {
    address: String,
    user: String,
    authorization: String,
}

impl Management {
    pub fn from_environment() -> Self {
        let url = std::env::var("GROUNDCREW_TEST_RABBITMQ_MANAGEMENT").unwrap_or_else(|_| {
            panic!(
                "GROUNDCREW_TEST_RABBITMQ_MANAGEMENT is not set: these tests need a broker, use ./dev test"
            )
        });
        let rest = url.strip_prefix("http://").unwrap().trim_end_matches('/');
        let (credentials, address) = rest.rsplit_once('@').unwrap();
        let user = credentials.split(':').next().unwrap().to_owned();
        let authorization = format!("Basic {}", base64(credentials.as_bytes()));
        Self { address: address.to_owned(), user, authorization }
    }

    pub fn create_vhost(&self, name: &str) {
        self.ask("PUT", &format!("/api/vhosts/{name}"), Some(json!({})));
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        self.ask("PUT", &format!("/api/permissions/{name}/{}", self.user), Some(all));
    }

    pub fn delete_vhost(&self, name: &str) {
        self.ask("DELETE", &format!("/api/vhosts/{name}"), None);
    }

    /// Arguments and counts of a queue as the broker sees them.
    pub fn queue(&self, vhost: &str, name: &str) -> Option<Value> {
        let (status, body) = self.request("GET", &format!("/api/queues/{vhost}/{name}"), None);
        (status == 200).then(|| serde_json::from_str(&body).unwrap())
    }

    pub fn delete_queue(&self, vhost: &str, name: &str) {
        self.ask("DELETE", &format!("/api/queues/{vhost}/{name}"), None);
    }

    pub fn delete_exchange(&self, vhost: &str, name: &str) {
        self.ask("DELETE", &format!("/api/exchanges/{vhost}/{name}"), None);
    }

    pub fn declare_queue(&self, vhost: &str, name: &str, arguments: Value) {
        let body = json!({"durable": true, "arguments": arguments});
        self.ask("PUT", &format!("/api/queues/{vhost}/{name}"), Some(body));
    }

    pub fn declare_exchange(&self, vhost: &str, name: &str, kind: &str) {
        let body = json!({"durable": true, "type": kind});
        self.ask("PUT", &format!("/api/exchanges/{vhost}/{name}"), Some(body));
    }

    pub fn limit_length(&self, vhost: &str, queue: &str, length: u32) {
        let body = json!({"pattern": format!("^{queue}$"), "definition": {"max-length": length}, "apply-to": "queues"});
        self.ask("PUT", &format!("/api/policies/{vhost}/length"), Some(body));
    }

    /// Has the broker close every connection of a virtual host and returns how many there were.
    pub fn close_connections(&self, vhost: &str) -> usize {
        let connections: Vec<Value> =
            serde_json::from_str(&self.ask("GET", &format!("/api/vhosts/{vhost}/connections"), None))
                .unwrap();
        let names = connections.iter().filter_map(|connection| connection["name"].as_str());
        names
            .filter(|name| {
                let path = format!("/api/connections/{}", encode(name));
                self.request("DELETE", &path, None).0 == 204
            })
            .count()
    }

    fn ask(&self, method: &str, path: &str, body: Option<Value>) -> String {
        let (status, answer) = self.request(method, path, body);
        assert!((200..300).contains(&status), "{method} {path} was answered {status}: {answer}");
        answer
    }

    fn request(&self, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.authorization,
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        (status, if chunked { unchunk(body) } else { body.to_owned() })
    }
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let group = chunk.iter().fold(0_usize, |group, byte| (group << 8) | usize::from(*byte));
            let group = group << (8 * (3 - chunk.len()));
            (0..4).map(move |place| {
                if place > chunk.len() { '=' } else { char::from(ALPHABET[(group >> (18 - 6 * place)) & 63]) }
            })
        })
        .collect()
}
