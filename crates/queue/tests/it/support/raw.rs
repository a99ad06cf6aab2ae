//! Messages that no well-behaved client sends, through the client library and, where it is too well-behaved
//! itself, as hand-made frames.

use futures_util::StreamExt as _;
use lapin::options::{BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Publishes with any headers.
#[expect(clippy::disallowed_methods, reason = "a stranger's message, which the publisher would clean")]
pub async fn publish(url: &str, exchange: &str, key: &str, properties: BasicProperties, headers: FieldTable) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let properties = properties.with_headers(headers);
    let options = BasicPublishOptions::default();
    let confirm =
        channel.basic_publish(exchange.into(), key.into(), options, b"{}", properties).await.unwrap();
    assert!(confirm.await.unwrap().is_ack());
    connection.close(200, "OK".into()).await.unwrap();
}

/// Somebody who publishes a trace and waits for the verdict over the broker's direct reply.
pub struct Asker {
    connection: Connection,
    answers: lapin::Consumer,
}

impl Asker {
    #[expect(clippy::disallowed_methods, reason = "a producer that is not one of ours")]
    pub async fn ask(url: &str, exchange: &str, key: &str) -> Self {
        let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let options = BasicConsumeOptions { no_ack: true, ..Default::default() };
        let queue = "amq.rabbitmq.reply-to";
        let answers =
            channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.unwrap();
        let properties = BasicProperties::default().with_reply_to(queue.into());
        let options = BasicPublishOptions::default();
        channel.basic_publish(exchange.into(), key.into(), options, b"{}", properties).await.unwrap();
        Self { connection, answers }
    }

    pub async fn answer(&mut self) -> Vec<u8> {
        self.answers.next().await.unwrap().unwrap().data
    }

    pub async fn leave(self) {
        self.connection.close(200, "OK".into()).await.unwrap();
    }
}

/// Publishes a message whose id is not UTF-8, which AMQP 0-9-1 allows.
pub async fn publish_with_binary_id(address: &str, url: &str, vhost: &str, exchange: &str, key: &str) {
    let credentials = url.split("://").nth(1).unwrap().rsplit_once('@').unwrap().0;
    let (user, password) = credentials.split_once(':').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"AMQP\x00\x00\x09\x01").await.unwrap();
    expect(&mut stream, 10, 10).await;

    let mut start_ok = method(10, 11);
    start_ok.extend(0_u32.to_be_bytes());
    start_ok.extend(short(b"PLAIN"));
    start_ok.extend(long(format!("\0{user}\0{password}").as_bytes()));
    start_ok.extend(short(b"en_US"));
    send(&mut stream, 1, 0, &start_ok).await;
    expect(&mut stream, 10, 30).await;

    let mut tune_ok = method(10, 31);
    tune_ok.extend(2047_u16.to_be_bytes());
    tune_ok.extend(131_072_u32.to_be_bytes());
    tune_ok.extend(0_u16.to_be_bytes());
    send(&mut stream, 1, 0, &tune_ok).await;
    let mut open = method(10, 40);
    open.extend(short(vhost.as_bytes()));
    open.extend(short(b""));
    open.push(0);
    send(&mut stream, 1, 0, &open).await;
    expect(&mut stream, 10, 41).await;

    let mut open_channel = method(20, 10);
    open_channel.extend(short(b""));
    send(&mut stream, 1, 1, &open_channel).await;
    expect(&mut stream, 20, 11).await;
    let mut confirm = method(85, 10);
    confirm.push(0);
    send(&mut stream, 1, 1, &confirm).await;
    expect(&mut stream, 85, 11).await;

    let mut publish = method(60, 40);
    publish.extend(0_u16.to_be_bytes());
    publish.extend(short(exchange.as_bytes()));
    publish.extend(short(key.as_bytes()));
    publish.push(0);
    send(&mut stream, 1, 1, &publish).await;
    let body = b"{}";
    let mut header = 60_u16.to_be_bytes().to_vec();
    header.extend(0_u16.to_be_bytes());
    header.extend(u64::try_from(body.len()).unwrap().to_be_bytes());
    header.extend((1_u16 << 7).to_be_bytes());
    header.extend(short(&[0xff, 0xfe, 0x00, 0x80]));
    send(&mut stream, 2, 1, &header).await;
    send(&mut stream, 3, 1, body).await;
    expect(&mut stream, 60, 80).await;
}

fn method(class: u16, method: u16) -> Vec<u8> {
    [class.to_be_bytes(), method.to_be_bytes()].concat()
}

fn short(text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text].concat()
}

fn long(text: &[u8]) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_be_bytes(), text].concat()
}

async fn send(stream: &mut TcpStream, kind: u8, channel: u16, payload: &[u8]) {
    let mut frame = vec![kind];
    frame.extend(channel.to_be_bytes());
    frame.extend(long(payload));
    frame.push(0xce);
    stream.write_all(&frame).await.unwrap();
}

async fn expect(stream: &mut TcpStream, class: u16, method: u16) {
    let mut head = [0; 7];
    stream.read_exact(&mut head).await.unwrap();
    let length = usize::try_from(u32::from_be_bytes(head[3..7].try_into().unwrap())).unwrap();
    let mut payload = vec![0; length + 1];
    stream.read_exact(&mut payload).await.unwrap();
    let got = (u16::from_be_bytes([payload[0], payload[1]]), u16::from_be_bytes([payload[2], payload[3]]));
    assert_eq!(got, (class, method), "{}", String::from_utf8_lossy(&payload));
}
