# shellcheck shell=bash
# What the other parts of ./dev share: messages, time, process records, ports and secrets.
# ./dev sets ROOT and STATE before it reads this file.

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
    warn "dev: $*"
    exit 1
}

now_ms() {
    # The decimal sign of EPOCHREALTIME follows the locale, so either one is dropped.
    local micros=${EPOCHREALTIME//[.,]/}
    printf '%s' "${micros::-3}"
}

since() {
    local ms=$(($(now_ms) - $1))
    printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# --- state -------------------------------------------------------------------------------------

prepare_state() {
    # Service users must pass through the state folder to reach their data, whatever the umask says;
    # only the secrets are closed.
    install -d -m 755 "$STATE" "$STATE/run" "$STATE/log" "$STATE/ports"
    install -d -m 700 "$STATE/secrets"
}

write_private() { # FILE, contents from standard input
    # A rename replaces the file at once, so that a reader never sees half of it; mktemp gives it
    # mode 600 from the first byte on.
    local temporary
    temporary=$(mktemp "$1.XXXXXX")
    cat >"$temporary"
    mv -f "$temporary" "$1"
}

with_lock() { # NAME COMMAND...
    # Tests restart services from several processes at once; one service changes one step at a time.
    local name=$1
    shift
    (
        flock -w 180 9 || die "another ./dev has been changing $name for three minutes; giving up."
        "$@"
    ) 9>"$STATE/run/$name.lock"
}

secret() { # NAME: prints the secret; makes it when there is none yet
    local file=$STATE/secrets/$1
    if [[ ! -s $file ]]; then
        # Hexadecimal needs no escaping in a URL, a configuration file or a shell.
        od -An -N16 -tx1 /dev/urandom | tr -d ' \n' | write_private "$file"
    fi
    cat "$file"
}

# --- who runs the services ---------------------------------------------------------------------

is_root() { [[ $EUID -eq 0 ]]; }

service_user() { # PREFERRED: prints the user that a service runs as
    # PostgreSQL refuses to run as root, and nothing else here needs to be root either.
    if ! is_root; then
        id -un
    elif id -u "$1" >/dev/null 2>&1; then
        printf '%s\n' "$1"
    else
        printf 'nobody\n'
    fi
}

run_as() { # USER: sets the words that, put before a command, make it run as that user
    # setpriv becomes the command instead of waiting for it, so the recorded process id is the
    # service's own.
    AS=()
    if is_root; then
        AS=(setpriv --reuid "$1" --regid "$(id -g "$1")" --init-groups --)
    fi
}

as_user() { # USER COMMAND...
    local AS
    run_as "$1"
    shift
    "${AS[@]}" "$@"
}

give_to() { # USER PATH...
    local user=$1
    shift
    if is_root; then
        chown -R "$user:$(id -gn "$user")" "$@"
    fi
}

data_home_elsewhere() {
    printf '/var/tmp/groundcrew-%s' "$INSTANCE"
}

data_home() { # prints the folder that holds the services' data; makes it when there is none yet
    local inside=$STATE/data elsewhere
    if [[ -d $inside ]]; then
        # A link is resolved, since the service users cannot even reach the link.
        readlink -f -- "$inside"
        return
    fi
    if is_root && ! as_user "$(service_user nobody)" test -x "$STATE/run"; then
        # The checkout lies in a folder that is closed to the service users, such as /root. Opening
        # it is not ours to do, so the data goes where they can reach it, with a link from here.
        elsewhere=$(data_home_elsewhere)
        mkdir -m 755 "$elsewhere" 2>/dev/null || true
        # Anyone may make a folder there, so one that exists must be a folder and belong to us.
        if [[ -L $elsewhere || ! -d $elsewhere || $(stat -c %u "$elsewhere") != "$EUID" ]]; then
            die "$elsewhere is not a folder of ours; remove it and try again."
        fi
        ln -sfn "$elsewhere" "$inside"
        printf '%s\n' "$elsewhere"
    else
        install -d -m 755 "$inside"
        printf '%s\n' "$inside"
    fi
}

# --- processes ---------------------------------------------------------------------------------

started_at() { # PID: prints when the process started; fails when there is no such living process
    local line fields
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The command's name may hold spaces and brackets, so everything up to its end is cut first.
    read -ra fields <<<"${line##*) }"
    # A zombie has ended; only its parent has not noticed.
    [[ ${fields[0]} != [ZX] ]] || return 1
    printf '%s' "${fields[19]}"
}

record_pid() { # NAME PID
    # The start time tells our process from a later one that was given the same number.
    printf '%s\n%s\n' "$2" "$(started_at "$2" || true)" >"$STATE/run/$1.pid.new"
    mv -f "$STATE/run/$1.pid.new" "$STATE/run/$1.pid"
}

running_pid() { # NAME: prints the process id; fails when it does not run
    local pid='' started=''
    [[ -r $STATE/run/$1.pid ]] || return 1
    { read -r pid && read -r started; } <"$STATE/run/$1.pid" || return 1
    [[ $(started_at "$pid") == "$started" ]] || return 1
    printf '%s' "$pid"
}

is_running() { running_pid "$1" >/dev/null; }

launch() { # NAME COMMAND...: starts it in the background and records it
    local name=$1
    shift
    if is_given_up; then
        return 1
    fi
    # A session of its own keeps Ctrl-C away from it: what is running is ended in order, by us.
    # The lock is not passed on, or it would be held for as long as the service runs.
    setsid "$@" </dev/null >>"$STATE/log/$name.log" 2>&1 9>&- &
    record_pid "$name" "$!"
    # Bash would report how it ended; what became of it is told from its record instead.
    disown "$!"
}

# The shell that was interrupted and the subshells that start services share $$, so that this file
# tells the latter to end.
is_given_up() { [[ -e $STATE/run/given-up.$$ ]]; }

await_ready() { # NAME SECONDS CHECK...: fails early when the process ends or this run is given up
    local name=$1 deadline=$(($(now_ms) + $2 * 1000))
    shift 2
    until "$@"; do
        if is_given_up; then
            return 1
        fi
        if ! is_running "$name"; then
            warn "$name ended while it was starting."
            return 1
        fi
        if (($(now_ms) > deadline)); then
            warn "$name was not ready in time."
            return 1
        fi
        sleep 0.1
    done
}

show_log() { # NAME
    if is_given_up; then
        return 0
    fi
    warn "The end of ${STATE#"$ROOT/"}/log/$1.log:"
    tail -n 25 "$STATE/log/$1.log" 2>/dev/null | sed 's/^/    /' >&2 || true
}

wait_gone() { # NAME SECONDS
    local deadline=$(($(now_ms) + $2 * 1000))
    while is_running "$1"; do
        (($(now_ms) <= deadline)) || return 1
        sleep 0.05
    done
}

stop_process() { # NAME SIGNAL SECONDS TITLE
    local name=$1 signal=$2 seconds=$3 title=$4 pid begun
    if ! pid=$(running_pid "$name"); then
        rm -f "$STATE/run/$name.pid"
        return 0
    fi
    begun=$(now_ms)
    kill -s "$signal" "$pid" 2>/dev/null || true
    if ! wait_gone "$name" "$seconds"; then
        warn "$title did not stop within $seconds seconds and is killed."
        kill -s KILL "$pid" 2>/dev/null || true
        wait_gone "$name" 10 || true
    fi
    rm -f "$STATE/run/$name.pid"
    say "$title stopped ($(since "$begun"))."
}

# --- ports -------------------------------------------------------------------------------------

is_listening() { # PORT: is any socket of this machine listening on it?
    # The kernel's tables are read because a bare machine has neither ss nor lsof.
    local hex
    printf -v hex '%04X' "$1"
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v port="$hex" '$4 == "0A" && $2 ~ (":" port "$") { found = 1 } END { exit !found }'
}

port_of() { # NAME: prints the recorded port; fails when there is none
    [[ -s $STATE/ports/$1 ]] || return 1
    cat "$STATE/ports/$1"
}

claim_port() { # NAME: prints the port to start on; to be called only while NAME does not run
    with_lock ports claim_port_locked "$1"
}

claim_port_locked() {
    local port tries
    if port=$(port_of "$1"); then
        # A program that was just killed may hold its port for a moment: who is connected to it comes back to
        # this port and would not find another one.
        for ((tries = 0; tries < 100; tries++)); do
            if ! is_listening "$port"; then
                printf '%s' "$port"
                return
            fi
            sleep 0.1
        done
        warn "Port $port of $1 is taken by another program; another one is chosen."
    fi
    while :; do
        # Below 32768 the kernel hands out no ports to outgoing connections, so that a service that
        # is restarted finds its port free.
        port=$((20000 + RANDOM % 10000))
        if ! is_listening "$port" && ! cat "$STATE/ports/"* 2>/dev/null | grep -qx "$port"; then
            break
        fi
    done
    printf '%s\n' "$port" >"$STATE/ports/$1"
    printf '%s' "$port"
}
