//! Signatures of webhooks: HMAC-SHA256 (RFC 2104, FIPS 180-4) over the time, a full stop, and the body.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The header with the time of the try, in whole seconds since 1970.
pub const TIMESTAMP: &str = "groundcrew-timestamp";

/// The header with the signature.
pub const SIGNATURE: &str = "groundcrew-signature";

/// The value of [`SIGNATURE`]: `v1=` and the HMAC in hex. The time is part of what is signed, so that a receiver can
/// refuse what somebody recorded and sends again later.
pub fn signature(key: &[u8], timestamp: i64, body: &[u8]) -> String {
    let mut signature = "v1=".to_owned();
    // HMAC takes keys of any length.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) {
        mac.update(timestamp.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        for byte in mac.finalize().into_bytes() {
            // Writing to a String cannot fail.
            let _ = write!(signature, "{byte:02x}");
        }
    }
    signature
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_signature_is_the_one_that_others_compute() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac Jefe
        let expected = "fa5f6481efc59da48b19c9dc10196c9953e5651f8304b3a318b6b87d70272e0a";
        assert_eq!(signature(b"Jefe", 1_700_000_000, b"{\"a\":1}"), format!("v1={expected}"));
    }

    proptest! {
        #[test]
        fn whatever_is_changed_changes_the_signature(
            key in prop::collection::vec(any::<u8>(), 1..80), body in prop::collection::vec(any::<u8>(), 1..200),
            time in 0_i64..4_000_000_000, at: prop::sample::Index,
        ) {
            let signed = signature(&key, time, &body);
            prop_assert_eq!(signed.len(), 3 + 64);
            prop_assert_ne!(&signed, &signature(&key, time + 1, &body));
            let mut other = body.clone();
            let index = at.index(other.len());
            other[index] ^= 1;
            prop_assert_ne!(&signed, &signature(&key, time, &other));
        }
    }
}
