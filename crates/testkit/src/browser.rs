//! A real browser, driven as a person would: headless Chromium by its own driver.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::{PATIENCE, wait_for};

/// How pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A desktop's window.
    Light,
    /// The same, with a preference for dark.
    Dark,
    /// A phone, 390 pixels wide.
    Phone,
}

impl Look {
    /// The word used in the names of pictures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::Phone => "phone",
        }
    }
}

/// The program that drives browsers. It ends with this.
#[derive(Debug)]
pub struct Driver {
    child: Child,
    // It would end when nobody could read any more what it says.
    _said: BufReader<ChildStdout>,
    url: String,
}

impl Driver {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// When it is not installed (Debian: chromium, chromium-driver) or does not start.
    pub fn start() -> Self {
        let mut child = Command::new("chromedriver")
            .args(["--port=0", "--log-level=SEVERE"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("chromedriver cannot be started ({error}): ./dev test installs it")
            });
        let mut said = BufReader::new(child.stdout.take().expect("it is piped"));
        let port = said.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let rest = line.split("successfully on port ").nth(1)?;
            rest.trim_end_matches('.').parse::<u16>().ok()
        });
        let url = format!("http://127.0.0.1:{}", port.expect("chromedriver says its port"));
        Self { child, _said: said, url }
    }

    /// A browser of its own, with no cookies.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn browser(&self, site: &str, look: Look) -> Browser {
        let mut arguments = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--window-size=1440,1000",
        ];
        if look == Look::Dark {
            arguments.push("--blink-settings=preferredColorScheme=0");
        }
        let mut options = json!({ "args": arguments });
        if look == Look::Phone {
            options["mobileEmulation"] =
                json!({ "deviceMetrics": { "width": 390, "height": 844, "pixelRatio": 1.0, "touch": true } });
        }
        let capabilities = json!({ "browserName": "chrome", "goog:chromeOptions": options });
        let capabilities = capabilities.as_object().cloned().unwrap_or_default();
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&self.url)
            .await
            .unwrap_or_else(|error| panic!("no browser: {error}"));
        Browser { client, site: site.to_owned(), look }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Its browsers end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One browser window.
#[derive(Debug, Clone)]
pub struct Browser {
    client: Client,
    site: String,
    look: Look,
}

impl Browser {
    /// Opens a page of the site.
    ///
    /// # Panics
    /// When it does not load. This holds for everything here.
    pub async fn open(&self, path: &str) {
        self.client
            .goto(&format!("{}{path}", self.site))
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    /// Logs in with a token.
    pub async fn log_in(&self, token: &str) {
        self.open("/login").await;
        self.write("#token", token).await;
        self.click("button.main").await;
        self.see("nav a[aria-current]").await;
    }

    /// The path of the page that is open.
    pub async fn path(&self) -> String {
        self.client.current_url().await.map(|url| url.path().to_owned()).unwrap_or_default()
    }

    /// Waits until the page has something.
    pub async fn see(&self, css: &str) {
        wait_for(css, PATIENCE, async || self.has(css).await.then_some(())).await;
    }

    /// Whether the page has something.
    pub async fn has(&self, css: &str) -> bool {
        self.run(
            "return document.readyState === 'complete' && !!document.querySelector(arguments[0])",
            vec![json!(css)],
        )
        .await
            == json!(true)
    }

    /// Clicks.
    pub async fn click(&self, css: &str) {
        let element =
            self.client.find(Locator::Css(css)).await.unwrap_or_else(|error| panic!("{css}: {error}"));
        element.click().await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Writes into a field.
    pub async fn write(&self, css: &str, text: &str) {
        let element =
            self.client.find(Locator::Css(css)).await.unwrap_or_else(|error| panic!("{css}: {error}"));
        element.send_keys(text).await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Presses keys, wherever the focus is.
    pub async fn press(&self, keys: &str) {
        let focused = self.client.active_element().await.unwrap_or_else(|error| panic!("no focus: {error}"));
        focused.send_keys(keys).await.unwrap_or_else(|error| panic!("{keys}: {error}"));
    }

    /// Runs a script of the test's.
    pub async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        // A page that is just being replaced has no answer; who waits asks again.
        self.client.execute(script, arguments).await.unwrap_or(Value::Null)
    }

    /// The text of the first element that fits.
    pub async fn text(&self, css: &str) -> String {
        let text =
            self.run("return document.querySelector(arguments[0])?.innerText ?? ''", vec![json!(css)]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// The whole page as it came.
    pub async fn source(&self) -> String {
        self.client.source().await.unwrap_or_default()
    }

    /// Keeps a picture in `target/screenshots`.
    pub async fn picture(&self, name: &str) {
        let png = self.client.screenshot().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let folder = folder();
        std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let file = folder.join(format!("{name}-{}.png", self.look.as_str()));
        std::fs::write(&file, png).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// Ends it.
    pub async fn close(self) {
        // It ends with its driver in any case.
        let _ = tokio::time::timeout(Duration::from_secs(10), self.client.close()).await;
    }
}

fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")), PathBuf::from);
    target.join("screenshots")
}
