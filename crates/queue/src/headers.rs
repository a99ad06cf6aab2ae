use chrono::{DateTime, SecondsFormat, Utc};
use lapin::BasicProperties;
use lapin::types::{AMQPValue, ShortString};

use crate::error::Error;
use crate::others::OtherHeaders;

/// The longest value of a header of ours, in bytes. What is longer comes from a stranger; it is cut, which makes it a
/// value that means nothing.
const LONGEST: usize = 255;

/// The names of our own headers.
pub mod header {
    /// When the fleet first took the trace in hand, RFC 3339. Retries give up by this age.
    pub const FIRST_SEEN: &str = "groundcrew-first-seen";
    /// How many retry tiers the trace has been through.
    pub const TIER: &str = "groundcrew-tier";
    /// The audit kinds that remain, separated by commas.
    pub const KINDS: &str = "groundcrew-kinds";
    /// Which generation of audits is asked for.
    pub const GENERATION: &str = "groundcrew-generation";
    /// The version of the prompt under which a new audit shall be opened.
    pub const PROMPT_VERSION: &str = "groundcrew-prompt-version";
    /// The row of `dead_letters` that was replayed.
    pub const SOURCE_DEAD_LETTER: &str = "groundcrew-source-dead-letter";
    /// The lane that the trace was published to, when its project was over its rate and it was moved to bulk.
    pub const MOVED_FROM: &str = "groundcrew-moved-from";
}

/// What a message carries beside its body: properties and headers, without what only the broker may say.
///
/// Reading is lenient, since anybody may publish: a header of ours with an impossible value counts as absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    /// The producer's id. Publishing again after an unknown outcome keeps it.
    pub message_id: Option<String>,
    /// What the producer wants to see again in an answer.
    pub correlation_id: Option<String>,
    /// The queue to answer to. Not checked here.
    pub reply_to: Option<String>,
    /// The body's media type, `application/json` when absent.
    pub content_type: Option<String>,
    /// The body's encoding, for instance `gzip`.
    pub content_encoding: Option<String>,
    /// See [`header::FIRST_SEEN`]. Never in the future when read from a delivery.
    pub first_seen: Option<DateTime<Utc>>,
    /// See [`header::TIER`]. A stranger may have set it to anything.
    pub tier: Option<u32>,
    /// See [`header::KINDS`]; empty means all kinds that the trace asks for.
    pub kinds: Vec<String>,
    /// See [`header::GENERATION`].
    pub generation: u32,
    /// See [`header::PROMPT_VERSION`]; none means the current one of whoever takes it in hand.
    pub prompt_version: Option<String>,
    /// See [`header::SOURCE_DEAD_LETTER`].
    pub source_dead_letter: Option<String>,
    /// See [`header::MOVED_FROM`].
    pub moved_from: Option<String>,
    /// The producer's own headers. They are kept when the message is published again.
    pub others: OtherHeaders,
}

impl Envelope {
    pub(crate) fn read(properties: &BasicProperties, now: DateTime<Utc>) -> Self {
        let owned = |value: &Option<ShortString>| value.as_ref().map(ToString::to_string);
        let mut envelope = Self {
            message_id: owned(properties.message_id()),
            correlation_id: owned(properties.correlation_id()),
            reply_to: owned(properties.reply_to()),
            content_type: owned(properties.content_type()),
            content_encoding: owned(properties.content_encoding()),
            ..Self::default()
        };
        let Some(headers) = properties.headers() else { return envelope };
        let mut others = OtherHeaders::default();
        for (name, value) in headers {
            match name.as_str() {
                // A time in the future would keep a message from ever getting too old.
                header::FIRST_SEEN => envelope.first_seen = time(value).filter(|time| *time <= now),
                header::TIER => envelope.tier = number(value),
                header::KINDS => envelope.kinds = bounded(value).map(|text| list(&text)).unwrap_or_default(),
                header::GENERATION => envelope.generation = number(value).unwrap_or_default(),
                header::PROMPT_VERSION => envelope.prompt_version = bounded(value),
                header::SOURCE_DEAD_LETTER => envelope.source_dead_letter = bounded(value),
                header::MOVED_FROM => envelope.moved_from = bounded(value),
                _ => others.keep(name.clone(), value.clone()),
            }
        }
        envelope.others = others.within(OtherHeaders::CARRIED);
        envelope
    }

