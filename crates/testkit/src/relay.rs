//! A TCP relay that stands between a client and a server and can fail in every way a network does.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Which way bytes flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// Carries bytes between clients and one server until told otherwise.
#[derive(Debug)]
pub struct TcpRelay {
    address: SocketAddr,
    line: watch::Sender<Line>,
    _stop: DropGuard,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Line {
    refuse: bool,
    hold_to_server: bool,
    hold_to_client: bool,
    latency: Duration,
    /// Rises with each cut: connections of an earlier number are gone.
    cuts: u64,
}

impl TcpRelay {
    /// Listens on a port of its own and carries everything to `server` (host and port).
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(server: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = watch::Sender::new(Line::default());
        let stop = CancellationToken::new();
        tokio::spawn(listen(listener, address, server.into(), line.subscribe(), stop.clone()));
        Self { address, line, _stop: stop.drop_guard() }
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts every connection at once. New ones are welcome. What was held is lost.
    pub fn cut(&self) {
        self.line.send_modify(|line| line.cuts += 1);
    }

    /// Cuts every connection and refuses new ones, as a host does on which nothing listens.
    pub fn refuse(&self) {
        self.line.send_modify(|line| {
            line.cuts += 1;
            line.refuse = true;
        });
    }

    /// Nothing flows in this direction any more, and nobody is told, as behind a broken cable.
    pub fn blackhole(&self, direction: Direction) {
        self.line.send_modify(|line| match direction {
            Direction::ToServer => line.hold_to_server = true,
            Direction::ToClient => line.hold_to_client = true,
        });
    }

    /// Every piece of data arrives this much later.
    pub fn delay(&self, latency: Duration) {
        self.line.send_modify(|line| line.latency = latency);
    }

    /// All is well again. What a blackhole held back arrives now.
    pub fn heal(&self) {
        self.line.send_modify(|line| *line = Line { cuts: line.cuts, ..Line::default() });
    }
}

async fn listen(
    listener: TcpListener,
    address: SocketAddr,
    server: String,
    mut line: watch::Receiver<Line>,
    stop: CancellationToken,
) {
    let mut listener = Some(listener);
    loop {
        let refuse = line.borrow_and_update().refuse;
        if refuse {
            listener = None;
        }
        let Some(open) = &listener else {
            if !refuse {
                listener = TcpListener::bind(address).await.ok();
                if listener.is_some() {
                    continue;
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                changed = line.changed() => if changed.is_err() { return },
                // The port is ours again as soon as the kernel is done with the old connections.
                () = tokio::time::sleep(Duration::from_millis(20)), if !refuse => {}
            }
            continue;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            changed = line.changed() => if changed.is_err() { return },
            accepted = open.accept() => {
                if let Ok((client, _)) = accepted {
                    tokio::spawn(carry(client, server.clone(), line.clone(), stop.clone()));
                }
            }
        }
    }
}

async fn carry(client: TcpStream, server: String, line: watch::Receiver<Line>, stop: CancellationToken) {
    let cuts = line.borrow().cuts;
    let Ok(server) = TcpStream::connect(&server).await else { return };
    for stream in [&client, &server] {
        if stream.set_nodelay(true).is_err() {
            return;
        }
    }
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let mut watched = line.clone();
    let cut = async move {
        // An error means that the relay is gone, which ends its connections as well.
        let _ = watched.wait_for(|line| line.cuts != cuts).await;
    };
    let there = pump(client_read, server_write, line.clone(), Direction::ToServer);
    let back = pump(server_read, client_write, line, Direction::ToClient);
    tokio::select! {
        () = stop.cancelled() => {}
        () = cut => {}
        _ = async { tokio::join!(there, back) } => {}
    }
}

/// Carries one direction until its end, which is passed on.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
    way: Direction,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        // The end of a stream is news too, and a broken cable carries none.
        let is_open = |line: &Line| match way {
            Direction::ToServer => !line.hold_to_server,
            Direction::ToClient => !line.hold_to_client,
        };
        let latency = line.borrow().latency;
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if line.wait_for(is_open).await.is_err() {
            return;
        }
        if read == 0 {
            // Whoever is on the other side may have gone already.
            let _ = to.shutdown().await;
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use futures_util::FutureExt as _;

    use super::*;

    /// A server that sends back what it gets.
    async fn echo() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        address
    }

    async fn say(stream: &mut TcpStream, word: &[u8]) -> Vec<u8> {
        stream.write_all(word).await.unwrap();
        hear(stream, word.len()).await
    }

    async fn hear(stream: &mut TcpStream, length: usize) -> Vec<u8> {
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_carries_cuts_and_welcomes_again() {
        let relay = TcpRelay::start(echo().await).await;
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut stream, b"ferry").await, b"ferry");
        relay.cut();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0, "the connection is gone");
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(say(&mut stream, b"again").await, b"again");
    }

    #[tokio::test]
    async fn it_refuses_until_it_is_healed() {
        let relay = TcpRelay::start(echo().await).await;
        relay.refuse();
        crate::wait_for("a refusal", crate::PATIENCE, async || {
            let refused = TcpStream::connect(relay.address()).await.err()?;
            (refused.kind() == ErrorKind::ConnectionRefused).then_some(())
        })
        .await;
        relay.heal();
        let connect = async || TcpStream::connect(relay.address()).await.ok();
        let mut stream = crate::wait_for("a welcome", crate::PATIENCE, connect).await;
        assert_eq!(say(&mut stream, b"ferry").await, b"ferry");
    }

    #[tokio::test]
    async fn a_blackhole_holds_one_direction_and_a_healed_one_gives_it_back() {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let relay = TcpRelay::start(echo().await).await;
            let mut stream = TcpStream::connect(relay.address()).await.unwrap();
            assert_eq!(say(&mut stream, b"a").await, b"a");
            relay.blackhole(direction);
            stream.write_all(b"held").await.unwrap();
            // Another relay shows that the time would have been enough.
            let open = TcpRelay::start(echo().await).await;
            let mut other = TcpStream::connect(open.address()).await.unwrap();
            assert_eq!(say(&mut other, b"free").await, b"free");
            assert!(stream.read(&mut [0; 4]).now_or_never().is_none(), "{direction:?}: nothing came through");
            relay.heal();
            assert_eq!(hear(&mut stream, 4).await, b"held", "{direction:?}");
        }
    }

    #[tokio::test]
    async fn latency_makes_it_slow() {
        let relay = TcpRelay::start(echo().await).await;
        relay.delay(Duration::from_millis(40));
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        let begun = std::time::Instant::now();
        assert_eq!(say(&mut stream, b"ferry").await, b"ferry");
        assert!(begun.elapsed() >= Duration::from_millis(80), "{:?}", begun.elapsed());
    }
}
