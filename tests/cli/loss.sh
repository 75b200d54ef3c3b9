#!/bin/bash
# The lock is lost while the command runs: the command ends, the status is 75.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# A process that leaves the end of its session to another ends while a thread still waits for it.
export TSAN_OPTIONS="${TSAN_OPTIONS-}:report_thread_leaks=0"
need_server
begin
L=/cli/loss

# A command with a second process in its group, both deaf to TERM if told so.
deaf() { # OPTION...
    rm -f "$scratch"/{ready,termed}
    "$ZKL" "$@" lock $L bash -c '
        exec 2>/dev/null # where bash would tell how its sleep ended
        trap "echo >>$1/termed" TERM
        (trap "" TERM; exec sleep 1000) &
        echo "$$ $!" >"$1/ready.new"; mv "$1/ready.new" "$1/ready"
        while :; do wait $!; done' bash "$scratch" 2>"$scratch/holder.err" & # at once, with no process to start
    holder=$!
    remember "$holder"
    wait_until "the command runs" test -e "$scratch/ready" || return 1
    read -r command member <"$scratch/ready"
    remember "$command" "$member"
}

if [ -x "$ADMIN" ]; then
    deaf
    "$ZKL" lock $L sh -c 'kill -0 $1 $2 2>/dev/null; echo $?' sh "$command" "$member" >"$scratch/next" &
    next=$!
    remember "$next"
    wait_until "the next one queues" has_contenders $L 2
    "$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
    status_of "$holder"
    expect "the node deleted by an administrator" 75 "$?"
    expect_match "one line says so" "^zkl: $L: [^"$'\n'"]*lost[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"
    expect "the command is dead" yes "$(gone "$command" && echo yes)"
    expect "so is the other of its group" yes "$(gone "$member" && echo yes)"
    status_of "$next"
    expect "the next one has the lock" 0 "$?"

    "$ZKL" lock $L bash -c 'trap "" TERM; "$ADMIN" delete $ZKL_NODE; exec sleep 1000' 2>"$scratch/holder.err"
    expect "deleted by the command itself" 75 "$?"
else
    missing zk-admin "a deleted node"
fi

