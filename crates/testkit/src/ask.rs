//! One HTTP question to a program under test.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Client;

/// The status and the body of an answer; none when nobody answers.
pub async fn ask(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let client =
        Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_secs(10)).build().ok()?;
    let response = client.get(format!("http://{address}{path}")).send().await.ok()?;
    Some((response.status().as_u16(), response.text().await.ok()?))
}
