#!/usr/bin/env bash
# Brings what a build needs and cargo does not: libtorch, and a CMake that HDF5 likes. Either a torch that is there already
# (LIBTORCH, or the one of the active Python), or the wheel from PyPI in a venv of our own.
#
#   scripts/setup.sh            for building and testing (0.6 GB to download, 1.2 GB on disk)
#   scripts/setup.sh --python   also what the Python host imports and CUDA needs (4.7 GB on disk)
#   scripts/setup.sh --schema   also what scripts/check_schema.py imports
#   scripts/setup.sh --bench    also what benches/python_readers.py imports (1.3 GB on disk)
#   scripts/setup.sh --features also what the cargo features lance and vortex need to build (0.2 GB on disk)
#   scripts/setup.sh --leave    gives the build folder of this checkout to the next new one
#   scripts/setup.sh --clean    removes all that it made
#
# Leaves three ignored things in the checkout:
#   .libtorch          link to the torch folder that was chosen; delete it to choose again
#   .cargo/local.toml  tells cargo where libtorch, cmake and the build folder are
#   .venv              link to the Python of the Python host (with --python)
#
# All else lies in the cache folder: ${PCB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pcb}
# A call that finds everything in place takes some 10 ms.
set -euo pipefail

TORCH_SERIES=2.13             # what the tch crate in Cargo.toml was written for
TORCH_VERSION=2.13.0
CMAKE_MIN=3.26                # what the HDF5 that we build asks for
CMAKE_VERSION=4.1.0
JSONSCHEMA_VERSION=4.26.0
GRPCIO_TOOLS_VERSION=1.85.1   # has protoc, with which lance is built
LIBCLANG_VERSION=18.1.1       # what bindgen loads, with which vortex is built
PYTHON_MIN=11                 # 3.11

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${PCB_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set: set PCB_CACHE}/.cache}/pcb}

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

# --- what the machine must have ---------------------------------------------------------------

need_programs() {
    [ "$(uname -s)" = Linux ] || die "pcb runs on Linux only (it drops single files from the page cache)"
    command -v cargo >/dev/null || die "cargo is missing: install Rust with rustup, then open a new shell"
    command -v "${CXX:-c++}" >/dev/null || die "a C++ compiler is missing: apt install g++"
    command -v make >/dev/null || die "make is missing: apt install make"
}

need_rust() {
    local have want
    want=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$root/Cargo.toml")
    have=$(cargo --version | awk '{ print $2 }')
    [ "$(printf '%s\n' "$want" "$have" | sort -V | head -n 1)" = "$want" ] ||
        die "cargo is $have, pcb needs $want or newer: rustup update stable"
}

# Prints the first Python that is new enough and can make a venv. Debian parts ensurepip from
# python3, so `import venv` alone proves nothing.
find_python() {
    local candidate seen=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        command -v "$candidate" >/dev/null || continue
        "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $PYTHON_MIN))" 2>/dev/null || continue
        seen=$candidate
        "$candidate" -c 'import venv, ensurepip' 2>/dev/null || continue
        printf '%s\n' "$candidate"
        return
    done
    [ -z "$seen" ] || die "$seen has no venv module: apt install python3-venv"
    die "Python 3.$PYTHON_MIN or newer is missing: apt install python3 python3-venv (or set PYTHON to one)"
}

need_space() { # GIGABYTES
    local free
    free=$(df -Pk "$cache" | awk 'NR == 2 { print int($4 / 1048576) }')
    [ "$free" -ge "$1" ] || die "$cache has $free GB free, $1 GB are needed: set PCB_CACHE to a larger place"
}

# --- libtorch ---------------------------------------------------------------------------------

# Prints the version of the torch in a folder, without starting Python: wheels have version.py,
# the libtorch archive has build-version. torch-sys does not check a wheel's folder itself, and a
# wrong version shows up there as pages of C++ errors.
torch_version() { # FOLDER
    local version=
    if [ -f "$1/version.py" ]; then
        version=$(sed -n "s/^__version__ *= *['\"]\([^'\"]*\)['\"].*/\1/p" "$1/version.py")
    elif [ -f "$1/build-version" ]; then
        version=$(<"$1/build-version")
    fi
    printf '%s\n' "${version:-unknown}"
}

