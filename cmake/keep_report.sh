#!/usr/bin/env bash
# Runs a compiler of kernels and keeps what ptxas reports of them beside the object, in OBJECT.ptxas.
# Usage: keep_report.sh COMPILER ARGUMENT...
set -uo pipefail
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
if [ -z "$object" ]; then
  exec "$@"
fi
"$@" 2>"$object.ptxas"
status=$?
grep -v -E '^ptxas info|^Function properties|bytes stack frame|^ +[0-9]+ bytes' "$object.ptxas" >&2
exit $status
