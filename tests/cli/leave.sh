#!/bin/bash
# A process that gives a lock back and ends at once: what it leaves.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/leave

# Whether all of 20 end well. Into $left, how many of their nodes stand.
sets=0
leave_20() { # HOW
    local i path ends=
    left=0 sets=$((sets + 1))
    for ((i = 0; i < 20; i++)); do
        path=$L/$sets-$i
        "$tools/leave" "$ZKL_CONNECT" "$path" "$1" <<<go
        ends+=$?
        has_contenders "$path" 0 || left=$((left + 1))
    done >/dev/null
    [ "$ends" = 00000000000000000000 ]
}

for how in flush child; do
    leave_20 $how
    expect "$how: all end well, and nothing is left" "0 0" "$? $left"
done

# The time at exit() is short for a busy machine, which gets another try. Without that time most are left, in
# every try.
# shellcheck disable=SC2317
few_left() { # HOW
    leave_20 "$1" && ((left <= 4))
}
for how in exit busy; do
    if wait_until "$how: few of 20 are left" few_left $how; then pass "$how: $left of 20 are left"; fi
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
