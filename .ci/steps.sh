# Sourced by .ci/run and .ci/full: steps with a name, a clock and a line in the table at the end.

table=()
failed=0
began=$SECONDS

# step NAME COMMAND...: runs it, prints how it went; goes on after a failure, so that one run shows
# everything that is wrong.
#
# With a directory in `logs`, each step's output is kept there as well, and what it counted stands in
# the table.
step() {
    local name=$1 start=$SECONDS status=0 log=
    shift
    printf '\n=== %s: %s\n' "$name" "$*"
    if [ -n "${logs-}" ]; then
        mkdir -p "$logs"
        log=$logs/${name//[^a-zA-Z0-9.]/-}.log
        "$@" 2>&1 | tee "$log" || status=$?
    else
        "$@" || status=$?
    fi
    if [ "$status" -eq 0 ]; then
        table+=("$(printf '%6d s  ok       %s%s' $((SECONDS - start)) "$name" "$(counted "$log")")")
    else
        table+=("$(printf '%6d s  FAILED   %s (exit status %d)' $((SECONDS - start)) "$name" "$status")")
        failed=$((failed + 1))
    fi
}

# counted LOG: ', N tests' and the like, where a log says so. Needs `pipefail` of who sources this.
counted() {
    [ -z "$1" ] || awk '
        /^test result:/ { tests += $4 }
        /^Done [0-9]+ runs/ { inputs += $2 }
        /^skipped: no counts/ { why = $0 }
        END {
            if (tests) printf ", %d tests", tests
            if (inputs) printf ", %d inputs", inputs
            if (why) printf ", %s", why
        }' "$1"
}

# skip NAME WHY: a step that this machine cannot run.
skip() {
    printf '\n=== %s: skipped: %s\n' "$1" "$2"
    table+=("$(printf '%6s    skipped  %s: %s' - "$1" "$2")")
}

# Prints the table and the totals; exits with 1 when a step failed.
finish() {
    printf '\n=== %s\n' "$0"
    printf '%s\n' "${table[@]}"
    printf '%6d s  total, %d steps, %d failed\n' $((SECONDS - began)) "${#table[@]}" "$failed"
    [ "$failed" -eq 0 ]
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# component NAME COMMAND: a part of the toolchain, fetched only where it is missing.
component() {
    have "$2" && cargo "${2#cargo-}" --version >/dev/null 2>&1 || rustup component add "$1"
}

# package NAME COMMAND: a package of the distribution, fetched only where the command is missing and
# we may.
package() {
    have "$2" && return
    have apt-get && [ "$(id -u)" -eq 0 ] || { echo "no $2, and no way to install $1"; return 1; }
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$1"
}

# What the kernel lets us run on: one CPU of it, the second where there are two.
one_cpu() {
    local last
    taskset -c 1 true 2>/dev/null && { echo 1; return; }
    last=$(taskset -cp $$ | sed 's/.*[ ,-]//')
    echo "$last"
}

# Whether libc registers rseq in the processes that it starts here.
libc_registers_rseq() {
    local ask="import ctypes; print(ctypes.c_uint.in_dll(ctypes.CDLL(None), '__rseq_size').value)"
    have python3 && [ "$(python3 -c "$ask" 2>/dev/null || echo 0)" -gt 0 ]
}

# The line that says where a table was made.
machine() {
    printf '%s, %s CPUs, Linux %s, %s, %s\n' "$(uname -m)" "$(nproc)" "$(uname -r)" \
        "$(getconf GNU_LIBC_VERSION 2>/dev/null || echo 'libc not glibc')" "$(rustc --version)"
}
