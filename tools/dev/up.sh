# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # Variables that the other parts of ./dev set or read.
# The whole system on this machine: ./dev up, status and env.

TRACES=examples/traces.jsonl
CANNED=examples/canned.jsonl

profile_folder() {
    # Cargo's one profile that is not called like its folder is the default one.
    local profile=${GROUNDCREW_PROFILE:-dev}
    local target=${CARGO_TARGET_DIR:-target}
    [[ $profile != dev ]] || profile=debug
    [[ $target == /* ]] || target=$ROOT/$target
    printf '%s/%s' "$target" "$profile"
}

practice_url() {
    local port
    port=$(port_of judge) || return 1
    printf 'http://127.0.0.1:%s/v1' "$port"
}

is_ours() { # URL SECRET: is it the URL of a private service, as ./dev env prints it?
    # The ports may have changed since, the password has not.
    [[ -s $STATE/secrets/$2 && $1 == *":$(<"$STATE/secrets/$2")@"* ]]
}

# Finds out what is used from outside instead of being started here. A variable that only repeats
# what ./dev env printed is none of those, or a shell with that environment could not start anything.
find_outside() { # [running]: also what the running worker was started with
    outside_database='' outside_broker='' outside_judge='' outside_model=''
    if [[ ${1:-} == running && -r $STATE/run/outside.env ]] && is_running worker; then
        # shellcheck source=/dev/null
        source "$STATE/run/outside.env"
    fi
    if [[ -n ${DATABASE_URL:-} ]] && ! is_ours "$DATABASE_URL" postgres; then
        outside_database=$DATABASE_URL
    fi
    if [[ -n ${AMQP_URL:-} ]] && ! is_ours "$AMQP_URL" rabbitmq; then
        outside_broker=$AMQP_URL
    fi
    if [[ -n ${GROUNDCREW_JUDGE__BASE_URL:-} && $GROUNDCREW_JUDGE__BASE_URL != "$(practice_url || true)" ]]; then
        outside_judge=$GROUNDCREW_JUDGE__BASE_URL
        outside_model=${GROUNDCREW_JUDGE__MODEL:-}
    fi
    private_services=()
    [[ -n $outside_database ]] || private_services+=(postgres)
    [[ -n $outside_broker ]] || private_services+=(rabbitmq)
}

record_outside() {
    # ./dev env and status in another shell are to tell the same as here.
    printf '%s=%q\n' outside_database "$outside_database" outside_broker "$outside_broker" \
        outside_judge "$outside_judge" outside_model "$outside_model" |
        write_private "$STATE/run/outside.env"
}

database_url() { if [[ -n $outside_database ]]; then printf '%s' "$outside_database"; else pg_url; fi; }
broker_url() { if [[ -n $outside_broker ]]; then printf '%s' "$outside_broker"; else rabbitmq_url; fi; }
judge_url() { if [[ -n $outside_judge ]]; then printf '%s' "$outside_judge"; else practice_url; fi; }
judge_model() { if [[ -n $outside_judge ]]; then printf '%s' "$outside_model"; else printf 'groundcrew-practice-judge'; fi; }

start_judge() {
    local begun port
    if is_running judge; then
        say "The practice judge is running already, on 127.0.0.1:$(port_of judge)."
        return
    fi
    begun=$(now_ms)
    port=$(claim_port judge)
    launch judge "$groundcrew" judge practice --listen "127.0.0.1:$port" --canned "$CANNED"
    if ! await_ready judge 20 is_listening "$port"; then
        show_log judge
        return 1
    fi
    say "The practice judge is ready on 127.0.0.1:$port ($(since "$begun"))."
}

start_worker() {
    if is_running worker; then
        say "The worker is running already."
        if [[ $groundcrew -nt $STATE/run/worker.pid ]]; then
            say "It is an older build than the one just made; './dev down' and './dev up' replace it."
        fi
        return
    fi
    launch worker "$groundcrew" worker
    say "The worker is started (process $(running_pid worker || printf 'ended'))."
}

desk_url() {
    local port
    port=$(port_of desk) || return 1
    printf 'http://127.0.0.1:%s' "$port"
}

start_desk() {
    local begun port
    if is_running desk; then
        say "The desk is running already, at $(desk_url)."
        return
    fi
    begun=$(now_ms)
    port=$(claim_port desk)
    # Nobody is asked who they are, and nobody but this machine gets that far.
    GROUNDCREW_DESK__LISTEN=127.0.0.1:$port GROUNDCREW_DESK__LOGIN=loopback,token launch desk "$groundcrew" desk
    if ! await_ready desk 20 is_listening "$port"; then
        show_log desk
        return 1
    fi
    say "The desk is ready at $(desk_url) ($(since "$begun"))."
}

check_worker() {
    if ! is_running worker; then
        warn "The worker has ended."
        show_log worker
        return 1
    fi
}

watch_results() {
    # It runs beside this shell, so that a worker that dies is noticed while results are awaited.
    "$groundcrew" watch --until-idle --traces "$TRACES" </dev/null &
    watch_job=$!
    while started_at "$watch_job" >/dev/null; do
        check_worker || return 1
        sleep 0.2
    done
    wait "$watch_job"
    watch_job=''
}

show_where_to_look() {
    local psql=psql bin
    # The package puts psql on PATH; another installation may not.
    if ! command -v psql >/dev/null && bin=$(pg_bin); then
        psql=$bin/psql
    fi
    say ''
    say 'Where to look:'
    printf '  %-34s %s\n' \
        "eval \"\$(./dev env)\"" "these services' variables, and groundcrew on PATH, for your shell; then:" \
        'groundcrew trace show ID' 'one trace with its audits' \
        "$psql \"\$DATABASE_URL\"" 'the tables, in the schema groundcrew' \
        '.groundcrew/log/' 'what each part has logged' \
        "$(desk_url)" 'the review desk: what people have to see, and decide' \
        "$(desk_url)/v1/gate" 'the gate: docs/gate.md' \
        './dev status' 'what runs' \
        './dev down' 'stop it all'
    if [[ -z $outside_broker ]]; then
        printf '  %-34s %s\n' "http://127.0.0.1:$(port_of management)" \
            "RabbitMQ's pages: user groundcrew, password in .groundcrew/secrets/rabbitmq"
    fi
}

stay() {
    local name
    # Ctrl-C is how this stage is meant to end, so it is no failure here.
    trap 'exit 0' INT
    say ''
    say 'Everything stays up until Ctrl-C.'
    while is_running worker && is_running desk && { [[ -n $outside_judge ]] || is_running judge; }; do
        sleep 0.5
    done
    for name in worker judge desk; do
        # ./dev down in another shell removes the record; a process that fell over leaves it.
        if ! is_running "$name" && [[ -e $STATE/run/$name.pid ]]; then
            warn "The $name has ended by itself."
            show_log "$name"
            exit 1
        fi
    done
    say 'Stopped from another shell.'
}

command_up() {
    local detach=false begun step groundcrew
    case ${1:-} in
        '') ;;
        --detach) detach=true ;;
        *) usage_error "up knows only --detach." ;;
    esac
    begun=$(now_ms)
    prepare_state
    find_outside running
    require_cargo
    require_packages compiler "${private_services[@]}"

    begin_run
    # The services take seconds to start and a first build takes minutes, so both go on together.
    start_services "${private_services[@]}" &
    services_job=$!
    step=$(now_ms)
    cargo build --locked --bin groundcrew --profile "${GROUNDCREW_PROFILE:-dev}"
    groundcrew=$(profile_folder)/groundcrew
    say "groundcrew is built ($(since "$step"))."
    wait "$services_job" || die "the services did not start."
    services_job=''

    DATABASE_URL=$(database_url)
    AMQP_URL=$(broker_url)
    export DATABASE_URL AMQP_URL
    step=$(now_ms)
    "$groundcrew" migrate
    say "The database is migrated ($(since "$step"))."
    if [[ -z $outside_judge ]]; then
        start_judge
        GROUNDCREW_JUDGE__BASE_URL=$(judge_url)
        GROUNDCREW_JUDGE__MODEL=$(judge_model)
        export GROUNDCREW_JUDGE__BASE_URL GROUNDCREW_JUDGE__MODEL
    else
        say "The judge at $(without_password "$outside_judge") is used."
    fi
    start_worker
    start_desk
    record_outside

    "$groundcrew" publish "$TRACES"
    watch_results
    say "From start to results: $(since "$begun")."
    show_where_to_look
    if $detach; then
        keep_running=true
    elif [[ " ${ran_before[*]} " == *' worker '* ]]; then
        say ''
        say 'The worker ran before, so this command ends here and leaves it running.'
        keep_running=true
    else
        stay
    fi
}

without_password() { # URL
    sed -E 's#(://[^:/@]*):[^@]*@#\1:***@#' <<<"$1"
}

status_line() { # NAME TITLE OUTSIDE_URL OWN_URL: prints one line; fails when it does not run
    local pid
    if [[ -n $3 ]]; then
        printf '%-11s outside           %s\n' "$2" "$(without_password "$3")"
    elif pid=$(running_pid "$1"); then
        printf '%-11s running  %-8s %s\n' "$2" "$pid" "$(without_password "$4")"
    else
        printf '%-11s stopped\n' "$2"
        return 1
    fi
}

command_status() {
    local all_up=true
    find_outside running
    status_line postgres PostgreSQL "$outside_database" "$(pg_url || true)" || all_up=false
    status_line rabbitmq RabbitMQ "$outside_broker" "$(rabbitmq_url || true)" || all_up=false
    if [[ -z $outside_broker ]] && is_running rabbitmq; then
        printf '%-11s          %-8s %s\n' '' '' "$(without_password "$(rabbitmq_management_url)") (management)"
    fi
    status_line judge judge "$outside_judge" "$(practice_url || true)" || all_up=false
    status_line worker worker '' '' || all_up=false
    if is_running desk; then
        # A line of its own shape, for people and scripts alike.
        printf 'desk %s\n' "$(desk_url)"
    else
        status_line desk desk '' '' || all_up=false
    fi
    $all_up || exit 3
}

command_env() {
    local url model
    find_outside running
    url=$(database_url) || die "the private PostgreSQL has never been started: ./dev up or ./dev service start."
    printf 'export DATABASE_URL=%q\n' "$url"
    url=$(broker_url) || die "the private RabbitMQ has never been started: ./dev up or ./dev service start."
    printf 'export AMQP_URL=%q\n' "$url"
    # Without a judge there is nothing to name: only ./dev up starts one.
    if url=$(judge_url); then
        printf 'export GROUNDCREW_JUDGE__BASE_URL=%q\n' "$url"
        model=$(judge_model)
        [[ -z $model ]] || printf 'export GROUNDCREW_JUDGE__MODEL=%q\n' "$model"
    fi
    printf "export PATH=%q:\$PATH\n" "$(profile_folder)"
}
