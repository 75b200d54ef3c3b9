#!/bin/bash
# A zkl that is killed by KILL: its guard ends the session as soon as the command is gone. Sessions
# would live for twenty minutes here, which no test waits for. The servers demand credentials, even
# for the end of a session.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 60000 --java -Dzookeeper.enforce.auth.enabled=true --java -Dzookeeper.enforce.auth.schemes=digest)
need_server
begin
export ZKL_AUTH=digest:me:secret
export scratch L=/cli/killed
declare -f gone >"$scratch/gone"

# A command that outlives TERM and its shell, and tells when it is there: $holder, $members.
hold() { # ARGUMENT-OF-ZKL...
    rm -f "$scratch/ready" "$scratch/orphan"
    "$ZKL" "$@" --session-timeout 20m -- bash -c '
        trap "" TERM
        (bash -c "sleep 1000 & echo \$! >\$scratch/orphan; wait" &)
        until [ -s $scratch/orphan ]; do sleep 0.05; done
        echo "$$ $(cat $scratch/orphan)" >"$scratch/ready.new"; mv "$scratch/ready.new" "$scratch/ready"
        while :; do sleep 0.05; done' 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "$*: the command runs" test -e "$scratch/ready"
    read -r -a members <"$scratch/ready"
    remember "${members[@]}"
}

# The next one, who looks whether the members are dead.
next_looks() {
    rm -f "$scratch/seen"
    "$ZKL" lock "$L" --session-timeout 20m \
        bash -c '. "$scratch/gone"; for pid; do gone $pid || echo "$pid lives"; done >"$scratch/seen"' \
        bash "${members[@]}" &
    next=$!
    remember "$next"
}

# They queue behind a holder that has been killed, or will be.
expect_next() { # WHAT
    wait_until "$1: the next one is served" test -e "$scratch/seen"
    status_of $next
    expect "$1: the next one, after all of the command" "0:" "$?:$(<"$scratch/seen")"
}

hold lock $L
next_looks
wait_until "the next one queues" has_contenders $L 2
kill -9 $holder
expect_next "the holder is killed"

# While --on-lost runs, too, and although it does not end by itself.
hold lock $L --on-lost 'echo $$ >"$scratch/lost"; exec sleep 1000'
next_looks
wait_until "the next one queues" has_contenders $L 2
kill -9 $holder
expect_next "--on-lost runs on"
wait_until "--on-lost has begun" test -s "$scratch/lost"
kill -9 "$(<"$scratch/lost")"

# One that waits has no command yet.
hold lock $L
"$ZKL" lock $L --session-timeout 20m true &
waiter=$!
remember "$waiter"
wait_until "a waiter queues" has_contenders $L 2
next_looks
wait_until "the next one queues" has_contenders $L 3
kill -9 $waiter
wait_until "the waiter is killed: its node goes" has_contenders $L 2
expect "the waiter is killed: nobody is served" no "$([ -e "$scratch/seen" ] && echo yes || echo no)"
kill -9 $holder
expect_next "then the holder, too"

# A killed command that does not end yet still works under the lock.
held() {
    rm -f "$scratch/ready"
    hold_at_exit "$scratch/go"
    "$ZKL" lock $L --session-timeout 20m --status-fd 9 "$tools/linger" "$scratch/go" \
        9>"$scratch/lines" >"$scratch/ready" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "held at its exit: the command runs" test -s "$scratch/ready"
    members=("$(child_of "$(guard_of $holder)")")
    next_looks
    wait_until "held at its exit: the next one queues" has_contenders $L 2
    kill -9 $holder
    wait_until "held at its exit: the command is killed" grep -q "^ending KILL" "$scratch/lines"
    for _ in {1..10}; do contenders $L >"$scratch/out"; done
    expect "held at its exit: the node stands" "2 no" "$(<"$scratch/out") $([ -e "$scratch/seen" ] && echo yes || echo no)"
    touch "$scratch/go"
    expect_next "held at its exit"
}
if can_trace; then held; else skip "held at its exit: tracing is forbidden"; fi

