#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")"
scripts/install.sh build
echo "Building Athanor and its tests"
scripts/build.sh release
ctest --preset release "$@"
