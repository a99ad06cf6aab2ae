//! An HTTP client that hides nothing.

use std::{net::SocketAddr, time::Duration};

use practice::{Server, Settings};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout_at},
};

/// A reply as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Raw {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn choice(&self) -> Value {
        self.json()["choices"][0].clone()
    }

    /// The content of the message.
    pub fn content(&self) -> String {
        self.choice()["message"]["content"].as_str().unwrap().to_owned()
    }

    /// The report in the content.
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.content()).unwrap()
    }
}

pub async fn start(settings: Settings) -> Server {
    Server::start("127.0.0.1:0".parse().unwrap(), settings).await.unwrap()
}

pub async fn send(addr: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads until the server closes, but no longer than `patience`. Also says whether the server closed.
pub async fn receive(stream: &mut TcpStream, patience: Duration) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 65536];
    let end = Instant::now() + patience;
    while let Ok(read) = timeout_at(end, stream.read(&mut buffer)).await {
        match read {
            Ok(0) | Err(_) => return (bytes, true),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
    (bytes, false)
}

pub fn parse(bytes: &[u8]) -> Raw {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
    Raw { status: head[9..12].parse().unwrap(), head, body: bytes[at + 4..].to_vec() }
}

async fn request(addr: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Raw {
    let mut stream = send(addr, method, path, headers, body).await;
    let (bytes, closed) = receive(&mut stream, Duration::from_secs(10)).await;
    assert!(closed, "the reply never ended");
    parse(&bytes)
}

pub async fn get(server: &Server, path: &str) -> Value {
    request(server.local_addr(), "GET", path, "", "").await.json()
}

pub async fn post(server: &Server, path: &str) -> u16 {
    request(server.local_addr(), "POST", path, "", "").await.status
}

/// Sends a body as it is.
pub async fn ask_raw(server: &Server, trace_id: &str, body: &str) -> Raw {
    request(server.local_addr(), "POST", "/v1/chat/completions", &trace_header(trace_id), body).await
}

pub async fn ask(server: &Server, trace_id: &str) -> Raw {
    ask_raw(server, trace_id, &body(&user_message())).await
}

pub fn trace_header(trace_id: &str) -> String {
    if trace_id.is_empty() { String::new() } else { format!("groundcrew-trace-id: {trace_id}\r\n") }
}

/// A question of the kind `faithfulness`.
pub fn body(user: &str) -> String {
    body_in(&named("faithfulness"), "You audit.", user)
}

/// A question in a dialect: what stands as its `response_format`.
pub fn body_in(response_format: &Value, system: &str, user: &str) -> String {
    json!({
        "model": "any",
        "messages": [{ "role": "system", "content": system }, { "role": "user", "content": user }],
        "response_format": response_format,
    })
    .to_string()
}

/// The dialect that names a schema.
pub fn named(schema: &str) -> Value {
    json!({ "type": "json_schema", "json_schema": { "name": schema, "schema": {} } })
}

pub const EVIDENCE: [(&str, &str); 2] = [
    ("museum", "The Harbour Museum in Porto opened in 1987. Entry is free on Sundays."),
    ("ships", "The collection holds 240 ships. Dogs are not allowed."),
];

/// Two grounded claims, one that contradicts, one that nothing supports.
pub const ANSWER: &str = "The Harbour Museum in Porto opened in 1987. Entry is free on Sundays. \
    The collection holds 204 ships. Parking costs 4 euro.";

/// A prompt with a nonce, as the runner renders it.
pub fn user_message() -> String {
    let block = |title: &str, text: &str| format!("<<n0nce {title}>>\n{text}\n<</n0nce>>\n");
    let evidence: String = EVIDENCE
        .iter()
        .map(|(id, text)| block(&format!("EVIDENCE {}", json!({ "source_id": id })), text))
        .collect();
    format!(
        "{evidence}{}{}Audit the answer.",
        block("QUESTION", "How about the museum?"),
        block("ANSWER", ANSWER)
    )
}
