//! Traces to be audited, in several scripts.

use serde_json::json;
use trace::Trace;

/// A trace whose reference is what was retrieved.
pub fn trace_of(chunks: &[(&str, &str)], query: &str, answer: &str) -> Trace {
    let retrieved: Vec<_> = chunks
        .iter()
        .zip(1..)
        .map(|((id, text), rank)| json!({ "source_id": id, "rank": rank, "text": text }))
        .collect();
    let reference: Vec<_> =
        chunks.iter().map(|(id, text)| json!({ "source_id": id, "text": text })).collect();
    let trace = json!({
        "schema": "groundcrew.trace/v1", "trace_id": "t", "project": "p", "query": query, "answer": answer,
        "retrieval": { "retrieved_at": "2026-01-01T00:00:00Z", "chunks": retrieved }, "reference": reference,
    });
    trace::decode(trace.to_string().as_bytes()).unwrap()
}

/// Two chunks, and an answer that is right, wrong, unsupported and denied in turn.
pub fn english() -> Trace {
    trace_of(
        &[
            ("museum", "The Harbour Museum in Porto opened in 1987. Entry is free on Sundays."),
            ("ships", "The collection holds 240 ships. Dogs are not allowed in the halls."),
        ],
        "What does the museum show?",
        "Here is what I found:\n\n1. The Harbour Museum in Porto opened in 1987 [1].\n2. It holds 204 ships [ships].\n\n\
         Dogs are allowed in the halls. Parking costs 4 euro (source: museum, 2)! Anything else?",
    )
}

pub fn japanese() -> Trace {
    trace_of(
        &[
            ("東京", "東京タワーは1958年に完成しました。高さは333メートルです。"),
            ("公園", "芝公園は毎日開いています。"),
        ],
        "東京タワーの高さは？",
        "東京タワーは1958年に完成しました。高さは３３３メートルです。入場料は1500円です。",
    )
}

/// Thai puts no full stops, and may count in its own digits.
pub fn thai() -> Trace {
    trace_of(
        &[("หอคอย", "หอคอยริมแม่น้ำสร้างเสร็จในปี ๒๕๓๐\nหอคอยสูง 333 เมตร"), ("สวน", "สวนสาธารณะเปิดทุกวันเวลา 9:00")],
        "หอคอยสูงเท่าไร",
        "หอคอยริมแม่น้ำสร้างเสร็จในปี 2530\nหอคอยสูง 343 เมตร\nค่าเข้าชม 50 บาท",
    )
}

/// Arabic with its own digits and marks.
pub fn arabic() -> Trace {
    trace_of(
        &[
            ("متحف", "افتتح متحف الميناء في بورتو عام ١٩٨٧. الدخول مجاني أيام الأحد."),
            ("سفن", "تضم المجموعة ٢٤٠ سفينة قديمة."),
        ],
        "ماذا يعرض المتحف؟",
        "افتتح متحف الميناء في بورتو عام 1987. تضم المجموعة ٢٠٤ سفينة قديمة. رسوم موقف السيارات ٤ يورو.",
    )
}

/// Traces, with how many of their claims are grounded, and how many claims a judge lists.
pub fn all() -> Vec<(Trace, (usize, usize))> {
    vec![
        (english(), (1, 4)),
        (japanese(), (2, 3)),
        (thai(), (1, 3)),
        (arabic(), (1, 3)),
        (
            trace_of(
                &[(
                    "köln",
                    "Die Straßenbrücke wurde 1965 eröffnet und ist 320 Meter lang. Sie ist nicht gesperrt.",
                )],
                "Wie lang ist die Brücke?",
                "**Antwort:** Die Straßenbrücke ist 320 Meter lang. Sie wurde am 3. Mai 1956 eröffnet.",
            ),
            (1, 2),
        ),
        (
            trace_of(
                &[("a", "Nothing of note.")],
                "?",
                "## Prices 2024\n\nThe price is 1.250,50 euro; 3,5 % more than in 2023.",
            ),
            (0, 1),
        ),
        (trace_of(&[("a", "It opens at 9.")], "?", "It opens at 9. It opens at 9. Really?"), (1, 1)),
        (
            trace_of(&[("a", "It opens at 9.")], "When?", "When exactly? That is the question, isn't it?"),
            (0, 0),
        ),
    ]
}