    /// The properties to publish with. What makes a broker act on a message (expiration, priority, user id,
    /// copies) is never taken over from the message that was read.
    ///
    /// They fit into a frame of `frame_max` bytes, with room for what the broker adds: of the producer's own headers
    /// the largest are left out where they would not.
    pub(crate) fn properties(&self, now: DateTime<Utc>, frame_max: u32) -> Result<BasicProperties, Error> {
        let room = usize::try_from(frame_max / 4).unwrap_or(usize::MAX).saturating_sub(512);
        let mut headers = self.others.clone().within(room.min(OtherHeaders::CARRIED)).into_table();
        let mut set = |name: &'static str, value: AMQPValue| {
            headers.insert(name.into(), value);
        };
        if let Some(time) = self.first_seen {
            let time = time.to_rfc3339_opts(SecondsFormat::Millis, true);
            set(header::FIRST_SEEN, AMQPValue::LongString(time.into()));
        }
        if let Some(tier) = self.tier {
            set(header::TIER, AMQPValue::LongLongInt(tier.into()));
        }
        if !self.kinds.is_empty() {
            set(header::KINDS, AMQPValue::LongString(self.kinds.join(",").into()));
        }
        if self.generation > 0 {
            set(header::GENERATION, AMQPValue::LongLongInt(self.generation.into()));
        }
        if let Some(version) = &self.prompt_version {
            set(header::PROMPT_VERSION, AMQPValue::LongString(version.as_str().into()));
        }
        if let Some(row) = &self.source_dead_letter {
            set(header::SOURCE_DEAD_LETTER, AMQPValue::LongString(row.as_str().into()));
        }
        if let Some(lane) = &self.moved_from {
            set(header::MOVED_FROM, AMQPValue::LongString(lane.as_str().into()));
        }

        let content_type = self.content_type.as_deref().unwrap_or("application/json");
        let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
        let mut properties = BasicProperties::default()
            .with_delivery_mode(2)
            .with_app_id("groundcrew".into())
            .with_timestamp(seconds)
            .with_content_type(short(content_type, "content type")?)
            .with_headers(headers);
        if let Some(id) = &self.message_id {
            properties = properties.with_message_id(short(id, "message id")?);
        }
        if let Some(id) = &self.correlation_id {
            properties = properties.with_correlation_id(short(id, "correlation id")?);
        }
        if let Some(queue) = &self.reply_to {
            properties = properties.with_reply_to(short(queue, "reply queue")?);
        }
        if let Some(encoding) = &self.content_encoding {
            properties = properties.with_content_encoding(short(encoding, "content encoding")?);
        }
        Ok(properties)
    }
}

/// `ShortString::from` panics above 255 bytes.
pub(crate) fn short(text: &str, what: &'static str) -> Result<ShortString, Error> {
    ShortString::try_new(text).map_err(|_| Error::TooLong(what))
}

/// Headers that RabbitMQ writes, or acts upon.
///
/// RabbitMQ before 4.0 believes the death headers of a message that is published anew, takes a second passage
/// through the same queue for a cycle and drops the message after having confirmed it. `CC` and `BCC` would send
/// copies to queues of the producer's choice.
pub(crate) fn belongs_to_the_broker(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "x-death" | "x-delivery-count" | "x-acquired-count" | "cc" | "bcc")
        || name.starts_with("x-first-death-")
        || name.starts_with("x-last-death-")
        || name.starts_with("x-opt-rabbitmq-")
}

pub(crate) fn is_ours(name: &str) -> bool {
    const OURS: [&str; 7] = [
        header::FIRST_SEEN,
        header::TIER,
        header::KINDS,
        header::GENERATION,
        header::PROMPT_VERSION,
        header::SOURCE_DEAD_LETTER,
        header::MOVED_FROM,
    ];
    OURS.contains(&name)
}

pub(crate) fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => std::str::from_utf8(text.as_bytes()).ok().map(str::to_owned),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}

pub(crate) fn integer(value: &AMQPValue) -> Option<i64> {
    match value {
        AMQPValue::ShortShortInt(number) => Some((*number).into()),
        AMQPValue::ShortShortUInt(number) => Some((*number).into()),
        AMQPValue::ShortInt(number) => Some((*number).into()),
        AMQPValue::ShortUInt(number) => Some((*number).into()),
        AMQPValue::LongInt(number) => Some((*number).into()),
        AMQPValue::LongUInt(number) => Some((*number).into()),
        AMQPValue::LongLongInt(number) => Some(*number),
        _ => text(value)?.trim().parse().ok(),
    }
}

