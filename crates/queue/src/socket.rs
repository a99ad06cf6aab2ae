//! The socket under the client library: it cleans what it reads, and it can be closed from outside.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use futures_util::Stream;
use futures_util::io::{AsyncRead, AsyncWrite};
use lapin::tcp::{AMQPUriTcpExt as _, AsyncTcpStream, OwnedTLSConfig};
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::frames::Cleaner;

/// How much is read from the network at once, bytes.
const READ: usize = 64 * 1024;

/// Connects over a socket of ours, which `hang_up` closes whatever state it is in.
///
/// The library reads in a thread of its own. When a broker accepts a connection and then says nothing, giving up
/// on this future leaves that thread waiting for as long as the socket is open: one more with every attempt.
pub(crate) async fn connect(
    uri: AMQPUri,
    properties: ConnectionProperties,
    authorities: Option<String>,
    hang_up: CancellationToken,
) -> Result<Connection, lapin::Error> {
    let kit = Tokio::current();
    let tokio = Runtime::new(kit.clone());
    let runtime = Runtime::new(RuntimeParts::new(kit.clone(), Network(kit)));
    let wish = uri.query.frame_max.unwrap_or_default();
    let dial = async move |uri: AMQPUri, _: Runtime<RuntimeParts<Tokio, Network>>| {
        let tls = OwnedTLSConfig { cert_chain: authorities.clone(), ..OwnedTLSConfig::default() };
        let stream = tokio::select! {
            stream = uri.connect_with_config_async(tls.as_ref(), &tokio) => stream?,
            () = hang_up.cancelled() => return Err(hung_up().into()),
        };
        Ok(AsyncTcpStream::Plain(Socket::new(stream, wish, hang_up.clone())))
    };
    Connection::connector(uri, runtime, dial, properties).await
}

fn hung_up() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "given up by this process")
}

type TokioStream = <Tokio as Reactor>::TcpStream;

/// A plain or encrypted connection, cleaned on the way in.
pub(crate) struct Socket {
    stream: AsyncTcpStream<TokioStream>,
    cleaner: Cleaner,
    /// Read, cleaned and not yet given out from `given` on.
    clean: Vec<u8>,
    given: usize,
    raw: Box<[u8]>,
    hang_up: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Socket {
    fn new(stream: AsyncTcpStream<TokioStream>, wish: u32, hang_up: CancellationToken) -> Self {
        Self {
            stream,
            cleaner: Cleaner::new(wish),
            clean: Vec::new(),
            given: 0,
            raw: vec![0; READ].into_boxed_slice(),
            hang_up: Box::pin(hang_up.cancelled_owned()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut [u8]) -> Poll<io::Result<usize>> {
        let socket = self.get_mut();
        if socket.hang_up.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(hung_up()));
        }
        while socket.given == socket.clean.len() {
            socket.clean.clear();
            socket.given = 0;
            match Pin::new(&mut socket.stream).poll_read(context, &mut socket.raw) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(0)),
                Poll::Ready(Ok(length)) => socket.cleaner.push(&socket.raw[..length], &mut socket.clean),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let length = out.len().min(socket.clean.len() - socket.given);
        out[..length].copy_from_slice(&socket.clean[socket.given..socket.given + length]);
        socket.given += length;
        Poll::Ready(Ok(length))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_close(context)
    }
}

/// Tokio, with our socket in place of its own: the library fixes the type of the stream through its runtime.
#[derive(Clone, Debug)]
pub(crate) struct Network(Tokio);

impl Reactor for Network {
    type TcpStream = Socket;
    type Sleep = <Tokio as Reactor>::Sleep;

    /// Not used by the library, and not offered: the bound that the trait puts on `handle` cannot be named here.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _handle: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Socket, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(duration)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Socket>> + Send + 'static {
        let connecting = self.0.tcp_connect_addr(address);
        async move { Ok(Socket::new(AsyncTcpStream::Plain(connecting.await?), 0, CancellationToken::new())) }
    }
}
