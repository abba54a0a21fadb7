#!/usr/bin/env bash
# Installs the distribution's packages that are missing; quick and silent when none is.
# Usage: scripts/install.sh [build|check|fuzz]: "check" adds what the static checks need, "fuzz" what tests/fuzz does.
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache pkg-config python3
  qt6-base-dev qt6-svg-dev libgl-dev libqcustomplot-dev qt6-qpa-plugins
  libsqlitecpp-dev libsqlite3-dev
  libhwy-dev libdnnl-dev libbenchmark-dev
  nlohmann-json3-dev libcli11-dev libfmt-dev libpcre2-dev libutf8proc-dev libxxhash-dev zlib1g-dev libzstd-dev
  fonts-dejavu-core
)
if [ "${1:-build}" = check ]; then
  packages+=(clang-format clang-tidy git)
fi
if [ "${1:-build}" = fuzz ]; then
  packages+=(clang libclang-rt-dev)
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "This script installs packages with apt-get, which is not here. Install by other means:" >&2
  echo "  ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
  echo "Installing needs administrator rights; sudo may ask for your password."
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