torch_fits() { # FOLDER
    [ -e "$1/lib/libtorch_cpu.so" ] && [ -d "$1/include" ] || return 1
    case $(torch_version "$1") in "$TORCH_SERIES".*) ;; *) return 1 ;; esac
}

# Prints the torch folder of the Python that is active, if it has one.
active_torch() {
    local python
    python=$(command -v python || command -v python3) || return 0
    "$python" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true
}

# --- the venv ---------------------------------------------------------------------------------

# A stage leaves a stamp, written last, that says what it installed. No stamp, or another one,
# means that the stage runs again: an interrupted setup never passes for a complete one.
stamped() { # STAGE WHAT
    [ -x "$venv/bin/python" ] && [ -f "$venv/.pcb-$1" ] && [ "$(<"$venv/.pcb-$1")" = "$2" ]
}

stamp() { # STAGE WHAT
    printf '%s\n' "$2" >"$venv/.pcb-$1.new"
    mv "$venv/.pcb-$1.new" "$venv/.pcb-$1"
}

pip_install() {
    # A user's pip settings that send packages elsewhere must not reach this venv.
    mkdir -p "$cache/tmp"
    env -u PIP_USER -u PIP_TARGET -u PIP_PREFIX -u PYTHONPATH -u PYTHONHOME \
        TMPDIR="$cache/tmp" PIP_CACHE_DIR="${PIP_CACHE_DIR:-$cache/pip}" \
        "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --only-binary :all: "$@" >&2
}

make_venv() {
    # Half made (no stamp), or its Python has left the machine: start again.
    if stamped venv made; then return; fi
    local python
    python=$(find_python)
    say "making a Python environment in $venv"
    rm -rf "$venv"
    "$python" -m venv "$venv" >&2 || die "$python cannot make a venv: apt install python3-venv"
    stamp venv made
}

install_torch() {
    local what="torch $TORCH_VERSION" toolkit
    if stamped torch "$what"; then return; fi
    need_space 4
    make_venv
    # What an interrupted pip left could pass for installed.
    rm -rf "$venv"/.pcb-{torch,python} "$venv"/lib/python3.*/site-packages/torch{,-*.dist-info}
    say "installing torch $TORCH_VERSION in $venv (once, 0.6 GB)"
    pip_install --no-deps "torch==$TORCH_VERSION" ||
        die "no torch $TORCH_VERSION for $("$venv/bin/python" -V): see pip's message; for another Python: rm -r $venv; PYTHON=python3.x make setup"
    # Of all the CUDA libraries, libtorch_cpu.so needs two (5 MB), GPU or not. The wheel's own
    # metadata says which versions; a CPU-only wheel asks for none.
    toolkit=$(sed -n 's/^Requires-Dist: cuda-toolkit\[[^]]*\]\(==[0-9.]*\).*/\1/p' "$venv"/lib/python3.*/site-packages/torch-*.dist-info/METADATA)
    [ -z "$toolkit" ] || pip_install --no-warn-conflicts "cuda-toolkit[cudart,cupti]$toolkit"
    stamp torch "$what"
}

install_python() {
    local requirements=$root/worker/python/requirements.txt packages=("torch==$TORCH_VERSION" numpy) what
    [ ! -f "$requirements" ] || packages+=(-r "$requirements")
    what="torch $TORCH_VERSION numpy $(cksum <"$requirements" 2>/dev/null || true)"
    if ! stamped python "$what"; then
        need_space 8
        install_torch
        rm -f "$venv/.pcb-python"
        say "installing what the Python host imports in $venv (once, 4.7 GB on disk)"
        pip_install "${packages[@]}"
        stamp python "$what"
    fi
    link "$venv" .venv
}

