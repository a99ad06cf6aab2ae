//! TLS before a service that has none, with certificates of the test's own.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Somebody who signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// A new one, trusted by nobody.
    ///
    /// # Panics
    /// When no key can be made.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { pem: certificate.pem(), issuer: Issuer::new(params, key) }
    }

    /// Its own certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    fn server(&self, name: &str) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// How a connection comes to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// It begins with it.
    Tls,
    /// It asks for it first, as Postgres' clients do.
    Postgres,
}

/// Takes TLS on one side and carries plain bytes to a server on the other.
#[derive(Debug)]
pub struct TlsRelay {
    address: SocketAddr,
    _stop: DropGuard,
}

impl TlsRelay {
    /// Listens before `server` with a certificate that `authority` signed for `name`.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(server: impl Into<String>, speaks: Speaks, authority: &Authority, name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (server, acceptor) = (server.into(), TlsAcceptor::from(authority.server(name)));
        let stop = CancellationToken::new();
        let token = stop.clone();
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = token.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                let Ok((client, _)) = accepted else { continue };
                let (acceptor, server, token) = (acceptor.clone(), server.clone(), token.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = token.cancelled() => {}
                        // Whoever refuses the certificate hangs up, which is what is tested.
                        _ = carry(client, &server, speaks, &acceptor) => {}
                    }
                });
            }
        });
        Self { address, _stop: stop.drop_guard() }
    }

    /// The port it listens on, on loopback.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

async fn carry(
    mut client: TcpStream,
    server: &str,
    speaks: Speaks,
    acceptor: &TlsAcceptor,
) -> std::io::Result<()> {
    if speaks == Speaks::Postgres {
        // SSLRequest: its length and its number; S is yes.
        let mut request = [0; 8];
        client.read_exact(&mut request).await?;
        assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47], "the client did not ask for TLS");
        client.write_all(b"S").await?;
    }
    let mut client = acceptor.accept(client).await?;
    let mut server = TcpStream::connect(server).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
