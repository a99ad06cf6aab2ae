//! The published JSON Schema.

use super::{Call, repository};

const FILE: &str = "schemas/groundcrew.trace.v1.schema.json";

#[test]
fn the_published_schema_is_that_of_the_types() {
    let printed = Call::new().run("schema trace").stdout;
    let published = std::fs::read_to_string(repository(FILE)).unwrap_or_default();
    assert!(
        printed == published,
        "{FILE} is stale; write it again by: cargo run --bin groundcrew -- schema trace > {FILE}"
    );
}