# HDF5 is built from source, so that its version means one thing; Debian 12's cmake is too old for it.
choose_cmake() {
    local have what="cmake $CMAKE_VERSION"
    cmake=${CMAKE:-$(command -v cmake || true)}
    if [ -n "$cmake" ]; then
        have=$("$cmake" --version 2>/dev/null | sed -n 's/^cmake version //p')
        if [ "$(printf '%s\n' "$CMAKE_MIN" "$have" | sort -V | head -n 1)" = "$CMAKE_MIN" ]; then return; fi
    fi
    if ! stamped cmake "$what"; then
        make_venv
        say "installing cmake $CMAKE_VERSION in $venv (once, 30 MB), for HDF5"
        pip_install --no-warn-conflicts --quiet "cmake==$CMAKE_VERSION"
        stamp cmake "$what"
    fi
    cmake=$venv/bin/cmake
}

install_schema() {
    local what="jsonschema $JSONSCHEMA_VERSION"
    if stamped schema "$what"; then return; fi
    make_venv
    rm -f "$venv/.pcb-schema"
    pip_install --no-warn-conflicts --quiet "jsonschema==$JSONSCHEMA_VERSION"
    stamp schema "$what"
}

feature_versions() { printf '%s\n' "grpcio-tools $GRPCIO_TOOLS_VERSION libclang $LIBCLANG_VERSION"; }

# Without root: both tools come as Python packages. In a venv of their own, as below.
install_features() {
    local what venv=$features
    what=$(feature_versions)
    if stamped features "$what"; then return; fi
    make_venv
    rm -f "$venv/.pcb-features"
    say "installing protoc and libclang in $venv (once, 30 MB), for lance and vortex"
    pip_install --no-warn-conflicts --quiet "grpcio-tools==$GRPCIO_TOOLS_VERSION" "libclang==$LIBCLANG_VERSION"
    # The module knows where its own .proto files lie.
    printf '#!/bin/sh\nexec "%s" -m grpc_tools.protoc "$@"\n' "$venv/bin/python" >"$venv/bin/protoc"
    chmod +x "$venv/bin/protoc"
    stamp features "$what"
}

# In a venv of its own: what these packages ask for must not move the versions that torch wants.
install_bench() {
    local requirements=$root/benches/requirements.txt what venv=$cache/bench-venv
    what="bench $(cksum <"$requirements")"
    if stamped bench "$what"; then return; fi
    need_space 3
    make_venv
    rm -f "$venv/.pcb-bench"
    say "installing what benches/python_readers.py imports in $venv (once, 1.3 GB on disk)"
    pip_install --quiet -r "$requirements"
    stamp bench "$what"
}

# --- what is left in the checkout -------------------------------------------------------------

link() { # TARGET NAME
    if [ "$(readlink "$root/$2" || true)" = "$1" ]; then return; fi
    if [ -e "$root/$2" ] && [ ! -L "$root/$2" ]; then
        die "$root/$2 is in the way: setup wants a link there"
    fi
    # By way of a rename, so that a build at the same time always finds one.
    ln -s "$1" "$root/$2.$$"
    mv -T "$root/$2.$$" "$root/$2"
}

in_venv() { # FOLDER
    case $1 in "$venv"/*) ;; *) return 1 ;; esac
}

choose_libtorch() {
    local folder
    if [ -n "${LIBTORCH-}" ]; then
        folder=$(cd "$LIBTORCH" 2>/dev/null && pwd -P) || die "LIBTORCH=$LIBTORCH is no folder: unset it, or point it at torch $TORCH_SERIES"
        [ -e "$folder/lib/libtorch_cpu.so" ] || die "LIBTORCH=$LIBTORCH has no lib/libtorch_cpu.so: unset it, or point it at torch $TORCH_SERIES"
        torch_fits "$folder" || die "LIBTORCH=$LIBTORCH is torch $(torch_version "$folder"), pcb needs $TORCH_SERIES: unset LIBTORCH, and setup gets one"
        link "$folder" .libtorch
        return
    fi
    # What was chosen before stays while it is good: a change rebuilds the bindings.
    if torch_fits "$root/.libtorch"; then
        folder=$(readlink -f "$root/.libtorch")
        if ! in_venv "$folder" || stamped torch "torch $TORCH_VERSION"; then return; fi
    fi
    folder=$(active_torch)
    if [ -n "$folder" ] && torch_fits "$folder"; then
        say "using torch $(torch_version "$folder") of the active Python"
    else
        [ -z "$folder" ] || say "the active Python has torch $(torch_version "$folder"), pcb needs $TORCH_SERIES and gets its own"
        install_torch
        folder=$(echo "$venv"/lib/python3.*/site-packages/torch)
        torch_fits "$folder" || die "$folder is not torch $TORCH_SERIES: rm -r $venv, then make setup"
    fi
    link "$folder" .libtorch
}

