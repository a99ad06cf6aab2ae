//! A server that sends what it is told, byte by byte, and keeps what it was sent.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use judge::{Judge, JudgeError, Limits, Profile, ProfileSettings, Question, Reply, Secret};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

/// The key of every judge in these tests; it must never be seen anywhere.
pub const KEY: &str = "sk-very-secret-key";

/// One thing the server does after it has read the request.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Sends the bytes one at a time with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Keeps silent until the client goes away.
    Hang,
}

pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Plays the scripts in order, one for each request; the last one repeats.
    pub async fn start(scripts: Vec<Vec<Step>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let (kept, counted) = (requests.clone(), connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let turn = counted.fetch_add(1, Ordering::SeqCst);
                let script = scripts[turn.min(scripts.len() - 1)].clone();
                tokio::spawn(serve(stream, script, kept.clone()));
            }
        });
        Server { address, requests, connections }
    }

    /// Answers every request with the same bytes.
    pub async fn sending(bytes: impl Into<Vec<u8>>) -> Server {
        Server::start(vec![vec![Step::Send(bytes.into())]]).await
    }

    /// The requests as they came, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Settings for a judge on this server.
    pub fn settings(&self) -> ProfileSettings {
        ProfileSettings {
            api_key: Some(Secret::new(KEY)),
            ..ProfileSettings::new("local", format!("http://{}/v1", self.address), "some-model")
        }
    }

    pub fn judge(&self) -> Judge {
        judge(self.settings(), &Limits::default())
    }

    pub async fn ask(&self) -> Result<Reply, JudgeError> {
        ask(&self.judge()).await
    }
}

async fn serve(mut stream: TcpStream, script: Vec<Step>, requests: Arc<Mutex<Vec<String>>>) {
    let Some(request) = read_request(&mut stream).await else { return };
    requests.lock().unwrap().push(request);
    for step in script {
        match step {
            Step::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Step::Drip(bytes, pause) => {
                for byte in bytes {
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            }
            Step::Hang => {
                let _closed = stream.read(&mut [0; 1]).await;
                return;
            }
        }
    }
    // A graceful end: what was written still reaches the client.
    let _closed = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|&read| 0 < read)?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length: usize = head
            .lines()
            .find_map(|line| {
                line.to_lowercase().strip_prefix("content-length:").map(str::trim).map(str::to_owned)
            })
            .map_or(0, |length| length.parse().unwrap());
        if length <= body.len() {
            return Some(text);
        }
    }
}

/// A whole response with its length; `head` is the status line's rest and further header lines.
pub fn response(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len())
        .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A chat completion with this content.
pub fn completion(content: &str) -> Vec<u8> {
    let body =
        serde_json::json!({ "choices": [{ "message": { "content": content }, "finish_reason": "stop" }] });
    response("200 OK", body.to_string())
}

/// A file of `tests/fixtures`.
pub fn fixture(name: &str) -> String {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Asks a judge that gets a fixture for its answer. The settings begin as those of a judge with a limit on its
/// replies and temperature 0. Returns the request and the result.
pub async fn answered_with(
    status: &str,
    reply: &str,
    change: impl FnOnce(&mut ProfileSettings),
) -> (Request, Result<Reply, JudgeError>) {
    let server = Server::sending(response(status, fixture(reply))).await;
    let mut settings = server.settings();
    settings.temperature = Some(0.0);
    settings.max_tokens = Some(8192);
    change(&mut settings);
    let result = ask(&judge(settings, &Limits::default())).await;
    let request = server.requests().remove(0);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (Request { head: head.to_owned(), body: serde_json::from_str(body).unwrap() }, result)
}

/// A request as it arrived.
pub struct Request {
    pub head: String,
    pub body: serde_json::Value,
}

impl Request {
    /// The request line without the version.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Compares the body with a fixture.
    pub fn assert_body(&self, name: &str) {
        let expected: serde_json::Value = serde_json::from_str(&fixture(name)).unwrap();
        assert_eq!(self.body, expected, "{name}");
    }
}

pub fn judge(settings: ProfileSettings, limits: &Limits) -> Judge {
    Judge::new(Profile::new(settings).unwrap(), limits).unwrap()
}

pub fn question() -> Question {
    Question {
        system: "You audit.".into(),
        user: "Größe?".into(),
        schema: serde_json::json!({ "type": "object" }),
        schema_name: "faithfulness".into(),
        output_chars: 300,
        trace_id: "trace/1 ü".into(),
    }
}

pub async fn ask(judge: &Judge) -> Result<Reply, JudgeError> {
    let result = judge.ask(&question(), &CancellationToken::new()).await;
    if let Err(error) = &result {
        assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
        assert!(!String::from_utf8_lossy(&error.body).contains(KEY));
    }
    result
}