# The process that closes a session.
left_behind() { # MARK: sets left
    local process name
    left=none
    for process in /proc/[0-9]*; do
        read -r name <"$process/comm" && [ "$name" = zkl-closing ] &&
            grep -qzx "MARK=$$ $1" "$process/environ" && left=${process#/proc/} && return
    done 2>/dev/null
    return 1
}

# shellcheck disable=SC2317
is_bare() { # PID: no files
    [ -z "$(find "/proc/$1/fd" -type l ! -lname 'socket:*' ! -lname 'pipe:*' 2>/dev/null)" ]
}

# The server falls silent: TERM a grace before the deadline, KILL before it.
server=$(server_pid)
if [ -n "$server" ]; then
    deaf --session-timeout 6
    freeze "$server"
    status_of "$holder"
    status=$?
    kill -CONT "$server"
    expect "a silent server" 75 "$status"
    expect "TERM came first" yes "$(test -e "$scratch/termed" && echo yes)"
    expect "both are dead" yes "$(gone "$command" && gone "$member" && echo yes)"
    expect_match "one line says so, in time" "^zkl: $L: [^"$'\n'"]* ends in [0-9.]+ s[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"

    # A command that ends well when asked to: still a lost lock.
    hold $L --session-timeout 6
    freeze "$server"
    status_of "$holder"
    status=$?
    kill -CONT "$server"
    expect "ended by TERM: the lock was lost all the same" 75 "$status"
    wait_until "the server has let the old sessions go" has_contenders $L 0

    # A short silence is no loss.
    hold $L --session-timeout 20
    freeze "$server"
    kill -CONT "$server"
    let_go
    expect "a short silence" 0 "$?"

    # Nor does it keep a waiter, or one whose command has ended: a process of its own tells the server,
    # when that goes on, and holds neither a pipe nor a terminal meanwhile. The session of one that is killed with
    # its guard lives on all the while: it is no session's end that removes the nodes.
    killed_and_left() {
        "$ZKL" lock $W --session-timeout 40 true &
        killed=$!
        remember "$killed"
        wait_until "the one to be killed queues" has_contenders $W 2
        session=$(session_of 2)
        kill -STOP "$killed"
        kill -9 "$(guard_of "$killed")" "$killed"
        status_of "$killed"
    }
    promptly() { # WHAT STATUS SIGNAL COMMAND...
        local what=$1 wanted=$2 signal=$3 left
        shift 3
        hold $W
        killed_and_left
        MARK="$$ $what" "$@" >"$scratch/out" 2>"$scratch/err" &
        waiter=$!
        remember "$waiter"
        wait_until "$what: it is in line" has_contenders $W 3
        session_left=$(session_of 3)
        freeze "$server"
        [ -z "$signal" ] || kill -"$signal" "$waiter"
        if wait_until "$what: another process is left" left_behind "$what"; then pass "$what: another process is left"; fi
        status_of "$waiter"
        expect "$what" "$wanted" "$?"
        left_behind "$what"
        # It takes its name first, and closes what it does not need then.
        if wait_until "$what: nothing else is kept open" is_bare "$left"; then pass "$what: nothing else is kept open"; fi
        kill -CONT "$server"
        wait_until "$what: its node goes" has_contenders $W 2
        wait_until "$what: so does its session" no_session "$session_left"
        expect "$what: by no time limit" yes "$(no_session "$session" || echo yes)"
        if wait_until "$what: then nobody is left" gone "$left"; then pass "$what: then nobody is left"; fi
        let_go
    }
    session_of() { # PLACE
        "$ZKL" ls $W --json | grep -o '"session": *"[^"]*"' | sed -n "$1s/.*\"\(0x[^\"]*\)\"/\1/p"
    }
    no_session() { # ID
        local dump
        exec {dump}<>"/dev/tcp/${ZKL_CONNECT%:*}/${ZKL_CONNECT##*:}"
        printf dump >&"$dump"
        cat <&"$dump" >"$scratch/dump"
        exec {dump}>&-
        [ -s "$scratch/dump" ] && ! grep -q "$1" "$scratch/dump"
    }
    W=$L/slow1
    promptly "TERM while waiting for a silent server" 143 TERM "$ZKL" lock $W --session-timeout 40 true
    W=$L/slow2
    promptly "the time is over, the server silent" 1 "" "$ZKL" lock $W -w 10 --session-timeout 40 true
    W=$L/slow3
    promptly "TERM to a candidate, the server silent" 143 TERM "$ZKL" elect $W me --layout selector --session-timeout 40 true
    for look in "elect --listen" "watch --json"; do
        rm -f "$scratch/out" # the last one's
        # shellcheck disable=SC2086
        MARK="$$ $look" "$ZKL" $look $W >"$scratch/out" 2>"$scratch/err" &
        looker=$!
        remember "$looker"
        wait_until "$look: it looks" test -s "$scratch/out"
        freeze "$server"
        kill -TERM "$looker"
        if wait_until "TERM to $look, the server silent" left_behind "$look"; then pass "TERM to $look, the server silent"; fi
        status_of "$looker"
        expect "$look: its status" 143 "$?"
        kill -CONT "$server"
    done
    MARK="$$ release" hold $L/released --session-timeout 40
    freeze "$server"
    echo >"$scratch/letgo"
    if [[ ${ZKL_INSTRUMENTED-} == *thread* ]]; then
        skip "a lock released to a silent server: ThreadSanitizer is too slow for what is confirmed within a second"
    elif wait_until "a lock released to a silent server" left_behind release; then
        pass "a lock released to a silent server"
    fi
    status_of "$holder"
    expect "its status is the command's" 0 "$?"
    kill -CONT "$server"
    expect_no_node "its node goes" $L/released
else
    skip "the server was not started by us: a silent server"
    skip "ended by TERM"
    skip "a short silence"
fi

begin_gate
export gate scratch

# A lock within a lock, whose server is silent: what closes its session does not keep the outer one,
# and is not ended with that.
MARK="$$ within" "$ZKL" lock $L/outer --kill-after 1000 sh -c '
    "$ZKL" --connect "$gate" lock $0 --session-timeout 40 -- sh -c "touch \$scratch/within; exec sleep 1000"
    echo' $L/within 2>"$scratch/holder.err" &
holder=$!
remember "$holder"
wait_until "the inner command runs" test -e "$scratch/within"
gate silence
kill -TERM "$holder"
status_of "$holder"
expect "the inner one's server is silent: the outer one ends" 143 "$?"
# What closes it has its name a moment after it was forked.
what="the inner one's server is silent: its session is still being closed"
if wait_until "$what" left_behind within; then pass "$what"; fi
gate heal
expect_no_node "its node goes, long before its session's time" $L/within

# A host of shards, whose first session was not made: the second one is closed all the same.
gate cut
MARK="$$ shards" "$ZKL" --connect "$gate" --connect-timeout 0.2 shards $L/shards 1 --session-timeout 40 --status-fd 9 \
    -- sleep 1000 9>"$scratch/lines" 2>"$scratch/shards.err" &
host=$!
remember "$host"
wait_until "shards: it has tried in vain" test -s "$scratch/shards.err"
gate heal
wait_until "shards: it serves" grep -q ^held "$scratch/lines"
gate silence
kill -TERM "$host"
if wait_until "TERM to shards, the server silent" left_behind shards; then pass "TERM to shards, the server silent"; fi
status_of "$host"
expect "shards: its status" 143 "$?"
gate heal
expect_no_node "its node goes" $L/shards/shards/0

# A shard's guard that is stopped: the host ends the command in its place, and continues the guard then.
"$ZKL" --connect "$gate" shards $L/stopped 1 --session-timeout 8 -- bash -c '
    exec 2>/dev/null
    trap "" TERM
    echo $$ >"$scratch/shard.new"; mv "$scratch/shard.new" "$scratch/shard"
    while :; do sleep 0.05; done' 2>"$scratch/shards.err" &
host=$!
remember "$host"
wait_until "a stopped guard: the command runs" test -e "$scratch/shard"
command=$(<"$scratch/shard")
remember "$command"
guard=$(ps -o ppid= "$command")
freeze "${guard// /}"
gate silence
if wait_until "a stopped guard: the command ends" gone "$command"; then pass "a stopped guard: the command ends"; fi
rm "$scratch/shard"
gate heal
if wait_until "a stopped guard: the shard is served again" test -e "$scratch/shard"; then pass "a stopped guard: the shard is served again"; fi
remember "$(<"$scratch/shard")"
kill -TERM "$host"
insist "a second TERM" TERM "$host" gone "$host"
status_of "$host"
expect "a stopped guard: TERM" 143 "$?"

# For one that is killed the zygote stands in, not the host, which sees the command's group alone: the lock
# stays until all is dead.
killed_guard() {
    rm -f "$scratch/ready"
    hold_at_exit "$scratch/go"
    "$ZKL" shards $L/killed 1 --session-timeout 40 -- \
        bash -c 'setsid "$0" "$1" & wait' "$tools/linger" "$scratch/go" >"$scratch/ready" 2>"$scratch/err" &
    host=$!
    remember "$host"
    wait_until "a killed guard: the command runs" test -s "$scratch/ready"
    guard=$(child_of "$(guard_of "$host")")
    kill -9 "$guard"
    wait_until "a killed guard: what it leaves is held at its exit" in_state "$(<"$scratch/go.pid")" t
    for _ in {1..20}; do contenders $L/killed/shards/0 >"$scratch/out"; done
    expect "a killed guard: the node stands" 1 "$(<"$scratch/out")"
    touch "$scratch/go"
    kill -TERM "$host"
    status_of "$host"
    expect "a killed guard: TERM" 143 "$?"
}
if can_trace; then killed_guard; else skip "a killed guard: tracing is forbidden"; fi

# A lock that is lost while its session lives on: the servers hear us, and we do not hear them. The
# node stands as long as a member of the group does, and this one takes its time to die.
session_lives_on() {
    local session=12
    [ -z "${ZKL_INSTRUMENTED-}" ] || session=20 # slow, but not so slow as to lose it
    rm -f "$scratch/ready"
    hold_at_exit "$scratch/go"
    "$ZKL" --connect "$gate" --session-timeout $session lock $L --grace 0 --status-fd 9 -- bash -c '
        exec 2>/dev/null
        "$2/linger" "$1/go" >"$1/linger" & member=$!
        until [ -s "$1/linger" ]; do sleep 0.05; done
        echo "$$ $member" >"$1/ready.new"; mv "$1/ready.new" "$1/ready"
        while :; do sleep 0.05; done' bash "$scratch" "$tools" 9>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the command runs" test -e "$scratch/ready"
    read -r command member <"$scratch/ready"
    "$ZKL" lock $L bash -c "$(declare -f gone)"'; gone "$1" || echo lives' bash "$member" >"$scratch/next" &
    next=$!
    remember "$next"
    wait_until "the next one queues" has_contenders $L 2
    gate deafen
    wait_until "the command is killed" grep -q "^ending KILL" "$scratch/lines"
    gate cut
    gate heal
    gate await
    standing=2
    for _ in {1..10}; do has_contenders $L 2 || standing=$(contenders $L); done
    expect "the node stands while a killed member lives" 2 "$standing"
    touch "$scratch/go"
    status_of $holder
    expect "and when it is dead: lost" 75 "$?"
    status_of $next
    expect "the next one is served after it" ":0" "$(<"$scratch/next"):$?"
}
if can_trace; then session_lives_on; else skip "a killed member that lives: tracing is forbidden"; fi

# A stopped command is continued, to hear TERM.
rm -f "$scratch"/{ready,termed}
"$ZKL" --connect "$gate" --session-timeout 8 lock $L --status-fd 9 -- bash -c '
    trap ": >$1/termed; exit" TERM
    touch "$1/ready"
    while :; do sleep 0.05; done' bash "$scratch" 9>"$scratch/lines" 2>"$scratch/holder.err" &
holder=$!
remember "$holder"
wait_until "the command runs" test -e "$scratch/ready"
wait_until "that is told" grep -q ^started "$scratch/lines"
command=$(sed -n 's/^started //p' "$scratch/lines")
freeze "$command"
wait_until "it is stopped" in_state "$command" T
gate silence
wait_until "it is lost" grep -q "^lost" "$scratch/lines"
gate heal
status_of $holder
expect "a stopped command hears TERM" "75:yes" "$?:$(test -e "$scratch/termed" && echo yes)"
expect_no_node "nothing is left" $L
finish
