#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Gathers what run.sh needs into a folder that runs on a machine with a card, the CUDA Toolkit 13 (or the
# libraries that come with PyTorch) and PyTorch, and nothing else of what Athanor is built with.
# Usage: make_bundle.sh [folder]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-$root/build/gpu-check}
most_bytes=64000000
mark=.athanor-gpu-check

if [ -e "$folder" ] && [ ! -e "$folder/$mark" ]; then
  echo "make_bundle.sh: $folder is there and no bundle; name another folder" >&2
  exit 1
fi
programs=(check_card bench_kernels bench_steps export_curve)
plugins=(libathanor_cuda.so libathanor_card_peer.so)
if ! "$root/scripts/build.sh" release athanor_cuda athanor_card_peer "${programs[@]}"; then
  echo "make_bundle.sh: not built; the CUDA Toolkit 13 has to be installed here too" >&2
  exit 1
fi

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib/fallback"
touch "$folder/$mark"
for program in "${programs[@]}"; do strip -o "$folder/bin/$program" "$root/build/release/bin/$program"; done
for plugin in "${plugins[@]}"; do
  strip --strip-unneeded -o "$folder/lib/$plugin" "$root/build/release/lib/$plugin"
done

# The C library, the driver and cuBLASLt are the machine's; so is the C++ library, unless it is too old.
needed() {
  local file
  for file in "${programs[@]/#/$root/build/release/bin/}" "${plugins[@]/#/$root/build/release/lib/}"; do
    ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}'
  done | sort -u
}
while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
    libcublasLt.so.* | libcuda.so.* | libnvidia-*) ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$path" "$folder/lib/fallback/$name" ;;
    *) strip --strip-unneeded -o "$folder/lib/$name" "$path" ;;
  esac
done < <(needed)
chmod -R u+w "$folder"

cp "$here"/{run.sh,card_curve.py,bench_torch.py,report.py,models.json} "$folder/"
cp "$root"/tests/bench/{llama_torch.py,peer_curve.py} "$folder/"
cp "$root/LICENSE" "$folder/"

bytes=$(du -sb "$folder" | cut -f1)
if [ "$bytes" -gt "$most_bytes" ]; then
  echo "make_bundle.sh: the bundle takes $bytes bytes; at most $most_bytes are allowed" >&2
  exit 1
fi
glibc=$(find "$folder/bin" "$folder/lib" -maxdepth 1 -type f -exec objdump -T {} + |
  grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
echo "$folder: $bytes bytes; needs ${glibc/_/ } or newer. On a machine with a card: ./run.sh"
