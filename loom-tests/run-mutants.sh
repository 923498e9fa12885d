#!/usr/bin/env bash
# Breaks the crate in known ways and demands that the models notice.
#
# usage: loom-tests/run-mutants.sh [NAME...]     (all of mutants/ without names)
#
# For each mutants/NAME.patch: copy the workspace, apply the patch, build, run the
# model named in the patch's `Killer: FILE::TEST` line under loom (`history`: without),
# and demand that it FAILS. A mutant that survives, hangs, no longer applies or does not build makes
# this script fail. The models must pass unbroken first. Takes seconds a mutant.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=${CARGO_TARGET_DIR:-$here/../target}/mutants
mkdir -p "$work"
work=$(cd "$work" && pwd)
copy=$work/tree
log=$work/log
limit=300 # seconds for one model; a mutant that needs more counts as alive

export CARGO_TARGET_DIR=$work/target
export RUSTFLAGS="--cfg corelocal_loom" # replaces the caller's: the models need this one
export RUST_BACKTRACE=0
unset LOOM_LOG LOOM_CHECKPOINT_FILE LOOM_MAX_PREEMPTIONS CORELOCAL_LOOM_FULL

# A mutant is built once and run once: what it costs is the build. Loom itself stays fast.
quick=(--config profile.release.incremental=true)
for crate in corelocal loom-tests; do
    quick+=(--config "profile.release.package.$crate.opt-level=1")
    quick+=(--config "profile.release.package.$crate.debug=false")
done

loom_test() { # FILE [ARGS...]
    local build=(--features loom)
    (
        cd "$copy"
        if [ "$1" = history ]; then
            build=()
            unset RUSTFLAGS
            export CARGO_TARGET_DIR=$work/target-plain
        fi
        timeout "$limit" cargo test "${quick[@]}" -q -p loom-tests --release "${build[@]}" --test "$@"
    )
}

# Brings the copy back to the original. `touch`: cargo compares times, and a restored
# file that is older than the mutant's build would count as built.
restore() {
    for file in "$@"; do
        cp "$here/../$file" "$copy/$file"
        touch "$copy/$file"
    done
}

# Prints the fate of one mutant; succeeds if it was killed.
try() { # PATCH KILLER
    local patch=$1 killer=$2
    if ! patch --quiet --no-backup-if-mismatch -r - -d "$copy" -p1 <"$patch" >"$log" 2>&1; then
        echo "DOES NOT APPLY"
    elif ! loom_test "${killer%%::*}" --no-run >"$log" 2>&1; then
        echo "DOES NOT BUILD"
    else
        local status=0
        loom_test "${killer%%::*}" -- --exact "${killer#*::}" >"$log" 2>&1 || status=$?
        case $status in
        0) echo "SURVIVED" ;;
        124) echo "HUNG" ;;
        *)
            # What loom or the model said, so that a reader sees it died of the right thing.
            echo "killed: $(sed -n '/panicked at/{n;p;q}' "$log" | cut -c1-70)"
            return 0
            ;;
        esac
    fi
    return 1
}

rm -rf "$copy"
mkdir "$copy"
# `m`: everything is newer than what the last mutant of the last run left built.
tar -C "$here/.." --exclude=./target --exclude=./.git -cf - . | tar -C "$copy" -xmf -

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "$here"/mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

echo "unbroken models must pass ..."
tests=$(for name in "${names[@]}"; do
    sed -n 's/^Killer: \([^:]*\)::.*/\1/p' "$here/mutants/$name.patch"
done | sort -u)
for test in $tests; do
    loom_test "$test" >"$log" 2>&1 || { cat "$log"; echo "$test fails without a mutant"; exit 1; }
done

failed=0
printf '\n%-34s %-52s %7s  %s\n' mutant killer seconds fate
for name in "${names[@]}"; do
    patch=$here/mutants/$name.patch
    killer=$(sed -n 's/^Killer: //p' "$patch")
    files=$(sed -n 's/^+++ b\/\([^[:space:]]*\).*/\1/p' "$patch")
    start=$SECONDS
    fate=$(try "$patch" "$killer") || { failed=1; tail -n 15 "$log" >&2; }
    printf '%-34s %-52s %7d  %s\n' "$name" "$killer" $((SECONDS - start)) "$fate"
    restore $files
done
exit $failed
