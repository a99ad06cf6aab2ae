# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # Variables that the other parts of ./dev set or read.
# The tests over real services, and the checks that need none.

command_check() {
    local step
    (($# == 0)) || usage_error "check takes no arguments."
    require_cargo
    require_packages compiler
    run_checks
}

run_checks() {
    local step
    step=$(now_ms)
    cargo fmt --all --check
    say "The format is right ($(since "$step"))."
    step=$(now_ms)
    cargo clippy --workspace --all-targets --locked -- -D warnings
    say "Clippy finds nothing ($(since "$step"))."
}

# What tests and fault runs find the services by.
export_services() {
    DATABASE_URL=$(database_url)
    AMQP_URL=$(broker_url)
    export DATABASE_URL AMQP_URL GROUNDCREW_TEST_DEV=$ROOT/dev
    if [[ -z $outside_database ]]; then
        export GROUNDCREW_TEST_POSTGRES_PID_FILE=$STATE/run/postgres.pid
    fi
    if [[ -z $outside_broker ]]; then
        GROUNDCREW_TEST_RABBITMQ_MANAGEMENT=$(rabbitmq_management_url)
        export GROUNDCREW_TEST_RABBITMQ_MANAGEMENT GROUNDCREW_TEST_RABBITMQ_PID_FILE=$STATE/run/rabbitmq.pid
    fi
}

# Programs of the testkit that need the services to themselves: chaos stops and kills them, bench fills them.
command_rig() { # PROGRAM [ARGS...]
    local program=$1 code=0
    shift
    prepare_state
    find_outside
    if [[ -n $outside_database$outside_broker ]]; then
        usage_error "$program runs only on private services, which nobody else uses: unset DATABASE_URL and AMQP_URL."
    fi
    require_cargo
    require_packages compiler "${private_services[@]}"
    cargo build --release --locked --package cli --package testkit --bins
    begin_run
    start_services "${private_services[@]}"
    export_services
    "${CARGO_TARGET_DIR:-target}/release/$program" "$@" || code=$?
    exit "$code"
}

command_test() {
    local runner step code=0
    prepare_state
    find_outside
    require_cargo
    require_packages compiler browser "${private_services[@]}"

    begin_run
    start_services "${private_services[@]}" &
    services_job=$!
    if [[ ${CI:-} == true ]]; then
        run_checks
    fi

    if (($# == 0)); then
        # The services start meanwhile. Arguments may ask for less than everything to be built.
        cargo test --workspace --locked --no-run
    fi

    if command -v cargo-nextest >/dev/null; then
        runner=(cargo nextest run --workspace --locked)
        if [[ ${CI:-} == true ]] && grep -qsF '[profile.ci]' .config/nextest.toml; then
            runner+=(--profile ci)
        fi
    else
        runner=(cargo test --workspace --locked)
    fi
    wait "$services_job" || die "the services did not start."
    services_job=''

    export_services
    step=$(now_ms)
    "${runner[@]}" "$@" || code=$?
    say "The tests ended with code $code ($(since "$step"))."
    exit "$code"
}