/// The text of a header of ours; one that is too long ends in an ellipsis.
fn bounded(value: &AMQPValue) -> Option<String> {
    let text = text(value)?;
    if text.len() <= LONGEST {
        return Some(text);
    }
    let end = text.floor_char_boundary(LONGEST - '…'.len_utf8());
    Some(format!("{}…", &text[..end]))
}

fn number(value: &AMQPValue) -> Option<u32> {
    u32::try_from(integer(value)?).ok()
}

fn time(value: &AMQPValue) -> Option<DateTime<Utc>> {
    match value {
        AMQPValue::Timestamp(time) => seconds(time),
        _ => DateTime::parse_from_rfc3339(text(value)?.trim()).ok().map(Into::into),
    }
}

pub(crate) fn seconds(seconds: &u64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(i64::try_from(*seconds).ok()?, 0)
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|kind| !kind.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use lapin::types::FieldTable;
    use proptest::prelude::*;

    use super::*;

    /// What RabbitMQ agrees on by default.
    const FRAME_MAX: u32 = 131_072;

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn read(pairs: &[(&str, AMQPValue)]) -> Envelope {
        let mut headers = FieldTable::default();
        for (name, value) in pairs {
            headers.insert((*name).into(), value.clone());
        }
        Envelope::read(&BasicProperties::default().with_headers(headers), now())
    }

    fn long(text: &str) -> AMQPValue {
        AMQPValue::LongString(text.into())
    }

    #[test]
    fn what_the_broker_wrote_is_not_taken_over() {
        let broker = [
            "x-death",
            "X-Death",
            "x-first-death-reason",
            "x-first-death-queue",
            "x-last-death-exchange",
            "x-delivery-count",
            "x-acquired-count",
            "CC",
            "BCC",
            "bcc",
        ];
        let pairs: Vec<(&str, AMQPValue)> = broker.iter().map(|name| (*name, long("anything"))).collect();
        let envelope = read(&pairs);
        assert_eq!(envelope, Envelope::default());
        assert_eq!(
            envelope
                .properties(now(), FRAME_MAX)
                .unwrap()
                .headers()
                .as_ref()
                .map(|table| table.inner().len()),
            Some(0)
        );
    }

    #[test]
    fn what_would_make_the_broker_act_on_a_message_is_not_taken_over() {
        let properties = BasicProperties::default()
            .with_expiration("5".into())
            .with_priority(9)
            .with_user_id("somebody".into())
            .with_cluster_id("x".into())
            .with_delivery_mode(1)
            .with_message_id("m".into());
        let again = Envelope::read(&properties, now()).properties(now(), FRAME_MAX).unwrap();
        assert_eq!((again.expiration(), again.priority(), again.user_id()), (&None, &None, &None));
        assert_eq!(again.delivery_mode(), &Some(2));
        assert_eq!(again.message_id().as_ref().map(ShortString::as_str), Some("m"));
        assert_eq!(again.timestamp(), &Some(1_800_000_000));
    }

    #[test]
    fn impossible_values_count_as_absent() {
        let nothing = Envelope::default();
        for value in [AMQPValue::Void, AMQPValue::Boolean(true), AMQPValue::Double(1.5), long("x"), long("")]
        {
            for name in [header::TIER, header::GENERATION, header::FIRST_SEEN] {
                assert_eq!(read(&[(name, value.clone())]), nothing, "{name}: {value:?}");
            }
        }
        let not_text = AMQPValue::LongString(vec![0xff, 0xfe].into());
        assert_eq!(
            read(&[(header::KINDS, not_text.clone()), (header::SOURCE_DEAD_LETTER, not_text)]),
            nothing
        );
        assert_eq!(read(&[(header::TIER, AMQPValue::LongInt(-1))]), nothing);
        assert_eq!(read(&[(header::TIER, AMQPValue::LongLongInt(1 << 40))]), nothing);
        assert_eq!(read(&[(header::KINDS, long(" , ,"))]), nothing);
        assert_eq!(read(&[(header::FIRST_SEEN, long("2999-01-01T00:00:00Z"))]), nothing);
        assert_eq!(read(&[(header::FIRST_SEEN, AMQPValue::Timestamp(u64::MAX))]), nothing);
    }

    #[test]
    fn numbers_and_times_are_read_in_every_form_that_a_client_may_send() {
        for value in
            [AMQPValue::ShortShortInt(7), AMQPValue::LongUInt(7), AMQPValue::LongLongInt(7), long(" 7 ")]
        {
            assert_eq!(read(&[(header::TIER, value)]).tier, Some(7));
        }
        let seconds = AMQPValue::Timestamp(1_700_000_000);
        let text = long("2023-11-14T23:13:20+01:00");
        assert_eq!(
            read(&[(header::FIRST_SEEN, seconds)]).first_seen,
            read(&[(header::FIRST_SEEN, text)]).first_seen
        );
    }

    #[test]
    fn headers_may_be_given_as_text_and_cannot_pose_as_ours() {
        let pair = |name: &str| (name.to_owned(), "v".to_owned());
        let long_name = "n".repeat(256);
        let headers: OtherHeaders =
            [pair("traceparent"), pair(header::TIER), pair("x-death"), pair(&long_name)]
                .into_iter()
                .collect();
        assert_eq!(headers.names().collect::<Vec<_>>(), ["traceparent"]);
        assert_eq!(headers.text("traceparent").as_deref(), Some("v"));
    }

    #[test]
    fn text_that_is_too_long_for_the_protocol_is_refused() {
        let envelope = Envelope { correlation_id: Some("c".repeat(256)), ..Envelope::default() };
        assert!(matches!(envelope.properties(now(), FRAME_MAX), Err(Error::TooLong("correlation id"))));
    }

    #[test]
    fn a_prompt_version_of_90_kb_is_not_carried() {
        let envelope = read(&[
            (header::PROMPT_VERSION, long(&"é".repeat(45_000))),
            (header::KINDS, long(&"gate,".repeat(20_000))),
            (header::SOURCE_DEAD_LETTER, long(&"a".repeat(255))),
        ]);
        let version = envelope.prompt_version.unwrap();
        assert!(version.len() <= LONGEST && version.ends_with("é…"), "{version}");
        assert!(envelope.kinds.len() <= 52);
        assert!(envelope.kinds.last().unwrap().ends_with('…'), "and no kind is called so");
        assert_eq!(envelope.source_dead_letter.map(|id| id.len()), Some(255));
    }

    #[test]
    fn what_is_published_fits_into_a_frame_with_room_for_what_the_broker_adds() {
        let big = "v".repeat(60_000);
        let others = [("a", "small"), ("big", &big), ("z", "small")];
        let others = others.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let most = "k".repeat(255);
        let envelope = Envelope {
            message_id: Some(most.clone()),
            correlation_id: Some(most.clone()),
            reply_to: Some(most.clone()),
            prompt_version: Some(most.clone()),
            source_dead_letter: Some(most.clone()),
            others: OtherHeaders::from_iter(others),
            ..Envelope::default()
        };
        for frame_max in [4_096, 8_192, FRAME_MAX, u32::MAX] {
            let properties = envelope.properties(now(), frame_max).unwrap();
            let names: Vec<&str> =
                properties.headers().as_ref().unwrap().inner().keys().map(ShortString::as_str).collect();
            assert_eq!(names, ["a", header::PROMPT_VERSION, header::SOURCE_DEAD_LETTER, "z"], "{frame_max}");
        }
    }

    fn text_or_none() -> impl Strategy<Value = Option<String>> {
        prop::option::of("\\PC{0,40}")
    }

    prop_compose! {
        fn envelopes()(
            (message_id, correlation_id, reply_to, content_encoding) in
                (text_or_none(), text_or_none(), text_or_none(), text_or_none()),
            content_type in "[a-z/]{1,20}",
            seen_ms in prop::option::of(0_i64..1_800_000_000_000),
            tier in any::<Option<u32>>(),
            generation in any::<u32>(),
            kinds in prop::collection::vec("[a-z_]{1,12}", 0..4),
            (source_dead_letter, moved_from) in (text_or_none(), text_or_none()),
            prompt_version in text_or_none(),
            others in prop::collection::vec(("[a-z]{1,9}", "\\PC{0,20}"), 0..4),
        ) -> Envelope {
            Envelope {
                message_id,
                correlation_id,
                reply_to,
                content_type: Some(content_type),
                content_encoding,
                first_seen: seen_ms.and_then(DateTime::from_timestamp_millis),
                tier,
                kinds,
                generation,
                prompt_version,
                source_dead_letter,
                moved_from,
                others: others.into_iter().collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(envelope in envelopes()) {
            let properties = envelope.properties(now(), FRAME_MAX).unwrap();
            prop_assert_eq!(Envelope::read(&properties, now()), envelope);
        }
    }
}
