#!/usr/bin/env bash
# Fails when a source file is not as clang-format would write it.
set -euo pipefail
cd "$(dirname "$0")/.."
find engine widgets gui tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' | sort | xargs clang-format --dry-run -Werror
