# shellcheck shell=bash
# Which of the system's packages are needed, and their installation.

require_packages() { # NEED... (compiler, postgres, rabbitmq, browser): installs what is missing
    local need missing=() install begun code=0
    for need in "$@"; do
        case $need in
            compiler) command -v cc >/dev/null || missing+=(gcc libc6-dev) ;;
            postgres) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql) ;;
            rabbitmq) [[ -x $RABBITMQ_SERVER ]] || missing+=(rabbitmq-server) ;;
            # Ubuntu has them as a snap only, and calls the package of the driver otherwise.
            browser) command -v chromedriver >/dev/null || missing+=(chromium chromium-driver) ;;
        esac
    done
    ((${#missing[@]} > 0)) || return 0
    command -v apt-get >/dev/null ||
        die "these Debian packages, or what matches them here, are missing: ${missing[*]}."
    say "These packages are missing and will be installed: ${missing[*]}."
    say "They start and set up nothing system-wide. Ctrl-C takes effect when they are installed."
    begun=$(now_ms)
    install=(bash "$ROOT/tools/dev/install.sh" "${missing[@]}")
    if ! is_root; then
        if ! sudo -n true 2>/dev/null; then
            warn "That takes root. Run this once, then ./dev again:"
            warn "    sudo bash $(printf '%q' "$ROOT/tools/dev/install.sh") ${missing[*]}"
            exit 1
        fi
        install=(sudo -n "${install[@]}")
    fi
    prepare_state
    "${install[@]}" >>"$STATE/log/packages.log" 2>&1 || code=$?
    case $code in
        0) ;;
        130 | 143) exit "$code" ;;
        *)
            show_log packages
            die "the installation failed."
            ;;
    esac
    say "Packages installed ($(since "$begun"))."
}

require_cargo() {
    # rustup puts cargo where only login shells look.
    if ! command -v cargo >/dev/null && [[ -x ${HOME:-}/.cargo/bin/cargo ]]; then
        PATH=$HOME/.cargo/bin:$PATH
    fi
    command -v cargo >/dev/null || die "there is no Rust toolchain: install one from https://rustup.rs."
}
