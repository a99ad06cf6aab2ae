//! Migrations are compiled in: a new file must lead to a new build.

#![expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
