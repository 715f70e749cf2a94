#!/bin/sh
# Installs, upgrades or removes the meshseek service. Says each thing it does; --dry-run only says it.
set -eu
umask 022

usage() {
    cat <<'END'
usage: sudo deploy/install.sh [--vault DIR [--inbox FOLDER]] [--wheel FILE] [--dry-run]
       sudo deploy/install.sh --uninstall [--purge] [--dry-run]

Installs meshseek into /opt/meshseek with a systemd service, a udev rule and shell completions. Run it again to
upgrade: config and state stay, and the running service is restarted.

  --vault DIR     the folder with the notes; the service sees it read-only, and no other home directory
  --inbox FOLDER  a folder in the vault for field notes: writable, and the service then runs as its owner
  --wheel FILE    install this wheel instead of building the checkout that this script lies in
  --uninstall     remove the program, service and rule; config and state stay
  --purge         with --uninstall: remove config, state, index and the user as well
  --dry-run       only say what would be done
  --root DIR      for trying it out: everything below DIR, no user and no running service
END
}

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit "${code:-2}"; }

# Say a command, then run it unless this is a dry run.
run() {
    say "  $*"
    [ -n "$dry" ] || "$@"
}

# A command that changes the running system: not below --root, and not where the tool is absent.
live() {
    if [ -n "$root" ]; then
        say "  skipped below --root: $*"
    elif ! command -v "$1" >/dev/null 2>&1; then
        say "  skipped, there is no $1 here: $*"
    else
        run "$@"
    fi
}

# Whether systemd runs this machine: containers and chroots have its files but not the manager.
has_systemd() { [ -z "$root" ] && [ -d /run/systemd/system ]; }
systemd() {
    if has_systemd; then run systemctl "$@"; else say "  skipped, systemd does not run here: systemctl $*"; fi
}

# Containers that systemd runs have udev's tools but no device manager, and asking it then fails.
udev() {
    if [ -n "$root" ] || [ -e /run/udev/control ]; then live udevadm "$@"; else say "  skipped, udev does not run here: udevadm $*"; fi
}

# Write standard input to a file with this mode.
write() {
    say "  write $2 (mode $1)"
    if [ -n "$dry" ]; then cat >/dev/null; return; fi
    cat >"$root$2.new"
    chmod "$1" "$root$2.new"
    mv -f "$root$2.new" "$root$2"
}

owned() { [ -n "$root" ] || run chown "$1" "$2"; }

