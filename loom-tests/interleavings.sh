#!/usr/bin/env bash
# How many interleavings the models explore, by model and in all.
#
# usage: loom-tests/interleavings.sh [--full] [--models] [FILE...]   (all of tests/ without names)
#
# Prints a table: models, interleavings and seconds of a processor by file; with --full also those of
# CORELOCAL_LOOM_FULL, with --models a line for each model before it. Fails where a model fails.
set -euo pipefail
cd "$(dirname "$0")/.."

modes=(quick) models=0 files=()
for word in "$@"; do
    case $word in
    --full) modes+=(full) ;;
    --models) models=1 ;;
    *) files+=("$word") ;;
    esac
done

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target/loom} RUSTFLAGS="--cfg corelocal_loom"
unset LOOM_LOG LOOM_CHECKPOINT_FILE LOOM_MAX_PREEMPTIONS CORELOCAL_LOOM_FULL
targets=(--tests)
[ ${#files[@]} -eq 0 ] || targets=("${files[@]/#/--test=}")
cargo=(cargo test -p loom-tests --release --features loom "${targets[@]}" --no-run)
built=$("${cargo[@]}" 2>&1) || { echo "$built" >&2; exit 1; }

# FILE BINARY, a line each.
binaries=$(sed -n 's/^ *Executable tests\/\([^ ]*\)\.rs (\(.*\))$/\1 \2/p' <<<"$built")
TIMEFORMAT='%U %S'
log=$(mktemp)
trap 'rm -f "$log"' EXIT

explore() { # MODE BINARY
    local full=()
    [ "$1" = quick ] || full=(CORELOCAL_LOOM_FULL=1)
    env "${full[@]}" "$2" --nocapture --test-threads=2
}

rows=
while read -r file binary; do
    binary=$(realpath "$binary")
    for mode in "${modes[@]}"; do
        if ! taken=$({ time (cd loom-tests && explore "$mode" "$binary" >"$log" 2>&1); } 2>&1); then
            cat "$log" >&2
            exit 1
        fi
        # `MODEL: 12 runs in 0.1 s`, perhaps behind what libtest says.
        runs=$(grep -oE '[^ ]+: [0-9]+ runs in [0-9.]+ s$' "$log" || true)
        [ $models -eq 0 ] || [ -z "$runs" ] || sed "s/^/$mode $file /" <<<"$runs" | sort
        rows+="$file $mode $(awk 'NF {models += 1; runs += $2} END {print models + 0, runs + 0}' <<<"$runs") $taken"$'\n'
    done
done <<<"$binaries"

awk -v modes="${modes[*]}" '
    NF == 6 {
        if (!($1 in seen)) { seen[$1] = 1; order[++files] = $1 }
        key = $1 SUBSEP $2
        models[$1] = $3; runs[key] = $4; seconds[key] = $5 + $6
    }
    END {
        count = split(modes, mode, " ")
        head = "| file | models |"; line = "|---|--:|"
        for (m = 1; m <= count; m++) {
            head = head " interleavings, " mode[m] " | CPU s |"; line = line "--:|--:|"
        }
        print head; print line
        for (f = 1; f <= files; f++) {
            name = order[f]
            if (models[name] == 0) continue
            row = "| `" name "` | " models[name] " |"; all += models[name]
            for (m = 1; m <= count; m++) {
                key = name SUBSEP mode[m]
                row = row sprintf(" %d | %.1f |", runs[key], seconds[key])
                sum[m] += runs[key]; time[m] += seconds[key]
            }
            print row
        }
        row = "| all | " all " |"
        for (m = 1; m <= count; m++) row = row sprintf(" %d | %.1f |", sum[m], time[m])
        print row
    }' <<<"$rows"
