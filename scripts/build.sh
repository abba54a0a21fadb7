#!/usr/bin/env bash
# Configures and builds one preset. Usage: scripts/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
# Compiled objects are shared between checkouts: paths inside this one count as relative.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
preset=$1
shift
cmake --preset "$preset" --log-level=NOTICE >/dev/null
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
cmake --build "build/$preset" "${targets[@]}"
