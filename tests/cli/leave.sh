#!/bin/bash
# A process that gives a lock back and ends at once: what it leaves.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/leave

# Into $ends, the statuses of 20; into $left, how many of their nodes stand.
leave_20() { # HOW
    local i
    left=0 ends=
    for ((i = 0; i < 20; i++)); do
        "$tools/leave" "$ZKL_CONNECT" "$L/$1-$i" "$1" <<<go >/dev/null
        ends+=$?
        has_contenders "$L/$1-$i" 0 || ((left++))
    done
    expect "$1: it ends well" 00000000000000000000 "$ends"
}

for how in flush child; do
    leave_20 $how
    expect "$how: nothing is left" 0 "$left"
done

# The time at exit() is short for a busy machine; without it most are left.
for how in exit busy; do
    leave_20 $how
    if ((left <= 4)); then pass "$how: $left of 20 are left"; else fail "$how: $left of 20 are left"; fi
done

# What cannot be had is not waited for.
begin_gate
mkfifo "$scratch/go"
"$tools/leave" "$gate" $L/silent exit <"$scratch/go" >"$scratch/said" &
leaver=$!
remember $leaver
exec {go}>"$scratch/go"
wait_until "it holds" test -s "$scratch/said"
gate silence
echo go >&$go
status_of $leaver
expect "no answer comes: it ends well" 0 "$?"
if has_contenders $L/silent 1; then pass "no answer comes: its session keeps the node"; else fail "no answer comes"; fi
finish
