# shellcheck shell=bash
# The private RabbitMQ node: own name, own port mapper, own cookie, everything on 127.0.0.1.

# The package's script in /usr/sbin switches to the system-wide node's user and folders; the one it
# calls leaves both to its environment.
RABBITMQ_SERVER=/usr/lib/rabbitmq/bin/rabbitmq-server

rabbitmq_url() { # prints the private node's URL; fails when it has never been started
    local port
    port=$(port_of amqp) || return 1
    printf 'amqp://groundcrew:%s@127.0.0.1:%s/groundcrew' "$(secret rabbitmq)" "$port"
}

rabbitmq_management_url() {
    local port
    port=$(port_of management) || return 1
    printf 'http://groundcrew:%s@127.0.0.1:%s' "$(secret rabbitmq)" "$port"
}

rabbitmq_configure() { # USER HOME AMQP_PORT MANAGEMENT_PORT
    local user=$1 home=$2 password
    password=$(secret rabbitmq)
    if [[ ! -e $home/complete ]]; then
        # A first start that was cut short may have left a database without our user in it.
        rm -rf "$home/mnesia"
    fi
    mkdir -p "$home/mnesia" "$home/log" "$home/generated" "$home/schema" "$home/conf.d"
    # An administrator and a virtual host of our own take the place of the user "guest", which is
    # then never made. They are created once, with the node's empty database.
    write_private "$home/rabbitmq.conf" <<CONF
listeners.tcp.private = 127.0.0.1:$3
management.tcp.ip = 127.0.0.1
management.tcp.port = $4
default_user = groundcrew
default_pass = $password
default_user_tags.administrator = true
default_vhost = groundcrew
disk_free_limit.absolute = 200MB
# Whoever watches a queue through the management API need not wait five seconds for new figures.
collect_statistics_interval = 1000
log.console = true
log.console.level = info
CONF
    printf '[rabbitmq_management].\n' >"$home/enabled_plugins"
    printf '[].\n' >"$home/advanced.config"
    # An empty file of our own keeps the scripts from reading the one in /etc/rabbitmq.
    : >"$home/rabbitmq-env.conf"
    if [[ ! -s $home/.erlang.cookie ]]; then
        secret erlang-cookie | write_private "$home/.erlang.cookie"
    fi
    # Erlang refuses a cookie that anyone else can read.
    chmod 400 "$home/.erlang.cookie"
    give_to "$user" "$home"
}

rabbitmq_environment() { # HOME EPMD_PORT DISTRIBUTION_PORT: sets the words of the node's environment
    # Nothing is inherited, so that neither the caller's RABBITMQ_* variables nor those of the
    # system-wide node get in. HOME is where Erlang looks for its cookie.
    RABBITMQ_ENV=(
        env -i -C "$1"
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        LANG=C.UTF-8
        HOME="$1"
        ERL_EPMD_PORT="$2"
        ERL_EPMD_ADDRESS=127.0.0.1
        ERL_CRASH_DUMP="$1/erl_crash.dump"
        RABBITMQ_NODENAME="groundcrew-$INSTANCE@localhost"
        RABBITMQ_CONF_ENV_FILE="$1/rabbitmq-env.conf"
        RABBITMQ_CONFIG_FILE="$1/rabbitmq.conf"
        RABBITMQ_CONFIG_FILES="$1/conf.d"
        RABBITMQ_ADVANCED_CONFIG_FILE="$1/advanced.config"
        RABBITMQ_ENABLED_PLUGINS_FILE="$1/enabled_plugins"
        RABBITMQ_GENERATED_CONFIG_DIR="$1/generated"
        RABBITMQ_SCHEMA_DIR="$1/schema"
        RABBITMQ_MNESIA_BASE="$1/mnesia"
        RABBITMQ_LOG_BASE="$1/log"
        RABBITMQ_LOGS=-
        RABBITMQ_DIST_PORT="$3"
        # With input allowed the script becomes the Erlang machine instead of a shell that waits for
        # it, so the recorded process id is the node's own; -noinput then forbids the input again.
        RABBITMQ_ALLOW_INPUT=1
        # Erlang's own connections between nodes would listen on all addresses otherwise.
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-noinput -kernel inet_dist_use_interface {127,0,0,1}"
    )
}

http_status() { # PORT USER:PASSWORD PATH: prints the status of a GET; fails when nothing answers
    # Bash opens the connection itself, since a bare machine has no curl.
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1"
        printf 'GET %s HTTP/1.0\r\nAuthorization: Basic %s\r\n\r\n' \
            "$3" "$(printf '%s' "$2" | base64 -w 0)" >&3
        read -r -t 5 _ status _ <&3
        printf '%s' "$status"
    ) 2>/dev/null
}

