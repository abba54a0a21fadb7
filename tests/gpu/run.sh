#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks and measures Athanor on this machine's NVIDIA card; see docs/kernels.md.
# Usage: run.sh [--quick|--full|--dry] [--json FILE]
#   --quick  under 4 minutes (the default)    --full  under 9 minutes
#   --dry    what the tests run where no card is: few cases on what $ATHANOR_PLUGINS pretends
# $PYTHON names a Python with PyTorch. Ends with 0 where there is no card, and says so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

form=quick
json=
while [ $# -gt 0 ]; do
  case $1 in
    --quick | --full | --dry) form=${1#--} ;;
    --json)
      json=${2:?--json needs a file}
      shift
      ;;
    *)
      echo "run.sh: unknown argument $1" >&2
      exit 2
      ;;
  esac
  shift
done

bin=${ATHANOR_GPU_BIN:-$here/bin}
python=${PYTHON:-python3}
models=$here/models.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Nothing of this stays, and nothing that was found earlier is used.
export ATHANOR_HOME=$work/home
export PYTHONPATH=$here:$here/../bench${PYTHONPATH:+:$PYTHONPATH}
export PYTHONUNBUFFERED=1
: >"$work/steps.tsv"

case $form in
  quick) most_seconds=235 every=1 curve_steps=100 steps=3 ids=(95m 124m 977m-16gb) compiled=(95m) ;;
  full) most_seconds=530 every=1 curve_steps=100 steps=5 ids=(95m 124m 0.5b 977m 977m-16gb) compiled=(95m 124m 0.5b 977m) ;;
  dry) most_seconds=235 every=40 curve_steps=2 steps=1 ids=(tiny) compiled=() ;;
esac
tiny=()
curve_model=(--preset nano)
on_processor=()
if [ "$form" = dry ]; then
  tiny=(--tiny)
  curve_model=(--preset tiny --models "$models")
  on_processor=(--on-processor)
fi

# Where cuBLASLt lies when the loader does not find it: the toolkit, or the wheels that PyTorch brings.
find_library() {
  local name=libcublasLt.so.13 folder
  if ldconfig -p 2>/dev/null | grep -q "$name"; then return; fi
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/{lib64,targets/x86_64-linux/lib} /usr/local/cuda-13*/lib64 \
    $("$python" -c 'import site, sys
for place in site.getsitepackages() + sys.path:
    print(f"{place}/nvidia/cu13/lib", f"{place}/nvidia/cublas/lib")' 2>/dev/null || true); do
    if [ -e "$folder/$name" ]; then
      printf '%s\n' "$folder"
      return
    fi
  done
}

programs_path=$(find_library)
# What the programs were built with, where the system's own is too old for them.
if ! "$bin/check_card" --help >/dev/null 2>&1 && [ -d "$here/lib/fallback" ]; then
  programs_path=$here/lib/fallback${programs_path:+:$programs_path}
fi
# For our programs alone: PyTorch brings its own libraries, of other versions.
ours=(env)
if [ -n "$programs_path" ]; then
  ours=(env "LD_LIBRARY_PATH=$programs_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
fi

failed=0
log=
# step NAME SECONDS COMMAND...: runs it within its time and what is left of all; goes on after a failure. One of
# PyTorch's is no failure of ours. What it prints goes to $log, where that is set.
step() {
  local name=$1 limit=$2 begin=$SECONDS status=0 outcome left
  shift 2
  left=$((most_seconds - SECONDS))
  if [ "$left" -lt 5 ]; then
    printf '%s\tleft out: no time\t0\n' "$name" >>"$work/steps.tsv"
    return
  fi
  [ "$limit" -le "$left" ] || limit=$left
  echo "-- $name"
  if [ -z "$log" ]; then
    timeout --kill-after=5 "$limit" "$@" || status=$?
  else
    timeout --kill-after=5 "$limit" "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then tail -n 20 "$log"; fi
  fi
  case $status in
    0) outcome=passed ;;
    77) outcome="not run" ;;
    124 | 137) outcome="FAILED: over $limit s" ;;
    *) outcome="FAILED: exit code $status" ;;
  esac
  case $name:$outcome in
    PyTorch*) outcome=${outcome/FAILED/not run} ;;
    *:FAILED*) failed=1 ;;
  esac
  printf '%s\t%s\t%s\n' "$name" "$outcome" "$((SECONDS - begin))" >>"$work/steps.tsv"
}

status=0
"${ours[@]}" "$bin/check_card" --probe || status=$?
if [ "$status" -eq 77 ]; then
  # Why, it has said.
  if [ -n "$json" ]; then echo '{"not_run": "no card that can be used"}' >"$json"; fi
  exit 0
fi
if [ "$status" -ne 0 ]; then
  echo "FAILED: the programs do not run here"
  exit 1
fi

step "operations against the reference" 150 "${ours[@]}" "$bin/check_card" --every "$every" --json "$work/operations.json"
step "training against PyTorch" 100 "$python" "$here/card_curve.py" --export "$bin/export_curve" \
  --libraries "$programs_path" "${curve_model[@]}" --steps "$curve_steps" --json "$work/curve.json"
# The report has its tables.
log=$work/kernels.log
step "kernels" 90 "${ours[@]}" "$bin/bench_kernels" "${tiny[@]}" --json "$work/kernels.json"
log=
for id in "${ids[@]}"; do
  step "training, $id" 90 "${ours[@]}" "$bin/bench_steps" --models "$models" --model "$id" --steps "$steps" \
    --json "$work/steps-$id.json"
done
if [ -e "$work/kernels.json" ]; then
  step "PyTorch's operations" 60 "$python" "$here/bench_torch.py" operations --ours "$work/kernels.json" \
    --json "$work/torch-operations.json" "${on_processor[@]}"
fi
# peer MODE ID: PyTorch in the batch that ours took.
peer() {
  if [ -e "$work/steps-$2.json" ]; then
    step "PyTorch $1, $2" 120 "$python" "$here/bench_torch.py" steps --ours "$work/steps-$2.json" --mode "$1" \
      --steps "$steps" --json "$work/torch-$2-$1.json" "${on_processor[@]}"
  fi
}
for id in "${ids[@]}"; do
  # The 16 GB settings differ from 977m's in what PyTorch has not.
  if [ "$id" = 977m-16gb ] && [ -e "$work/torch-977m-eager.json" ]; then continue; fi
  peer eager "$id"
done
for id in "${compiled[@]}"; do peer compile "$id"; done

"$python" "$here/report.py" "$work" ${json:+--json "$json"} || failed=1
if [ "$failed" -ne 0 ]; then
  echo "FAILED: see the steps above"
  exit 1
fi
echo "All steps that ran passed."
