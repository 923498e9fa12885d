# Sourced by .ci/run and .ci/full: steps with a name, a clock and a line in the table at the end.
#
# Who sources this may set, before the first step:
#   logs    a directory. Each step's output stays there, what it counted stands in the table, and its
#           result in `results.tsv`, to which runs only add: the table then shows also what earlier
#           runs found, with their commit and day, and which steps never ran.
#   only    a regular expression: steps whose names do not match it are not run.
#   list    anything: no step is run.

# Of all steps, in order; and what this run adds to `results.tsv`: time, commit, status, seconds, name,
# and what the step counted or why it was skipped.
names=()
results=()
failed=0
began=$SECONDS
began_at=$(date -u +%FT%TZ)
# A `+` where the tree is not what was committed.
commit=$(git rev-parse --short HEAD 2>/dev/null || echo '?')$(git diff --quiet HEAD 2>/dev/null || echo +)

# step NAME COMMAND...: runs it, prints how it went; goes on after a failure, so that one run shows
# everything that is wrong.
step() {
    local name=$1 start=$SECONDS status=0 log=
    shift
    is_wanted "$name" || return 0
    printf '\n=== %s: %s\n' "$name" "$*"
    if [ -n "${logs-}" ]; then
        mkdir -p "$logs"
        log=$logs/${name//[^a-zA-Z0-9.]/-}.log
        "$@" 2>&1 | tee "$log" || status=$?
    else
        "$@" || status=$?
    fi
    if [ "$status" -eq 0 ]; then
        record ok $((SECONDS - start)) "$name" "$(counted "$log")"
    else
        record FAILED $((SECONDS - start)) "$name" "exit status $status"
        failed=$((failed + 1))
    fi
}

# skip NAME WHY: a step that this machine cannot run.
skip() {
    is_wanted "$1" || return 0
    printf '\n=== %s: skipped: %s\n' "$1" "$2"
    record skipped - "$1" "$2"
}

is_wanted() {
    names+=("$1")
    [ -z "${list-}" ] && [[ $1 =~ ${only:-.} ]]
}

# record STATUS SECONDS NAME NOTE
record() {
    local result
    result=$(printf '%s\t%s\t%s\t%s\t%s\t%s' "$(date -u +%FT%TZ)" "$commit" "$@")
    results+=("$result")
    [ -z "${logs-}" ] || { mkdir -p "$logs" && printf '%s\n' "$result" >>"$logs/results.tsv"; }
}

# counted LOG: what a step's log says of how much was done, as its programs print it. Needs `pipefail`
# of who sources this.
counted() {
    [ -z "$1" ] || awk '
        # Adds the number in front of `words` to what is called `what`, if the line has them.
        function add(what, words) { if (match($0, "[0-9]+ " words)) sum[what] += substr($0, RSTART) }
        function say(what) { if (sum[what]) printf "%s%.0f %s", said++ ? ", " : "", sum[what], what }
        /^test result:/ { add("tests", "passed") }
        /^Done / { add("fuzz executions", "runs in") }
        { add("interleavings", "runs in [0-9]+[.][0-9]+ s$") }
        /^[|] .* [|] [0-9]+ [|]/ { split($0, cell, "|"); sum["searches"] += cell[3] } # history
        / killed: / || /^ *[0-9.]+ killed .* <- / { sum["mutants killed"]++ }
        /^ *[0-9.]+ equal .* <- / { sum["mutants that change nothing"]++ }
        /mutants tested in/ { add("mutants killed", "caught"); add("mutants missed", "missed") }
        { add("cases", "cases, ") }
        { add("operations", "(operations|records|clones and drops)[ ,]") }
        { add("aborts", "aborts, ") }
        /: cut off at / { add("instructions cut off at", "instructions, ") }
        { add("emulated machines", "emulated machines") }
        { add("benchmarks counted", "counts, [0-9]+ with more") }
        /^skipped: no counts/ { why = $0 }
        END {
            say("tests"); say("interleavings"); say("searches"); say("mutants killed"); say("mutants missed")
            say("mutants that change nothing"); say("fuzz executions"); say("cases"); say("operations")
            say("aborts"); say("instructions cut off at"); say("emulated machines"); say("benchmarks counted")
            if (why) printf "%s", why
        }' "$1"
}

# Prints the table and the totals; exits with 1 when a step of this run failed.
#
# A step that is skipped does not displace what it found where it could run.
finish() {
    printf '\n=== %s\n' "$0"
    {
        printf '%s\n' "${names[@]}" ""
        [ -z "${logs-}" ] || cat "$logs/results.tsv" 2>/dev/null || true
        [ ${#results[@]} -eq 0 ] || printf '%s\n' "${results[@]}"
    } | awk -F'\t' -v since="$began_at" -v total=$((SECONDS - began)) '
        !named && $0 == "" { named = 1; next }
        !named { name[++steps] = $0; next }
        $3 == "skipped" && status[$5] != "" && status[$5] != "skipped" { next }
        $1 >= at[$5] { at[$5] = $1; by[$5] = $2; status[$5] = $3; took[$5] = $4; note[$5] = $6 }
        END {
            for (i = 1; i <= steps; i++) {
                n = name[i]
                how = status[n] == "" ? "not run" : status[n]
                count[how]++
                when = at[n] != "" && at[n] < since ? " [" by[n] ", " substr(at[n], 1, 10) "]" : ""
                time = took[n] ~ /[0-9]/ ? took[n] " s" : "-  "
                printf "%8s  %-8s %s%s%s\n", time, how, n, (note[n] == "" ? "" : ": " note[n]), when
            }
            printf "%6d s  total, %d steps: %d ok, %d failed, %d skipped, %d not run\n", total, steps, \
                count["ok"], count["FAILED"], count["skipped"], count["not run"]
        }'
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
