#!/bin/sh
# Records how this machine schedules a program, as text that `sched trace --from` reads:
#
#   sudo sh record.sh tar.perf.txt 'tar cf - src | gzip -9 | wc -c'
#
# It needs root, perf, and a kernel with the events of `sched`. What runs beside the program is
# recorded too, because that is what it waits for; but names of programs that are not in KEEP (an
# extended regular expression) become `other`, so that the text can be given away, and so does the
# name before each line's CPU, which the reader does not use.
#
# What it cannot see: which group a task was in (a cgroup, or the one of its session where the kernel
# makes those: /proc/sys/kernel/sched_autogroup_enabled) and how heavy groups were (`--groups FILE`
# says that), CPU affinity, policies other than real time, quotas, and interrupts, whose time counts
# as the interrupted task's.
#
# tar.perf.txt was made by the first line on a virtual machine of 2 CPUs that was busy with builds:
# Linux 6.18, 250 ticks a second, groups by session; the archive was of a part of this repository.
set -eu
to=$1 program=$2
export KEEP="${KEEP:-^(sh|tar|gzip|wc|sort|seq|tail|perf|perf-exec|swapper/[0-9]+|migration/[0-9]+|ksoftirqd/[0-9]+|rcu_[a-z]+|kworker/.*)\$}"
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
perf sched record -m 4096 -o "$raw" -- sh -c "$program" >/dev/null
perf sched script -i "$raw" 2>/dev/null | grep -v sched_stat_ | perl -pe '
    BEGIN { $keep = qr/$ENV{KEEP}/ }
    sub name { $_[0] =~ $keep ? $_[0] : "other" }
    s/^\s*(\S.*?)\s+(-?\d+)\s+(\[\d+\])\s/name($1) . " $2 $3 "/e;
    s/:\s+(sched:)/: $1/;
    s/comm=(.*?) ((?:prev_|next_|child_)?pid=)/"comm=" . name($1) . " $2"/ge;
' >"$to"
