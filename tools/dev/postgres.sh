# shellcheck shell=bash
# The private PostgreSQL instance: own data folder, own port on 127.0.0.1, no Unix socket.

pg_bin() { # prints the folder of the programs; fails when PostgreSQL is not installed
    # Debian does not put the server's programs on PATH. Data that exists decides the version,
    # since a server reads only data of its own major version; otherwise the newest is taken.
    local version='' candidate newest=''
    if [[ -r $STATE/data/postgres/version ]]; then
        version=$(<"$STATE/data/postgres/version")
    fi
    for candidate in /usr/lib/postgresql/*/bin; do
        [[ -x $candidate/postgres && -x $candidate/initdb && -x $candidate/psql ]] || continue
        newest=$(printf '%s\n' "$newest" "$candidate" | sort -V | tail -n 1)
        if [[ -n $version && $candidate == "/usr/lib/postgresql/$version/bin" ]]; then
            printf '%s' "$candidate"
            return
        fi
    done
    [[ -n $newest ]] || return 1
    if [[ -n $version ]]; then
        warn "The data was made by PostgreSQL $version, which is not installed any more: install postgresql-$version, or drop the data by './dev down --purge'."
        return 1
    fi
    printf '%s' "$newest"
}

pg_url() { # prints the private instance's URL; fails when it has never been started
    local port
    port=$(port_of postgres) || return 1
    printf 'postgres://groundcrew:%s@127.0.0.1:%s/groundcrew' "$(secret postgres)" "$port"
}

pg_create() { # USER BIN DATA
    local user=$1 bin=$2 data=$3 home password_file
    home=${data%/*}
    say "Creating the PostgreSQL data folder."
    install -d -m 700 "$home"
    rm -rf "$data.new"
    password_file=$home/password
    secret postgres | write_private "$password_file"
    give_to "$user" "$home"
    # It is made under another name first, so that an interrupted run leaves no half of it.
    as_user "$user" env -C / "$bin/initdb" -D "$data.new" -U groundcrew -A scram-sha-256 \
        --pwfile="$password_file" --encoding=UTF8 --locale=C.UTF-8 \
        >>"$STATE/log/postgres.log" 2>&1 9>&- || return 1
    rm -f "$password_file"
    printf "\n# Written again at each start, since the port may change.\ninclude 'groundcrew.conf'\n" \
        >>"$data.new/postgresql.conf"
    cat "$data.new/PG_VERSION" >"$home/version"
    mv "$data.new" "$data"
}

pg_configure() { # USER DATA PORT
    # Durability stays as in production (fsync, synchronous_commit), or the tests that kill the
    # server would prove nothing. A commit that needs a new segment of the log waits until it is
    # filled with zeros; a server that keeps those of before, as one that has run for long does,
    # spares it that.
    cat >"$2/groundcrew.conf" <<CONF
listen_addresses = '127.0.0.1'
port = $3
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
min_wal_size = 512MB
cluster_name = 'groundcrew'
log_line_prefix = '%m [%p] %u@%d '
log_timezone = 'UTC'
timezone = 'UTC'
CONF
    give_to "$1" "$2/groundcrew.conf"
}

pg_ask() { # BIN DATABASE SQL
    PGPASSWORD=$(secret postgres) PGCONNECT_TIMEOUT=5 \
        "$1/psql" -X -h 127.0.0.1 -p "$(port_of postgres)" -U groundcrew -d "$2" -Atqc "$3" 9>&-
}

pg_answers() { pg_ask "$1" postgres 'SELECT 1' >/dev/null 2>&1; }

pg_forget_dead() { # DATA
    # A killed process stays visible until its parent takes note of it, which in some containers
    # takes long or never happens, and PostgreSQL would take it for a server that still runs.
    local pid
    { read -r pid <"$1/postmaster.pid"; } 2>/dev/null || return 0
    if [[ -d /proc/$pid ]] && ! started_at "$pid" >/dev/null; then
        rm -f "$1/postmaster.pid"
    fi
}

pg_start() {
    local begun user bin data port AS
    begun=$(now_ms)
    if is_running postgres; then
        say "PostgreSQL is running already, on 127.0.0.1:$(port_of postgres)."
        return
    fi
    bin=$(pg_bin) || die "no PostgreSQL to start."
    user=$(service_user postgres)
    data=$(data_home)/postgres/data
    if [[ ! -d $data ]] && ! pg_create "$user" "$bin" "$data"; then
        show_log postgres
        return 1
    fi
    port=$(claim_port postgres)
    pg_configure "$user" "$data" "$port"
    pg_forget_dead "$data"
    # The server's user may not be able to stand in the checkout.
    run_as "$user"
    launch postgres env -C / "${AS[@]}" "$bin/postgres" -D "$data"
    if ! await_ready postgres 60 pg_answers "$bin"; then
        show_log postgres
        return 1
    fi
    if [[ $(pg_ask "$bin" postgres "SELECT 1 FROM pg_database WHERE datname = 'groundcrew'") != 1 ]]; then
        pg_ask "$bin" postgres 'CREATE DATABASE groundcrew'
    fi
    say "PostgreSQL is ready on 127.0.0.1:$port ($(since "$begun"))."
}

# SIGINT is the server's fast shutdown: it ends sessions instead of waiting for them.
pg_stop() { stop_process postgres INT 30 PostgreSQL; }

pg_kill() {
    local pid file line fields children=() child
    pid=$(running_pid postgres) || return 0
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        read -ra fields <<<"${line##*) }"
        if [[ ${fields[1]} == "$pid" ]]; then
            children+=("${line%% *}")
        fi
    done
    kill -s KILL "$pid"
    wait_gone postgres 10 || true
    # Its children see that it has gone and end; a new server refuses to start before that.
    for child in "${children[@]}"; do
        for _ in {1..100}; do
            started_at "$child" >/dev/null || break
            sleep 0.05
        done
    done
    rm -f "$STATE/run/postgres.pid"
    say "PostgreSQL was killed (process $pid)."
}
