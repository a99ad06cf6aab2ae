//! A TCP relay between the client and the broker that can go silent, as a cut cable does, and that can say to the
//! client what only a broker in need would say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, watch};

pub struct Relay {
    pub address: String,
    shared: Arc<Shared>,
}

struct Shared {
    frozen: watch::Sender<bool>,
    mute: AtomicBool,
    injections: broadcast::Sender<Vec<u8>>,
    clients: AtomicUsize,
}

impl Relay {
    pub async fn start(broker: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            frozen: watch::channel(false).0,
            mute: AtomicBool::new(false),
            injections: broadcast::channel(8).0,
            clients: AtomicUsize::new(0),
        });
        let relay = Self { address, shared: shared.clone() };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&broker).await else { continue };
                let (client_read, client_write) = client.into_split();
                let (server_read, server_write) = server.into_split();
                tokio::spawn(to_client(server_read, client_write, shared.clone()));
                let shared = shared.clone();
                tokio::spawn(async move {
                    shared.clients.fetch_add(1, Ordering::SeqCst);
                    to_broker(client_read, server_write, &shared).await;
                    shared.clients.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        relay
    }

    /// Nothing passes any more, in either direction, and nobody is told.
    pub fn freeze(&self) {
        self.shared.frozen.send_replace(true);
    }

    pub fn thaw(&self) {
        self.shared.frozen.send_replace(false);
    }

    /// Deliveries are lost on their way to the client from now on, as if its consumer had gone deaf; everything
    /// else arrives.
    pub fn lose_deliveries(&self, lose: bool) {
        self.shared.mute.store(lose, Ordering::SeqCst);
    }

    /// Connections that the client has not closed.
    pub fn clients(&self) -> usize {
        self.shared.clients.load(Ordering::SeqCst)
    }

    /// Tells all clients that the broker is short of memory. Only while the broker itself is silent: the words
    /// must not fall into the middle of a frame.
    pub fn say_blocked(&self, reason: &str) {
        let reason = [&[u8::try_from(reason.len()).unwrap()], reason.as_bytes()].concat();
        self.say(60, &reason);
    }

    pub fn say_unblocked(&self) {
        self.say(61, &[]);
    }

    fn say(&self, method: u16, arguments: &[u8]) {
        let payload = [&10_u16.to_be_bytes(), &method.to_be_bytes(), arguments].concat();
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        self.shared.injections.send([&[1, 0, 0], &length[..], &payload, &[0xce]].concat()).unwrap();
    }
}

/// Goes on reading while frozen, so that the end of the client's side is seen.
async fn to_broker(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared) {
    let mut buffer = vec![0; 16 * 1024];
    let mut waiting = Vec::new();
    loop {
        tokio::select! {
            read = from.read(&mut buffer) => match read {
                Ok(length @ 1..) => waiting.extend_from_slice(&buffer[..length]),
                _ => return,
            },
            () = shared.thawed(), if !waiting.is_empty() => {
                if to.write_all(&waiting).await.is_err() {
                    return;
                }
                waiting.clear();
            }
        }
    }
}

async fn to_client(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: Arc<Shared>) {
    let mut injections = shared.injections.subscribe();
    let mut buffer = vec![0; 16 * 1024];
    let mut frames = Frames::default();
    loop {
        let bytes = tokio::select! {
            read = from.read(&mut buffer) => match read {
                Ok(length @ 1..) => buffer[..length].to_vec(),
                _ => return,
            },
            Ok(words) = injections.recv() => words,
        };
        let bytes = frames.take(&bytes, shared.mute.load(Ordering::SeqCst));
        shared.thawed().await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Puts the broker's bytes together to frames, so that whole deliveries can be left out.
#[derive(Default)]
struct Frames(Vec<u8>);

impl Frames {
    fn take(&mut self, bytes: &[u8], mute: bool) -> Vec<u8> {
        self.0.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(head) = self.0.get(..7) {
            let length = usize::try_from(u32::from_be_bytes(head[3..7].try_into().unwrap())).unwrap() + 8;
            if self.0.len() < length {
                break;
            }
            let frame: Vec<u8> = self.0.drain(..length).collect();
            // basic.deliver, and the header and body that follow it; nothing else on these connections has any.
            // A heartbeat is shorter than a method.
            let is_deliver = frame.get(7..11).is_some_and(|method| method == [0, 60, 0, 60]);
            let is_delivery = matches!(frame[0], 2 | 3) || is_deliver;
            if !(mute && is_delivery) {
                out.extend(frame);
            }
        }
        out
    }
}

impl Shared {
    async fn thawed(&self) {
        self.frozen.subscribe().wait_for(|frozen| !frozen).await.unwrap();
    }
}
