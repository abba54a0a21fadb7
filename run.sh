#!/usr/bin/env bash
# Installs what is missing, builds Athanor and opens its window. Arguments go to the program.
# Without a display it trains the demo in the terminal instead.
set -euo pipefail
cd "$(dirname "$0")"
scripts/install.sh build
echo "Building Athanor (the first time takes some minutes)"
scripts/build.sh release athanor athanorctl
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  exec build/release/bin/athanor "$@"
fi
echo
echo "This machine shows no display, so the demo trains here in the terminal."
echo "To see the window, run ./run.sh from a desktop session, or over \"ssh -X\"."
echo
exec build/release/bin/athanorctl train --preset spark
