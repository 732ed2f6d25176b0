# SPDX-License-Identifier: Apache-2.0
# Shared by the packaging commands: source it after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
torch_requirements="torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85"

say() { printf '\033[1m%s\033[0m\n' "$*"; }
note() { printf '  %s\n' "$*"; }
die() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit "${2:-1}"
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "Debian packages must be installed and you are not root: install sudo, or run this command as root" 2
    fi
}

# install_packages FILE...: the packages listed in the files that are not installed yet.
install_packages() {
    local wanted missing=() package
    wanted=$(sed -e 's/#.*//' "$@" | tr -s '[:space:]' '\n' | sed '/^$/d')
    for package in $wanted; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        note "Debian packages: all there"
        return
    fi
    command -v apt-get >/dev/null || die "apt-get is missing: the set-up knows Debian 12; install these by hand: ${missing[*]}" 2
    note "installing ${#missing[@]} Debian packages: ${missing[*]}"
    as_root apt-get update -qq || die "apt-get update failed: is the network there?"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$root/.deps/apt.log" 2>&1 ||
        { tail -n 20 "$root/.deps/apt.log" >&2; die "apt-get install failed (the lines above are the end of .deps/apt.log)"; }
}

# LibTorch: the CPU part of the wheel, unpacked into a virtual environment that no program needs at run time.
install_libtorch() {
    local stamp="$root/.deps/libtorch.stamp"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$torch_requirements" ]; then
        note "LibTorch: there"
        return
    fi
    note "fetching and unpacking LibTorch (1.2 GB, about a minute)"
    [ -x "$root/.deps/venv/bin/pip" ] || /usr/bin/python3 -m venv "$root/.deps/venv"
    # A terminal shows how far the download is; a log keeps to what went wrong.
    local quiet=-q
    [ ! -t 1 ] || quiet=
    # shellcheck disable=SC2086
    "$root/.deps/venv/bin/pip" install --no-deps --progress-bar on --disable-pip-version-check $quiet $torch_requirements ||
        die "the LibTorch wheel could not be installed: is the network there, and are 5 GB free?"
    printf '%s' "$torch_requirements" >"$stamp"
}

# Compile jobs: one a core, but no more than memory allows (a LibTorch file takes about 1.5 GB).
jobs() {
    local cores memory_gb
    cores=$(nproc)
    memory_gb=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
    local by_memory=$((memory_gb / 2))
    [ "$by_memory" -ge 1 ] || by_memory=1
    echo $((cores < by_memory ? cores : by_memory))
}

# configure PRESET [-D...]: quiet unless it fails.
configure() {
    local preset=$1
    shift
    mkdir -p "$root/build"
    (cd "$root" && cmake --preset "$preset" "$@") >"$root/build/$preset-configure.log" 2>&1 ||
        { tail -n 30 "$root/build/$preset-configure.log" >&2; die "configuring failed (the lines above are the end of build/$preset-configure.log)"; }
}

# build PRESET TARGET...: Ninja shows the progress.
build() {
    local preset=$1
    shift
    cmake --build "$root/build/$preset" -j "$(jobs)" --target "$@"
}
