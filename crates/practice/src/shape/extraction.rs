//! The reply to the call that only lists the claims of an answer.

use serde_json::json;

use super::{Object, Shape};

pub(super) static SHAPE: Shape = Shape {
    spec: None,
    list: "claims",
    verdict: None,
    quote: None,
    source: None,
    figure: None,
    remark: "/claims/0/claim_text",
    claim: |claim| json!({ "claim_text": claim.text }),
    beside: |_| Object::new(),
    figures: |_, _| Object::new(),
};