# Not one from a home directory: the service does not see those.
find_python() {
    fits='import sys, venv, ensurepip
sys.exit(sys.version_info < (3, 11) or sys.base_prefix.startswith(("/home", "/root")))'
    for candidate in ${PYTHON:-/usr/bin/python3 python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c "$fits" 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
}

# A release that did not get finished goes; the one in use is untouched.
tidy() {
    rm -rf "$work"
    [ -z "$made" ] || rm -rf "$made"
}

add_user() {
    say "the user that the service runs as"
    if [ -z "$root" ] && getent passwd meshseek >/dev/null; then
        say "  meshseek is there"
        return
    fi
    live useradd --system --user-group --home-dir /var/lib/meshseek --no-create-home --shell /usr/sbin/nologin meshseek
    if [ -z "$root" ] && getent group dialout >/dev/null; then live usermod -aG dialout meshseek; fi
}

# A venv of its own for every release; `current` changes to it in one step once it works.
install_program() {
    say "the program, in /opt/meshseek"
    release=releases/$(date -u +%Y%m%dT%H%M%S).$$
    target=$root/opt/meshseek/$release
    quiet="--quiet --disable-pip-version-check --no-input"
    run mkdir -p "$root/opt/meshseek/releases"
    if [ -z "$wheel" ]; then
        run "$python" -m venv "$work/build"
        # shellcheck disable=SC2086 # these are several words
        run "$work/build/bin/pip" install $quiet --require-hashes -r "$here/build-constraints.txt"
        # shellcheck disable=SC2086
        run "$work/build/bin/pip" wheel $quiet --no-deps --no-build-isolation -w "$work" "$source"
        [ -n "$dry" ] || wheel=$(ls "$work"/meshseek-*.whl)
    fi
    run "$python" -m venv "$target"
    made=$target
    # shellcheck disable=SC2086
    run "$target/bin/pip" install $quiet --require-hashes -r "$here/constraints.txt"
    # shellcheck disable=SC2086
    run "$target/bin/pip" install $quiet --no-deps --no-index "${wheel:-meshseek.whl}"
    run "$target/bin/meshseek" --version
    say "  /opt/meshseek/current -> $release"
    if [ -z "$dry" ]; then
        ln -s "$release" "$root/opt/meshseek/current.new"
        mv -fT "$root/opt/meshseek/current.new" "$root/opt/meshseek/current"
    fi
    made=
    drop_old_releases
    run mkdir -p "$root/usr/local/bin"
    run ln -sfn /opt/meshseek/current/bin/meshseek "$root/usr/local/bin/meshseek"
}

# This release and the one before stay.
drop_old_releases() {
    [ -d "$root/opt/meshseek/releases" ] || return 0
    find "$root/opt/meshseek/releases" -mindepth 1 -maxdepth 1 | sort -r | tail -n +3 | while read -r old; do
        run rm -rf "$old"
    done
}

install_files() {
    say "service, udev rule, completions, documentation"
    share=/usr/local/share
    run mkdir -p "$root/etc/systemd/system" "$root/etc/udev/rules.d" "$root$share/bash-completion/completions" \
        "$root$share/zsh/site-functions" "$root$share/fish/vendor_completions.d" "$root$share/doc/meshseek"
    write 644 /etc/systemd/system/meshseek.service <"$here/meshseek.service"
    write 644 /etc/udev/rules.d/60-meshseek.rules <"$here/60-meshseek.rules"
    write 644 $share/bash-completion/completions/meshseek <"$here/completions/meshseek.bash"
    write 644 $share/zsh/site-functions/_meshseek <"$here/completions/_meshseek"
    write 644 $share/fish/vendor_completions.d/meshseek.fish <"$here/completions/meshseek.fish"
    for page in README.md SECURITY.md meshseek.example.toml; do
        write 644 $share/doc/meshseek/$page <"$here/$page"
    done
}

# systemd makes these by itself; without it they are needed all the same.
install_state() {
    say "state, in /var/lib/meshseek"
    if [ -d "$root/var/lib/meshseek" ]; then
        say "  stays as it is"
        return
    fi
    run mkdir -p "$root/var/lib/meshseek"
    owned meshseek:meshseek /var/lib/meshseek
    run chmod 700 "$root/var/lib/meshseek"
}

# The first config is the example with the vault and the service's state directory filled in.
install_config() {
    say "config, in /etc/meshseek"
    run mkdir -p "$root/etc/meshseek"
    owned root:meshseek /etc/meshseek
    run chmod 2750 "$root/etc/meshseek"
    if [ -e "$root/etc/meshseek/meshseek.toml" ]; then
        say "  meshseek.toml stays as it is"
        return
    fi
    first_config | write 640 /etc/meshseek/meshseek.toml
    owned root:meshseek /etc/meshseek/meshseek.toml
}

first_config() {
    awk -v vault="${vault:-/srv/vault}" '
        /^\[/ { table = $1 }
        table == "[vault]" && /^path = / { print "path = \"" vault "\""; next }
        table == "[state]" && /^directory = / { print "directory = \"/var/lib/meshseek\""; next }
        { print }' "$here/meshseek.example.toml"
}

# What of the home directories the service sees: the vault, and nothing else.
install_vault() {
    [ -n "$vault" ] || return 0
    say "the vault that the service may read"
    run mkdir -p "$root/etc/systemd/system/meshseek.service.d"
    vault_unit | write 644 /etc/systemd/system/meshseek.service.d/vault.conf
}

vault_unit() {
    say "# Written by install.sh --vault."
    say "[Service]"
    say "BindReadOnlyPaths=\"$vault\""
    if [ -n "$inbox" ]; then
        say "# Field notes: they belong to whom the folder belongs to, so that Obsidian can go on editing them."
        say "User=$(stat -c %U "$vault/$inbox")"
        say "Group=$(stat -c %G "$vault/$inbox")"
        say "SupplementaryGroups=meshseek"
        say "UMask=0022"
            say "BindPaths=\"$vault/$inbox\""
    fi
}

apply() {
    say "making it known"
    systemd daemon-reload
    udev control --reload
    udev trigger --subsystem-match=tty --action=change
    systemd try-restart meshseek.service
}

next_steps() {
    say ""
    say "Installed. Next (deploy/README.md says more):"
    if [ -z "$vault" ] && [ ! -e "$root/etc/systemd/system/meshseek.service.d/vault.conf" ]; then
        say "  sudo $here/install.sh --vault DIR     once, so that the service may read your notes"
        say "  sudoedit /etc/meshseek/meshseek.toml  set [vault] path"
    fi
    say "  sudo meshseek doctor                  what is still missing, with the remedy"
    say "  sudo meshseek pair                    allow your handheld"
    if has_systemd || [ -n "$root" ]; then
        say "  sudo systemctl enable --now meshseek  start it, now and at each boot"
    else
        say "  sudo -u meshseek meshseek serve       start it; there is no systemd here to do that"
    fi
}

remove_all() {
    say "removing meshseek"
    [ ! -e "$root/etc/systemd/system/meshseek.service" ] || systemd disable --now meshseek.service
    run rm -f "$root/etc/systemd/system/meshseek.service" "$root/etc/udev/rules.d/60-meshseek.rules" \
        "$root/usr/local/bin/meshseek" "$root/usr/local/share/bash-completion/completions/meshseek" \
        "$root/usr/local/share/zsh/site-functions/_meshseek" "$root/usr/local/share/fish/vendor_completions.d/meshseek.fish"
    run rm -rf "$root/opt/meshseek" "$root/usr/local/share/doc/meshseek"
    if [ -n "$purge" ]; then
        run rm -rf "$root/etc/meshseek" "$root/etc/systemd/system/meshseek.service.d" "$root/var/lib/meshseek" \
            "$root/var/cache/meshseek"
        if [ -n "$root" ] || getent passwd meshseek >/dev/null; then live userdel meshseek; fi
    else
        say "  kept: /etc/meshseek, /var/lib/meshseek, the drop-ins (--purge removes them)"
    fi
    systemd daemon-reload
    udev control --reload
}

check_arguments() {
    code=2
    [ -z "$purge" ] || [ -n "$uninstall" ] || fail "--purge goes with --uninstall"
    [ -z "$inbox" ] || [ -n "$vault" ] || fail "--inbox goes with --vault"
    if [ -n "$vault" ]; then
        [ -d "$vault" ] || fail "--vault $vault: is not a folder"
        vault=$(cd "$vault" && pwd -P)
        case $vault in *[\"\\%:]*) fail "--vault $vault: a path with \", \\, % or : cannot stand in a unit file" ;; esac
    fi
    if [ -n "$inbox" ]; then
        case $inbox in /* | *..* | *[\"\\%:]*) fail "--inbox $inbox: must be a folder in the vault" ;; esac
        [ -d "$vault/$inbox" ] || fail "--inbox $inbox: there is no folder $vault/$inbox; make it first"
        [ "$(stat -c %u "$vault/$inbox")" != 0 ] || fail "--inbox $inbox: belongs to root, and the service runs as" \
            "its owner: chown it to whose notes they are"
    fi
    [ -z "$wheel" ] || [ -f "$wheel" ] || fail "--wheel $wheel: is not a file"
    [ -n "$root$dry" ] || [ "$(id -u)" = 0 ] || fail "must be run as root: sudo $0 (--dry-run shows what it does)"
}

root='' vault='' inbox='' wheel='' dry='' uninstall='' purge='' made=''
here=$(cd "$(dirname "$0")" && pwd -P)
source=$(dirname "$here")
while [ $# -gt 0 ]; do
    case $1 in
    --root | --vault | --inbox | --wheel) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    esac
    case $1 in
    --root) root=$2 && shift ;;
    --vault) vault=$2 && shift ;;
    --inbox) inbox=$2 && shift ;;
    --wheel) wheel=$2 && shift ;;
    --dry-run) dry=yes ;;
    --uninstall) uninstall=yes ;;
    --purge) purge=yes ;;
    -h | --help) usage && exit 0 ;;
    *) fail "no option $1 (--help lists them)" ;;
    esac
    shift
done
check_arguments
[ -z "$dry" ] || say "Dry run: nothing is changed."
if [ -n "$uninstall" ]; then
    remove_all
    exit 0
fi
python=$(find_python)
code=3
[ -n "$python" ] || fail "needs Python 3.11 or newer with venv: sudo apt install python3-venv"
work=$(mktemp -d)
trap tidy EXIT
trap 'exit 130' INT TERM
add_user
install_program
install_files
install_config
install_state
install_vault
apply
next_steps