amqp_first_byte() { # PORT: prints the first byte that a broker sends; fails when nothing answers
    # The broker sends its first frame once it has got the protocol's header.
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1"
        printf 'AMQP\x00\x00\x09\x01' >&3
        timeout 5 head -c 1 <&3 | od -An -tu1 | tr -d ' '
    ) 2>/dev/null
}

rabbitmq_answers() { # AMQP_PORT MANAGEMENT_PORT
    # 1 is a method frame; a refusal would begin with the "A" of AMQP.
    [[ $(amqp_first_byte "$1") == 1 ]] || return 1
    [[ $(http_status "$2" "groundcrew:$(secret rabbitmq)" /api/vhosts/groundcrew) == 200 ]]
}

rabbitmq_start() {
    local begun user home amqp management epmd distribution AS RABBITMQ_ENV
    begun=$(now_ms)
    if is_running rabbitmq; then
        say "RabbitMQ is running already, on 127.0.0.1:$(port_of amqp)."
        return
    fi
    [[ -x $RABBITMQ_SERVER ]] || die "RabbitMQ is not installed."
    user=$(service_user rabbitmq)
    home=$(data_home)/rabbitmq
    install -d -m 700 "$home"
    amqp=$(claim_port amqp)
    management=$(claim_port management)
    distribution=$(claim_port distribution)
    rabbitmq_configure "$user" "$home" "$amqp" "$management"
    run_as "$user"
    if is_running epmd; then
        epmd=$(port_of epmd)
        rabbitmq_environment "$home" "$epmd" "$distribution"
    else
        # Erlang would start its port mapper by itself, for good and unknown to us; one that is
        # there already is used as it is, and can be stopped with the node.
        epmd_stop
        epmd=$(claim_port epmd)
        rabbitmq_environment "$home" "$epmd" "$distribution"
        launch epmd "${AS[@]}" "${RABBITMQ_ENV[@]}" epmd -port "$epmd" -address 127.0.0.1
        if ! await_ready epmd 10 is_listening "$epmd"; then
            show_log epmd
            return 1
        fi
    fi
    # The node opens many files; the usual soft limit of 1024 is too low, and an unlimited one makes
    # Erlang reserve memory for every file it might open.
    ulimit -Sn 65536 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
    launch rabbitmq "${AS[@]}" "${RABBITMQ_ENV[@]}" "$RABBITMQ_SERVER"
    if ! await_ready rabbitmq 90 rabbitmq_answers "$amqp" "$management"; then
        show_log rabbitmq
        return 1
    fi
    : >"$home/complete"
    say "RabbitMQ is ready on 127.0.0.1:$amqp, its management page on port $management ($(since "$begun"))."
}

rabbitmq_stop() {
    # A node in the middle of its start may never act on the signal; it has nothing to finish yet.
    local seconds=60 amqp
    if amqp=$(port_of amqp) && ! is_listening "$amqp"; then
        seconds=5
    fi
    stop_process rabbitmq TERM "$seconds" RabbitMQ
    epmd_stop
}

epmd_stop() {
    local port
    if is_running epmd; then
        stop_process epmd TERM 10 "Erlang's port mapper"
    elif port=$(port_of epmd) && is_listening "$port"; then
        # A node that has lost its port mapper starts another one, which we know nothing of but the
        # port. The mapper itself refuses this while it has nodes.
        ERL_EPMD_PORT=$port epmd -kill >/dev/null 2>&1 || true
    fi
}

rabbitmq_kill() {
    local pid
    # The port mapper stays: it is no part of what a crash of the node takes down.
    pid=$(running_pid rabbitmq) || return 0
    kill -s KILL "$pid"
    wait_gone rabbitmq 10 || true
    rm -f "$STATE/run/rabbitmq.pid"
    say "RabbitMQ was killed (process $pid)."
}

rabbitmq_memory_limit() { # FRACTION: above this part of the machine's memory the node takes nothing from publishers
    local user home epmd distribution AS RABBITMQ_ENV
    is_running rabbitmq || die "RabbitMQ is not running."
    user=$(service_user rabbitmq)
    home=$(data_home)/rabbitmq
    epmd=$(port_of epmd)
    distribution=$(port_of distribution)
    rabbitmq_environment "$home" "$epmd" "$distribution"
    run_as "$user"
    "${AS[@]}" "${RABBITMQ_ENV[@]}" /usr/lib/rabbitmq/bin/rabbitmqctl -q set_vm_memory_high_watermark "$1"
}

rabbitmq_alarm() {
    rabbitmq_memory_limit 0.00001
    say "RabbitMQ believes that it is short of memory and blocks publishers; './dev service calm rabbitmq' ends it."
}

rabbitmq_calm() {
    rabbitmq_memory_limit 0.4
    say "RabbitMQ takes messages again."
}
