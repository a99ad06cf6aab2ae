//! What is published, and what the judge will say about it.

use practice::{CannedReply, Fault};

use crate::material::{
    TEA, TraceBuilder, WRONG_FARE, all_grounded, fabricated_quote, silent_about_tea, trace, wrong_fare,
};
use crate::{Fate, Seed};

/// One trace.
#[derive(Debug)]
pub(super) struct Material {
    /// What is published.
    pub trace: TraceBuilder,
    /// How it has to end.
    pub fate: Fate,
    /// What the judge says, call by call; the last reply repeats.
    pub replies: Vec<CannedReply>,
}

/// So many traces of a seed.
pub(super) fn of(seed: &mut Seed, count: usize) -> Vec<Material> {
    (0..count).map(|at| one(seed, trace(&format!("t-{at:06}")))).collect()
}

fn one(seed: &mut Seed, plain: TraceBuilder) -> Material {
    let says = CannedReply::content;
    let audit = |trace, replies| Material { trace, fate: Fate::Audit, replies };
    let after = |fault| vec![CannedReply::fault(fault), says(all_grounded())];
    match seed.below(20) {
        0..=7 => audit(plain, vec![says(all_grounded())]),
        8 | 9 => audit(plain.saying(TEA), vec![says(silent_about_tea("minor"))]),
        10 | 11 => audit(plain.saying(WRONG_FARE), vec![says(wrong_fare("critical"))]),
        12 => audit(plain, vec![says("nonsense".into()), says(all_grounded())]),
        13 => audit(plain, vec![says(fabricated_quote())]),
        14 => audit(plain, after(Fault::Status500)),
        15 => audit(plain, after(Fault::Html200)),
        16 => audit(plain, after(Fault::CutBody)),
        17 => audit(plain, after(Fault::Status429)),
        // A call that gets no answer until its time is over; few, since each takes seconds.
        18 if seed.below(8) == 0 => audit(plain, after(Fault::Hang)),
        18 => audit(plain, after(Fault::BrokenUtf8)),
        _ => Material {
            trace: plain.set("/schema", "groundcrew.trace/v0"),
            fate: Fate::DeadLetter,
            replies: vec![says(all_grounded())],
        },
    }
}
