#!/usr/bin/env bash
# Installs what the tests want from the system: a C compiler for the codec libraries, binutils, strace, Python's venv, the tools and
# filter plugins of Debian, and cargo-nextest. Quick and silent when everything is there; may be run again.
# What cannot be installed is named. Without it, tests that want it are skipped by name; under CI that is a failure.
set -euo pipefail

# the version that is installed where cargo has no nextest
nextest=0.9.143

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf 'setup: %s\n' "$*" >&2; }
in_ci() { [[ -n ${CI:-} && $CI != false && $CI != 0 ]]; }

# A package counts as there if what it is wanted for is there, wherever that came from.
is_there() {
    case $1 in
        gcc) have cc ;;
        g++) have c++ ;;
        binutils) have nm && have objdump ;;
        python3-venv) have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        hdf5-tools) have h5dump && have h5repack && have h5diff ;;
        strace) have strace ;;
        netcdf-bin) have ncdump && have nccopy && have ncgen ;;
        *) have dpkg-query && [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]] ;;
    esac
}

missing_packages() {
    local package
    for package in gcc g++ binutils python3-venv strace hdf5-tools netcdf-bin \
        hdf5-filter-plugin hdf5-filter-plugin-blosc-serial hdf5-filter-plugin-zfp-serial; do
        is_there "$package" || printf '%s\n' "$package"
    done
}

apt() {
    local run=()
    if [[ $(id -u) != 0 ]]; then
        if ! have sudo; then
            say "neither root nor sudo"
            return 1
        fi
        # ask for a password only where somebody can answer
        if [[ -t 0 ]]; then run=(sudo); else run=(sudo -n); fi
    fi
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >&2
}

mapfile -t packages < <(missing_packages)
if ((${#packages[@]})); then
    if have apt-get; then
        say "installing ${packages[*]}"
        # one name that this release lacks must not keep the others out
        if apt update && ! apt install --no-install-recommends "${packages[@]}"; then
            for package in "${packages[@]}"; do
                apt install --no-install-recommends "$package" || say "apt-get cannot install $package"
            done
        fi
    else
        say "there is no apt-get here"
    fi
    mapfile -t packages < <(missing_packages)
fi

if ! have cargo; then
    say "cargo is missing: install Rust first, see https://rustup.rs"
    exit 1
fi
if ! cargo nextest --version >/dev/null 2>&1; then
    say "installing cargo-nextest $nextest, which takes some minutes"
    cargo install --locked --quiet "cargo-nextest@$nextest"
fi

if ((${#packages[@]})); then
    say "still missing: ${packages[*]}"
    say "remedy: apt-get install ${packages[*]}"
    if in_ci || ! have cc || ! have c++; then exit 1; fi
    say "tests that want these are skipped"
fi
