# shellcheck shell=bash
# Both private services together, and what is told about them.

service_action() { # ACTION (start, stop, kill; for rabbitmq also alarm, calm) SERVICE
    case $2 in
        postgres) with_lock postgres "pg_$1" ;;
        rabbitmq) with_lock rabbitmq "rabbitmq_$1" ;;
    esac
}

start_services() { # SERVICE...: starts them at the same time
    local service jobs=() failed=0 job
    (($# > 0)) || return 0
    prepare_state
    # Both would make it; done once before, it cannot be made twice.
    data_home >/dev/null
    for service in "$@"; do
        service_action start "$service" &
        jobs+=("$!")
    done
    for job in "${jobs[@]}"; do
        wait "$job" || failed=1
    done
    write_services_env
    return "$failed"
}

write_services_env() {
    local url
    {
        printf '# Written by ./dev: the private services of this checkout, for tests and shells.\n'
        if url=$(pg_url); then
            printf 'export DATABASE_URL=%q\n' "$url"
            printf 'export GROUNDCREW_TEST_POSTGRES_PID_FILE=%q\n' "$STATE/run/postgres.pid"
        fi
        if url=$(rabbitmq_url); then
            printf 'export AMQP_URL=%q\n' "$url"
            printf 'export GROUNDCREW_TEST_RABBITMQ_MANAGEMENT=%q\n' "$(rabbitmq_management_url)"
            printf 'export GROUNDCREW_TEST_RABBITMQ_PID_FILE=%q\n' "$STATE/run/rabbitmq.pid"
        fi
        # Fault tests call "$GROUNDCREW_TEST_DEV service kill rabbitmq" and the like.
        printf 'export GROUNDCREW_TEST_DEV=%q\n' "$ROOT/dev"
    } | write_private "$STATE/services.env"
}

# --- one run of ./dev --------------------------------------------------------------------------

# What one run starts, it stops again when it ends or is interrupted, and nothing else: what ran
# before it stays. The order is that of stopping: the worker finishes while the rest still answers.
ALL_PROCESSES=(desk worker judge rabbitmq postgres)

begin_run() {
    local name
    ran_before=()
    services_job='' watch_job=''
    keep_running=false
    # One may be left from a killed run that had the same process id.
    rm -f "$STATE/run/given-up.$$"
    for name in "${ALL_PROCESSES[@]}"; do
        if is_running "$name"; then
            ran_before+=("$name")
        fi
    done
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    trap end_run EXIT
}

end_run() {
    local code=$? name
    if $keep_running; then
        return
    fi
    trap '' INT TERM HUP
    for name in "${ALL_PROCESSES[@]}"; do
        if [[ " ${ran_before[*]} " != *" $name "* ]] && is_running "$name"; then
            say 'Stopping what this run started.'
            break
        fi
    done
    : >"$STATE/run/given-up.$$"
    if [[ -n $watch_job ]]; then
        kill "$watch_job" 2>/dev/null || true
    fi
    if [[ -n $services_job ]]; then
        # It is not killed, or a service might be left behind that was started and not yet recorded.
        wait "$services_job" || true
    fi
    for name in "${ALL_PROCESSES[@]}"; do
        if [[ " ${ran_before[*]} " != *" $name "* ]]; then
            stop_one "$name" || true
        fi
    done
    rm -f "$STATE/run/given-up.$$"
    return "$code"
}

stop_one() { # NAME
    case $1 in
        postgres | rabbitmq) service_action stop "$1" ;;
        # A worker may be waiting for a judge that is slow to answer; what it has not acked by then
        # is delivered again to the next one.
        worker) stop_process worker TERM 60 "The worker" ;;
        desk) stop_process desk TERM 60 "The desk" ;;
        judge) stop_process judge TERM 10 "The practice judge" ;;
    esac
}

# --- commands ----------------------------------------------------------------------------------

command_service() {
    local action=${1:-} service services=(postgres rabbitmq)
    case $action in
        start | stop | restart | kill) shift ;;
        alarm | calm)
            [[ ${*:2} == rabbitmq ]] || usage_error "service $action is for rabbitmq alone."
            prepare_state
            service_action "$action" rabbitmq
            return
            ;;
        *) usage_error "service needs start, stop, restart, kill, alarm or calm." ;;
    esac
    if (($# > 0)); then
        services=("$@")
    elif [[ $action == restart || $action == kill ]]; then
        # Neither should happen to a service by a forgotten word.
        usage_error "service $action needs a name: postgres or rabbitmq."
    fi
    for service in "${services[@]}"; do
        case $service in
            postgres | rabbitmq) ;;
            *) usage_error "there is no service '$service', only postgres and rabbitmq." ;;
        esac
    done
    prepare_state
    if [[ $action != stop ]]; then
        require_packages "${services[@]}"
    fi
    for service in "${services[@]}"; do
        case $action in
            stop | restart) service_action stop "$service" ;;
            kill) service_action kill "$service" ;;
        esac
    done
    if [[ $action != stop ]]; then
        begin_run
        start_services "${services[@]}"
        keep_running=true
    fi
}

command_down() {
    local name purge=false elsewhere
    case ${1:-} in
        '') ;;
        --purge) purge=true ;;
        *) usage_error "down knows only --purge." ;;
    esac
    if [[ -d $STATE/run ]]; then
        for name in "${ALL_PROCESSES[@]}"; do
            stop_one "$name"
        done
        rm -f "$STATE/run/outside.env"
    fi
    if $purge; then
        elsewhere=$(data_home_elsewhere)
        # Only the link that we would make ourselves is followed.
        if [[ -L $STATE/data && $(readlink "$STATE/data") == "$elsewhere" ]]; then
            rm -rf -- "$elsewhere"
        fi
        rm -rf -- "$STATE"
        say "All data of this checkout's instances is removed."
    else
        say "Nothing is running; the data is kept."
    fi
}