# A kill by zkl's name does not reach its guard.
hold lock $L
guard=$(guard_of $holder)
next_looks
wait_until "the next one queues" has_contenders $L 2
expect_match "by name: there is a guard" '^[0-9]+$' "$guard"
read_file "/proc/$holder/comm"
tr '\0' '\n' <"/proc/$holder/cmdline" >"$scratch/out"
{
    pgrep "$content"
    pidof "$(basename "$(head -n 1 "$scratch/out")")" | tr ' ' '\n'
} | grep -Ex "$holder|$guard" | sort -u >"$scratch/named"
expect "by name: zkl alone" "$holder" "$(<"$scratch/named")"
kill -9 $holder
expect_next "by name"

# With the guard dead as well nobody knows what is left: the session must live.
hold lock $L
guard=$(guard_of $holder)
next_looks
wait_until "the next one queues" has_contenders $L 2
kill -STOP $holder
kill -9 "$guard" $holder
wait_until "both are killed" gone $holder
for _ in {1..10}; do contenders $L >"$scratch/out"; done
expect "both are killed: the node stands" "2 no" "$(<"$scratch/out") $([ -e "$scratch/seen" ] && echo yes || echo no)"
kill -9 "${members[@]}" 2>/dev/null
"$ZKL" break --yes $L >"$scratch/out" 2>&1
expect_next "both are killed, and somebody deletes the node"

# In an election the next term is not queued behind the dead one.
lead $L me --session-timeout 20m
leader=$candidate
wait_until "elect: it leads" has_led me 1
kill -9 "$(child_of "$leader")"
wait_until "elect: it leads again" has_led me 2
kill -TERM "$leader"
status_of "$leader"

# Where many guards have one session, their zygote ends it.
hold shards $L/work 1
wait_until "shards: it is held" has_contenders $L/work/shards/0 1
kill -9 $holder
wait_until "shards: the node goes" has_contenders $L/work/shards/0 0
expect "shards: after all of the command" "" "$(for pid in "${members[@]}"; do gone "$pid" || echo "$pid lives"; done)"

# Nobody finds the secret with which a session is ended.
hold lock $L
tr '\0' '\n' <"/proc/${members[0]}/environ" >"$scratch/environ"
expect "the command's environment" "" "$(grep -i -E 'claim|passw' "$scratch/environ")"
# What tool and guard share, and whether a core would have it.
shared_in() { # PID
    awk '/^[0-9a-f]+-/ { shared = $2 ~ /s$/ && $6 == "/dev/zero" }
        shared && /^VmFlags:/ { print / dd( |$)/ ? "left out" : "dumped" }' "/proc/$1/smaps" | sort -u
}
for pid in $holder "$(guard_of $holder)"; do
    expect "in no core: $(<"/proc/$pid/comm")" "left out" "$(shared_in "$pid")"
done
kill -9 $holder
wait_until "the last one is killed: no node is left" has_contenders $L 0

# One that lives has closed its session before it waits for --on-lost: if it is killed then, nothing is to be ended.
# shellcheck disable=SC2317
has_closed() { [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ] && [ -z "$(closing_for closed)" ]; }
begin_gate
SESSION_OF=closed "$ZKL" --connect "$gate" lock $L --session-timeout 20m --on-lost '
    trap "touch \$scratch/asked" TERM
    echo $$ >"$scratch/after.new"; mv "$scratch/after.new" "$scratch/after"
    while :; do sleep 0.05; done' sh -c 'touch "$scratch/begun"; exec sleep 1000' 2>"$scratch/holder.err" &
holder=$!
remember "$holder"
wait_until "on-lost: the command runs" test -e "$scratch/begun" # or nothing would be lost
guard=$(guard_of $holder)
"$ZKL" break --yes $L >"$scratch/out" 2>&1
wait_until "on-lost: it is run" test -s "$scratch/after"
members=("$(<"$scratch/after")")
remember "${members[@]}"
wait_until "on-lost: the session is closed" has_closed $holder
kill -TERM $holder
wait_until "on-lost: it waits for nothing else" test -e "$scratch/asked"
gate silence
kill -9 $holder
wait_until "on-lost: it ends with its zkl" gone "${members[0]}"
wait_until "on-lost: and so does the guard" gone "$guard"
mapfile -t members < <(closing_for closed)
remember "${members[@]}"
expect "on-lost: a session that is closed is not ended" "" "${members[*]}"
finish
