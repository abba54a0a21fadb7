#!/usr/bin/env bash
# Builds the fuzz harnesses and runs each on its seeds. Usage: tests/fuzz/run.sh [SECONDS [NAME...]]
# What it finds lies in build/fuzz/found/NAME; what it learns stays in build/fuzz/corpus/NAME.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.cpp; do
    name=${source##*/fuzz_}
    names+=("${name%.cpp}")
  done
fi
scripts/install.sh fuzz
scripts/build.sh fuzz "${names[@]/#/fuzz_}"
for name in "${names[@]}"; do
  mkdir -p "build/fuzz/corpus/$name" "build/fuzz/found/$name"
  dictionary=tests/fuzz/$name.dict
  options=()
  [ ! -f "$dictionary" ] || options+=("-dict=$dictionary")
  echo "== $name, $seconds s"
  "build/fuzz/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/found/$name/" "${options[@]}" \
    "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" 2>&1 | tail -n 12
done
