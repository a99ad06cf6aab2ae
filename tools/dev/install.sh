#!/usr/bin/env bash
# Installs Debian packages so that nothing global starts or is set up by it. Runs as root; ./dev
# calls it. Usage: install.sh PACKAGE...
set -euo pipefail

[[ $EUID -eq 0 ]] || {
    printf 'install.sh: must run as root.\n' >&2
    exit 1
}
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1

policy=/usr/sbin/policy-rc.d
cluster_folder=/etc/postgresql-common/createcluster.d
cluster_file=$cluster_folder/groundcrew-install.conf
made=()

# shellcheck disable=SC2317 # The trap calls it.
clean_up() {
    local path index
    # Last made, first removed; a folder that the packages have put files into stays.
    for ((index = ${#made[@]} - 1; index >= 0; index--)); do
        path=${made[index]}
        if [[ -d $path ]]; then
            rmdir --ignore-fail-on-non-empty "$path"
        else
            rm -f "$path"
        fi
    done
}
trap clean_up EXIT
interrupted=0
trap 'interrupted=130' INT
trap 'interrupted=143' TERM HUP

see_through() { # COMMAND...: runs it to its end, whatever signal comes meanwhile
    local job code
    # In a session of its own it does not get the terminal's Ctrl-C.
    setsid "$@" </dev/null &
    job=$!
    while :; do
        code=0
        wait "$job" || code=$?
        # A signal ends the waiting, not the job.
        kill -0 "$job" 2>/dev/null || return "$code"
    done
}

is_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

if [[ ! -e $policy ]]; then
    # Debian asks this program before it starts a service after an installation; 101 says no.
    made+=("$policy")
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
for folder in "${cluster_folder%/*}" "$cluster_folder"; do
    if [[ ! -d $folder ]]; then
        made+=("$folder")
        mkdir "$folder"
    fi
done
# PostgreSQL's package would make a system-wide cluster, which would start with the machine.
made+=("$cluster_file")
printf 'create_main_cluster = false\n' >"$cluster_file"

# Services that come with this installation are not to start with the machine either; those that
# were there before are the owner's and stay as they are.
units=()
is_installed rabbitmq-server || units+=(rabbitmq-server.service)
is_installed erlang-base || units+=(epmd.service epmd.socket)

apt-get -o DPkg::Lock::Timeout=300 -qq update
((interrupted == 0)) || exit "$interrupted"
# Half-configured packages would have to be repaired by hand, so this is not interrupted.
see_through apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -qq install -y --no-install-recommends "$@"

for unit in "${units[@]}"; do
    # systemctl changes the links even where systemd is not running, as in a container.
    if command -v systemctl >/dev/null; then
        systemctl disable "$unit" || true
    fi
    if [[ -e /etc/init.d/${unit%.service} ]]; then
        update-rc.d "${unit%.service}" disable || true
    fi
done
exit "$interrupted"
