use proptest::prelude::*;

use super::*;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind, 0, 1], &length[..], payload, &[0xce]].concat()
}

fn header(flags: u16, properties: &[u8]) -> Vec<u8> {
    let fixed = [&60_u16.to_be_bytes()[..], &0_u16.to_be_bytes(), &2_u64.to_be_bytes()].concat();
    frame(CONTENT_HEADER, &[&fixed[..], &flags.to_be_bytes(), properties].concat())
}

fn cleaned(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Cleaner::default().push(bytes, &mut out);
    out
}

#[test]
fn a_binary_id_becomes_question_marks_and_its_neighbours_stay() {
    let before = header(0b1000_0000_1000_0000, b"\x04json\x05a\xff\xfeb\x80");
    let after = header(0b1000_0000_1000_0000, b"\x04json\x05a??b?");
    assert_eq!(cleaned(&before), after);
}

/// A long string, table or array: its length and its content.
fn long(content: &[u8]) -> Vec<u8> {
    [&u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
}

#[test]
fn header_names_are_cleaned_at_every_depth_and_header_values_are_not() {
    let headers = |byte: u8| {
        let value = [b"S", &long(&[0xff])[..]].concat();
        let inner = long(&[&[1, byte], &value[..]].concat());
        let array = long(&[b"F", &inner[..], b"t\x01", &value].concat());
        let table = [&[2, b'a', byte][..], b"A", &array, b"\x01bI\0\0\0\x07"].concat();
        header(1 << 13, &long(&table))
    };
    assert_eq!(cleaned(&headers(0xff)), headers(b'?'));
}

#[test]
fn a_routing_key_is_cleaned_where_messages_carry_one() {
    let deliver = |key: &[u8; 2]| {
        let fixed = b"\x00\x3c\x00\x3c\x03tag\0\0\0\0\0\0\0\x01\x00\x01e\x02";
        frame(METHOD, &[&fixed[..], key].concat())
    };
    assert_eq!(cleaned(&deliver(b"\xc3\x28")), deliver(b"?("));
    let returned = |key: &[u8; 2]| {
        let fixed = b"\x00\x3c\x00\x32\x01\x38\x08NO_ROUTE\x00\x02";
        frame(METHOD, &[&fixed[..], key].concat())
    };
    assert_eq!(cleaned(&returned(b"\xff\xff")), returned(b"??"));
}

#[test]
fn properties_that_cannot_be_walked_are_dropped_with_the_message_kept() {
    let unknown_value = header(1 << 13, b"\x00\x00\x00\x03\x01aZ");
    assert_eq!(cleaned(&unknown_value), header(0, b""));
    let too_short = header(1 << 7, b"\x09abc");
    assert_eq!(cleaned(&too_short), header(0, b""));
    let deep = (0..200).fold(b"V".to_vec(), |inner, _| [b"A", &long(&inner)[..]].concat());
    let table = long(&[b"\x01a", &deep[..]].concat());
    assert_eq!(cleaned(&header(1 << 13, &table)), header(0, b""));
}

/// One header with a text.
fn text(name: &str, text: &str) -> Vec<u8> {
    let name = [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    [&name[..], b"S", &long(text.as_bytes())].concat()
}

fn tune(frame_max: u32) -> Vec<u8> {
    frame(METHOD, &[b"\0\x0a\0\x1e\x07\xff", &frame_max.to_be_bytes()[..], b"\0\x3c"].concat())
}

/// What a connection that agreed on `frame_max` makes of a frame.
fn agreed(frame_max: u32, bytes: &[u8]) -> Vec<u8> {
    let mut cleaner = Cleaner::new(0);
    let mut out = Vec::new();
    cleaner.push(&tune(frame_max), &mut out);
    assert_eq!(out, tune(frame_max));
    out.clear();
    cleaner.push(bytes, &mut out);
    out
}

#[test]
fn headers_above_the_agreed_frame_size_do_not_end_the_connection() {
    let death = [&b"\x07x-death"[..], b"A", &long(&[b"F", &long(&text("queue", "q"))[..]].concat())].concat();
    let ours = text("groundcrew-kinds", "gate");
    let small = text("small", "v");
    let big = text("big", &"v".repeat(131_000));
    // Content type before the headers, message id after them.
    let with = |entries: &[&[u8]]| {
        let properties = [b"\x04json", &long(&entries.concat())[..], b"\x02id"].concat();
        header(0b1010_0000_1000_0000, &properties)
    };
    let sent = with(&[&big, &small, &death, &ours]);
    assert!(sent.len() > 131_072);
    assert_eq!(agreed(131_072, &sent), with(&[&ours, &death, &small]));
    assert_eq!(agreed(0, &sent), sent, "without a limit nothing is left out");
    let many: Vec<Vec<u8>> = (0..9_000).map(|at| text(&format!("x-{at}"), "value")).collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).chain([&death[..]]).collect();
    let short = agreed(131_072, &with(&many));
    assert!(short.len() < 40_000 && short.windows(7).any(|bytes| bytes == b"x-death"));
}

#[test]
fn the_smaller_of_both_wishes_counts() {
    let mut cleaner = Cleaner::new(8_192);
    cleaner.push(&tune(131_072), &mut Vec::new());
    let mut out = Vec::new();
    cleaner.push(&header(1 << 13, &long(&text("big", &"v".repeat(9_000)))), &mut out);
    assert_eq!(out, header(1 << 13, &long(b"")));
}

#[test]
fn enormous_headers_are_dropped_without_being_held() {
    let next = header(0, b"");
    let sent = [header(1 << 13, &long(&text("big", &"v".repeat(2 * LONGEST)))), next.clone()].concat();
    assert_eq!(cleaned(&sent), [header(0, b""), next].concat());
}

proptest! {
    #[test]
    fn the_stream_may_come_in_any_pieces(
        payloads in prop::collection::vec((1_u8..5, prop::collection::vec(any::<u8>(), 0..80)), 0..8),
        cuts in prop::collection::vec(1_usize..40, 1..60),
    ) {
        let stream: Vec<u8> = payloads.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
        let whole = cleaned(&stream);
        let mut cleaner = Cleaner::default();
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            cleaner.push(piece, &mut pieces);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn anything_at_all_passes_without_a_panic_and_bodies_pass_unchanged(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        body in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        cleaned(&noise);
        let body = frame(3, &body);
        prop_assert_eq!(cleaned(&body), body);
    }

    #[test]
    fn text_that_is_utf_8_stays_as_it_is(id in "\\PC{0,60}") {
        let properties = [&[u8::try_from(id.len()).unwrap_or(0)][..], id.as_bytes()].concat();
        prop_assume!(id.len() < 256);
        let frame = header(1 << 7, &properties);
        prop_assert_eq!(cleaned(&frame), frame);
    }
}