# Each checkout has a build folder of its own. They cannot share one: cargo takes the same crate in
# two clones for one, goes by the times of files, and hands one clone the programs of the other.
# But a new checkout takes over the folder of one that is gone, less our own crates: the other 200
# need not be compiled again.
own_build_folder() {
    local folder free=
    build=$cache/build/$(basename "$root")-$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
    if [ -f "$build/.checkout" ] && [ "$(<"$build/.checkout")" = "$root" ]; then return; fi
    for folder in "$cache"/build/*/; do
        folder=${folder%/}
        if [ ! -f "$folder/.checkout" ] || [ -d "$(<"$folder/.checkout")" ]; then continue; fi
        if [ -z "$free" ]; then
            free=$folder
        elif [ "$folder" -nt "$free" ]; then
            rm -rf "$free"
            free=$folder
        else
            rm -rf "$folder"
        fi
    done
    if [ -n "$free" ]; then
        say "taking over the compiled crates of a checkout that is gone"
        [ "$free" = "$build" ] || { rm -rf "$build" && mv "$free" "$build"; }
        (cd "$root" && CARGO_BUILD_BUILD_DIR=$build cargo clean --workspace --quiet) || rm -rf "$build"
    fi
    mkdir -p "$build"
    printf '%s\n' "$root" >"$build/.checkout"
}

leave_build_folder() {
    # No checkout has an empty name.
    [ ! -d "$build" ] || : >"$build/.checkout"
}

# Where the tools of install_features are, if they are.
feature_tools() {
    local venv=$features
    stamped features "$(feature_versions)" || return 0
    printf '\nPROTOC = "%s"\nLIBCLANG_PATH = "%s"' "$venv/bin/protoc" "$(echo "$venv"/lib/python3.*/site-packages/clang/native)"
}

# Resolved paths, not the link: torch-sys is rebuilt whenever the spelling of LIBTORCH changes, so
# every clone has to spell it alike to be able to take over the compiled bindings.
configure_cargo() {
    local file=$root/.cargo/local.toml text
    text="# Written by scripts/setup.sh.
[build]
build-dir = \"$build\"

[env]
LIBTORCH = \"$(readlink -f "$root/.libtorch")\"
CMAKE = \"$cmake\"$(feature_tools)"
    if [ -f "$file" ] && [ "$(<"$file")" = "$text" ]; then return; fi
    need_rust
    printf '%s\n' "$text" >"$file.$$"
    mv "$file.$$" "$file"
}

clean() {
    rm -rf "$venv" "$cache/bench-venv" "$features" "$cache/build" "$cache/pip" "$cache/tmp" "$root/.cargo/local.toml"
    local name
    for name in .libtorch .venv; do
        [ ! -L "$root/$name" ] || rm "$root/$name"
    done
}

# ----------------------------------------------------------------------------------------------

case ${1-} in
'' | --python | --schema | --bench | --features | --leave | --clean) ;;
*) die "unknown argument '$1': --python, --schema, --bench, --features, --leave, --clean, or none" ;;
esac
need_programs
mkdir -p "$cache"
cache=$(cd "$cache" && pwd -P)
venv=$cache/venv
features=$cache/features-venv
exec 9>"$cache/setup.lock"
flock -n 9 || { say "waiting for another setup to end"; flock 9; }

if [ "${1-}" = --clean ]; then
    clean
    exit
fi
choose_libtorch
choose_cmake
[ "${1-}" != --features ] || install_features
own_build_folder
configure_cargo
case ${1-} in
--leave) leave_build_folder ;;
--python) install_python ;;
--schema) install_schema ;;
--bench) install_bench ;;
esac
