#!/bin/bash
# The guard ends the command in time, whichever of the two is stopped or killed.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
export scratch L=/cli/guard
declare -f gone >"$scratch/gone"
begin_gate

# A command that is deaf to TERM, as are a member of its group and one that has lost its parents:
# $holder, $guard, $command, $members. What happens to it is in the file lines. It hears TERM at once: while it
# waits it has no process to start.
stubborn() { # OPTION...
    rm -f "$scratch"/{ready,lines,termed,lost,seen}
    "$ZKL" lock $L "$@" --status-fd 9 --on-lost 'echo "$ZKL_LOST $ZKL_PATH" >>"$scratch/lost"' -- bash -c '
        exec 2>/dev/null # where bash would tell how its sleep ended
        trap "echo >>$scratch/termed" TERM
        (trap "" TERM; exec sleep 1000) &
        (bash -c "trap : TERM; echo \$\$ >\$scratch/orphan; exec sleep 1000" &)
        until [ -s $scratch/orphan ]; do sleep 0.05; done
        echo "$$ $! $(cat $scratch/orphan)" >"$scratch/ready.new"; mv "$scratch/ready.new" "$scratch/ready"
        while :; do wait $!; done' 9>>"$scratch/lines" 2>"${errors:-$scratch/holder.err}" &
    holder=$!
    remember "$holder"
    wait_until "the command runs" test -e "$scratch/ready" || return 1
    read -r -a members <"$scratch/ready"
    command=${members[0]}
    guard=$(guard_of $holder)
    remember "${members[@]}" "$guard"
}

# The next holder, who looks whether the members are dead: $next.
next_looks() {
    "$ZKL" lock $L bash -c '. "$scratch/gone"; for pid; do gone $pid || echo "$pid lives"; done >"$scratch/seen"' \
        bash "${members[@]}" &
    next=$!
    remember "$next"
    wait_until "the next one queues" has_contenders $L 2
}

expect_lines() { # WHAT LINE,LINE... [FILTER]: but for those of --on-lost, which may not be over yet
    expect "$1: what was told" "$2" "$(sed -E "/^on-lost |^behind /d; s/^held [1-9][0-9]*$/held TOKEN/; s/^started $command$/started PID/
        s/^(ending [A-Z]+) [0-9]+$/\1/" "$scratch/lines" | paste -sd, | "${3-cat}")"
}

expect_dead_before_next() { # WHAT
    status_of $next
    expect "$1: the next one is served" 0 "$?"
    expect "$1: all were dead before" "seen:" "$(cd "$scratch" && ls seen):$(<"$scratch/seen")"
}

expect_no_guard() { # WHAT
    if wait_until "$1: the guard is gone" gone "$guard"; then pass "$1: the guard is gone"; fi
    # The process that inherited the zombies has reaped them.
    wait_until "$1: nobody is left as a zombie" test ! -e "/proc/$guard" -a ! -e "/proc/$command"
}

told() { [ -s "$scratch/lost" ]; }
line() { grep -q "^$1" "$scratch/lines"; }

# The tool is stopped: it cannot renew, and the guard ends the command before the lock ends.
session=9
[ -z "${ZKL_INSTRUMENTED-}" ] || session=12 # KILL comes by a part of it before: it must suffice to run and to die
stubborn --session-timeout $session
next_looks
freeze $holder
expect_dead_before_next "tool stopped"
expect "tool stopped: TERM came first" yes "$(test -e "$scratch/termed" && echo yes)"
wait_until "tool stopped: --on-lost is run" told
expect "tool stopped: --on-lost, while it still is" "deadline $L T" "$(<"$scratch/lost") $(in_state $holder T && echo T)"
kill -CONT $holder
status_of $holder
expect "tool stopped: lost, when it is continued" 75 "$?"
expect_lines "tool stopped" "waiting,held TOKEN,started PID,ending TERM,ending KILL,ended 137,lost deadline"
expect_match "tool stopped: one line says so" "^zkl: $L: [^"$'\n'"]* ends in [0-9.]+ s[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"
expect_no_guard "tool stopped"

# The tool is killed: so is all of the group, at once.
stubborn --session-timeout 30
next_looks
kill -9 $holder
wait_until "tool killed: --on-lost is run" told
expect "tool killed: --on-lost" "tool $L" "$(<"$scratch/lost")"
status_of $holder
expect_dead_before_next "tool killed"
expect_lines "tool killed" "waiting,held TOKEN,started PID,ending KILL,ended 137,lost tool"
expect_match "tool killed: one line says so" "^zkl: $L: [^"$'\n'"]*killed[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"
expect_no_guard "tool killed"

# The guard is killed: the tool ends the group.
stubborn --session-timeout 30
next_looks
kill -9 "$guard"
status_of $holder
expect "guard killed" 70 "$?"
expect_dead_before_next "guard killed"
expect "guard killed: --on-lost" "guard $L" "$(<"$scratch/lost")"
expect_lines "guard killed" "waiting,held TOKEN,started PID,ending KILL,ended 137,lost guard"
expect_match "guard killed: one line says so" "^zkl: $L: [^"$'\n'"]*guard[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"
expect_no_guard "guard killed"

# And what has left the group, by a tool without a free descriptor.
few() { # NUMBER of descriptors
    rm -f "$scratch/daemon"
    (
        ulimit -Sn "$1"
        exec "$ZKL" lock $L -- sh -c '
            setsid sh -c "trap : TERM; echo \$\$ >\"\$scratch/daemon.new\"; mv \"\$scratch/daemon.new\" \"\$scratch/daemon\"; exec sleep 1000" &
            exec sleep 1000' 2>/dev/null
    ) &
    holder=$!
    remember "$holder"
    wait_until "$1 descriptors: the daemon runs" test -e "$scratch/daemon"
    members=("$(<"$scratch/daemon")")
    remember "${members[@]}"
}
few 256
descriptors=0
while [ -e "/proc/$holder/fd/$descriptors" ]; do descriptors=$((descriptors + 1)); done
kill -TERM "$holder"
status_of "$holder"
few "$descriptors"
next_looks
kill -9 "$(guard_of "$holder")"
status_of "$holder"
expect "$descriptors descriptors: the guard is killed" 70 "$?"
expect_dead_before_next "$descriptors descriptors"

# The guard is stopped, and the lock is lost: the tool ends the group.
stubborn --connect "$gate" --session-timeout 6
next_looks
freeze "$guard"
gate silence
wait_until "guard stopped: all is over" line lost
gate heal
status_of $holder
expect "guard stopped: lost" 75 "$?"
expect_dead_before_next "guard stopped"
expect "guard stopped: --on-lost, after all" "deadline $L" "$(<"$scratch/lost")"
expect_lines "guard stopped" "waiting,held TOKEN,started PID,ending KILL,lost deadline"
expect_no_guard "guard stopped"

# Both are well and the server is silent. A machine that stands still just when KILL is due gets another try; a
# guard that is too slow is so in each of them.
still_ours() { [[ $(<"$scratch/lines") = *"ending KILL "[1-9]* ]]; }
for _ in 1 2 3 4 5; do
    stubborn --connect "$gate" --session-timeout 6 --grace 0.9
    next_looks
    gate silence
    wait_until "a silent server: all is over" line lost
    gate heal
    status_of $holder
    status=$?
    if still_ours; then break; fi
    status_of $next
done
expect "a silent server" 75 "$status"
expect_dead_before_next "a silent server"
expect "a silent server: TERM came first" yes "$(test -e "$scratch/termed" && echo yes)"
expect "a silent server: --on-lost" "deadline $L" "$(<"$scratch/lost")"
expect_lines "a silent server" "waiting,held TOKEN,started PID,suspect,ending TERM,ending KILL,ended 137,lost deadline" kill_told_first
expect_match "a silent server: KILL comes while the lock is still ours" "ending KILL [1-9]" "$(<"$scratch/lines")"
expect_no_guard "a silent server"

# The lock is gone at once.
if [ -x "$ADMIN" ]; then
    stubborn --session-timeout 6
    "$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
    status_of $holder
    expect "the node deleted" 75 "$?"
    expect "the node deleted: --on-lost" "revoked $L" "$(<"$scratch/lost")"
    expect_lines "the node deleted" "waiting,held TOKEN,started PID,ending KILL,ended 137,lost revoked deleted" kill_told_first
else
    missing zk-admin "a deleted node"
fi

# Nobody can look while both are stopped; a command that ended meanwhile is not taken for one that
# ended in time.
rm -f "$scratch/lines"
hold $L --session-timeout 4 --status-fd 9 9>"$scratch/lines"
guard=$(guard_of "$holder")
remember "$guard"
freeze "$guard" "$holder"
"$ZKL" lock $L true
expect "both stopped: the next one is served" 0 "$?"
echo >"$scratch/letgo"
wait_until "both stopped: the command ends by itself" gone "$command"
kill -CONT "$guard"
wait_until "both stopped: the guard looks" line ended
kill -CONT "$holder"
status_of "$holder"
expect "both stopped: lost" 75 "$?"
expect_lines "both stopped" "waiting,held TOKEN,started PID,ended 0,ending KILL,lost deadline"

# A tool stopped after the end is no loss, however long it takes.
rm -f "$scratch/lines"
hold $L --session-timeout 4 --status-fd 9 9>"$scratch/lines"
guard=$(guard_of "$holder")
freeze "$holder"
echo >"$scratch/letgo"
wait_until "the command ends" line ended
"$ZKL" lock $L true
kill -CONT "$holder"
status_of "$holder"
expect "stopped after the command's end: its status" 0 "$?"

# A lock within a lock, whose command does not die at once: the outer one is not over before. Their
# sessions last longer than a slow machine takes to look.
nested() {
    rm -f "$scratch"/{ready,lines,inner}
    hold_at_exit "$scratch/go"
    "$ZKL" lock $L --session-timeout 40 --status-fd 9 sh -c '
        "$ZKL" lock $L-inner --session-timeout 40 --status-fd 8 -- "$@" 8>"$scratch/inner"' \
        sh "$tools/linger" "$scratch/go" 9>"$scratch/lines" >"$scratch/ready" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the inner command runs" test -s "$scratch/ready"
    guard=$(guard_of $holder)
    kill -9 $holder
    status_of $holder
    wait_until "nested: the inner command is killed" grep -q "^ending KILL" "$scratch/inner"
    for _ in {1..10}; do contenders $L >"$scratch/out"; done
    if line lost; then fail "nested: the outer one waits for it"; else pass "nested: the outer one waits for it"; fi
    touch "$scratch/go"
    wait_until "nested: the outer one is over" line "lost tool"
    wait_until "nested: the inner one is over" grep -q "^lost" "$scratch/inner"
    expect "nested: the inner one" "lost tool" "$(tail -n 1 "$scratch/inner")"
    wait_until "nested: the guard ends" gone "$guard"
    expect_no_node "nested: both are free" $L-inner
    expect_no_node "nested: nothing is left" $L
}
if can_trace; then nested; else skip "nested: tracing is forbidden"; fi

# However short the grace, KILL comes before the end of the lock, also when nobody reads stderr. A
# 64th of the session timeout is what is left for that: less than the 100 ms that a line for stderr
# would be waited for. There are tries as above.
killed_in_time() { # GRACE WHERE
    for _ in 1 2 3 4 5; do
        stubborn --session-timeout 5 --grace "$1"
        freeze $holder
        wait_until "--grace $1, $2: lost" line lost
        kill -CONT $holder
        status_of $holder
        if still_ours; then break; fi
    done
    expect_match "--grace $1, $2: KILL comes while the lock is still ours" "ending KILL [1-9]" "$(<"$scratch/lines")"
}
mkfifo "$scratch/stuck"
exec 7<>"$scratch/stuck"
head -c 65536 /dev/zero >&7 # as much as fits
for grace in 0 0.06; do
    killed_in_time $grace "stderr is a file"
    errors=$scratch/stuck killed_in_time $grace "nobody reads stderr"
done
exec 7<&-

# Nobody reads what the guard says, and there is less room than that takes.
mkfifo "$scratch/pipe"
exec 8<>"$scratch/pipe"
rm -f "$scratch"/{ready,lines}
long=$(printf '%0300d/' {1..20})
"$ZKL" lock "$L/${long%/}" --session-timeout 2 --status-fd 9 bash -c '
    trap "" TERM; echo $$ >"$scratch/ready.new"; mv "$scratch/ready.new" "$scratch/ready"
    exec sleep 1000' 9>"$scratch/lines" 2>&8 &
holder=$!
remember "$holder"
wait_until "it runs" test -e "$scratch/ready"
command=$(<"$scratch/ready")
remember "$command"
head -c $((65536 - 4096)) /dev/zero >&8
freeze $holder
if wait_until "nobody reads: killed" gone "$command"; then pass "nobody reads: killed"; fi
kill -CONT $holder
cat <&8 >/dev/null &
reader=$!
remember "$reader"
status_of $holder
expect "nobody reads: lost" 75 "$?"
kill $reader
exec 8<&-

# Processes of another namespace say nothing of ours: the leader alone is seen, and waited for.
if unshare --pid --fork true 2>/dev/null; then
    rm -f "$scratch"/{lines,ready}
    unshare --pid --fork "$ZKL" lock $L --status-fd 9 bash -c 'exit 3' 9>"$scratch/lines" 2>"$scratch/err"
    expect "another namespace's /proc: a good end" 3 "$?"
    expect "another namespace's /proc: what is not seen is told and said once" "unseen all 1" \
        "$(head -n 1 "$scratch/lines") $(grep -c "^zkl: $L: /proc" "$scratch/err")"
    unshare --pid --fork "$ZKL" --connect "$gate" --session-timeout 20 lock $L --status-fd 9 --on-suspect=term -- bash -c '
        trap "sleep 0.3; exit 4" TERM; touch $scratch/ready
        while :; do sleep 0.05; done' 9>"$scratch/lines" 2>/dev/null &
    holder=$!
    remember "$holder"
    wait_until "it runs" test -e "$scratch/ready"
    gate cut
    wait_until "another namespace's /proc: it is ended" line lost
    gate heal
    status_of $holder
    expect "another namespace's /proc: TERM is given its time" "75 ended 4" "$? $(grep ended "$scratch/lines")"
    # As the first process of a namespace zkl gets all orphans; while it holds, and while it listens. They end then.
    rm -f "$scratch"/go
    orphan='(sh -c "until [ -e \"\$scratch/go\" ]; do sleep 0.05; done" & echo $! >"$scratch/orphan")'
    unshare --pid --fork --mount-proc sh -c "$orphan"'; exec "$ZKL" lock $L sh -c "
        touch \"\$scratch/go\"
        while [ -e /proc/$(cat "$scratch/orphan") ]; do [ ! -e \"\$ZKL_PROGRESS.late\" ] || exit 1; sleep 0.1; done"'
    expect "the first process of a namespace reaps orphans" 0 "$?"
    rm -f "$scratch"/{orphan,go,out}
    unshare --pid --fork --mount-proc sh -c "$orphan"'; exec "$ZKL" elect --listen $L-none' >"$scratch/out" 2>/dev/null &
    listener=$!
    remember "$listener"
    wait_until "it listens" test -s "$scratch/out"
    touch "$scratch/go"
    orphans() { [ -z "$(child_of "$(child_of $listener)")" ]; }
    if wait_until "the same while it listens" orphans; then pass "the same while it listens"; fi
    kill "$(child_of $listener)"
    wait $listener
else
    skip "no namespaces: another one's /proc"
fi

# A command that ends well leaves its group alone, and no guard behind.
rm -f "$scratch"/{lines,lost}
"$ZKL" lock $L --status-fd 9 --on-lost 'echo "$ZKL_LOST" >>"$scratch/lost"' -- bash -c \
    'sleep 1000 >/dev/null 2>&1 & echo "$PPID $$ $!"' 9>"$scratch/lines" >"$scratch/pids"
expect "a good end" 0 "$?"
read -r guard command member <"$scratch/pids"
remember "$member"
expect "a good end: its member is left alone" no "$(gone "$member" && echo dead || echo no)"
expect "a good end: no --on-lost" no "$(told && echo yes || echo no)"
expect_lines "a good end" "waiting,held TOKEN,started PID,ended 0,released"
expect_no_guard "a good end"
kill -9 "$member"

# Nor does a tool that ends, or dies, while it waits.
hold $L
for signal in TERM KILL; do
    "$ZKL" lock $L --session-timeout 3 touch "$scratch/ran" &
    waiter=$!
    remember "$waiter"
    wait_until "the waiter queues" has_contenders $L 2
    guard=$(guard_of $waiter)
    kill -$signal $waiter
    status_of $waiter
    expect_match "$signal while waiting: there was a guard" '^[0-9]+$' "$guard"
    command=$guard
    expect_no_guard "$signal while waiting"
    wait_until "its node goes" has_contenders $L 1
done

# A guard that dies meanwhile is missed at once; one that is stopped starts nothing too late.
"$ZKL" lock $L touch "$scratch/ran" 2>"$scratch/err" &
waiter=$!
remember "$waiter"
wait_until "the waiter queues" has_contenders $L 2
kill -9 "$(guard_of $waiter)"
status_of $waiter
expect "guard killed while waiting" 70 "$?"
expect_match "guard killed while waiting: one line says so" "^zkl: $L: [^"$'\n'"]*guard[^"$'\n'"]*\$" "$(<"$scratch/err")"
rm -f "$scratch"/{lines,lost}
"$ZKL" lock $L --session-timeout 30 --status-fd 9 --on-lost 'echo "$ZKL_LOST" >>"$scratch/lost"' -- \
    touch "$scratch/ran" 9>"$scratch/lines" 2>/dev/null &
waiter=$!
remember "$waiter"
wait_until "the waiter queues" has_contenders $L 2
guard=$(guard_of $waiter)
freeze "$guard"
let_go
wait_until "the waiter holds" line held
"$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
status_of $waiter
expect "guard stopped until the loss" 75 "$?"
expect "guard stopped until the loss: what was told" "waiting,held,lost" "$(cut -d' ' -f1 "$scratch/lines" | grep -vx behind | paste -sd,)"
if [ -e "$scratch/ran" ] || told; then fail "guard stopped until the loss: nothing ran"; else pass "guard stopped until the loss: nothing ran"; fi
expect_no_node "nothing is left" $L

# A tree that takes long to look at as soon as all of it is there: many, each in a session of its own, deaf to TERM.
# $holder, $members.
crowd() { # HOW MANY, MS for a file of /proc, OPTION...
    local count=$1 ms=$2
    shift 2
    rm -f "$scratch"/{lines,lost,seen,ready}
    SLOW_PROC_MS=$ms SLOW_PROC_FROM=$scratch/ready LD_PRELOAD="$tools/.libs/libslowproc.so${LD_PRELOAD:+:$LD_PRELOAD}" "$ZKL" lock $L "$@" --status-fd 9 -- env -u LD_PRELOAD bash -c '
        trap "" TERM
        for ((i = 0; i < $1; i++)); do setsid sleep 1000 & done
        jobs -p >"$scratch/ready.new"; mv "$scratch/ready.new" "$scratch/ready"; exec sleep 1000' bash "$count" 9>>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "a crowd" test -e "$scratch/ready" || return 1
    mapfile -t members <"$scratch/ready"
    remember "${members[@]}"
}
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "nothing can be loaded before a sanitizer: a tree that takes long to end"
else
    # Its end begins earlier, and KILL comes in time, whomever TERM has reached until then: it takes 5.7 s to end at least.
    # A grace of 3.75 s would begin too late for that, and TERM to all of it takes longer than there is.
    crowd 100 12 --session-timeout 30
    next_looks
    freeze "$holder"
    expect_dead_before_next "a crowd"
    left=$(sed -n 's/^ending KILL //p' "$scratch/lines")
    if [ "${left:-0}" -gt 3750 ]; then pass "a crowd: KILL comes early"; else fail "a crowd: KILL comes early" "$(<"$scratch/lines")"; fi
    kill -CONT "$holder"
    status_of "$holder"
    expect "a crowd: lost" 75 "$?"

    # It takes longer than the lock can wait, which is told while nothing is lost. KILL goes to those that are known,
    # since another look takes too long, and by one call to each that its dead parent has left to the guard.
    crowd 200 50 --session-timeout 30
    next_looks
    wait_until "too large a crowd: told, and said after that" grep -q "which take" "$scratch/holder.err"
    expect_match "too large a crowd: what was told" "^waiting,held [0-9]+,started [0-9]+,outgrown 20[0-9] [0-9]+\$" "$(paste -sd, "$scratch/lines")"
    expect_match "too large a crowd: one line says so" "^zkl: $L: the command has 20[0-9] processes, which take [0-9.]+ s to end[^"$'\n'"]*\$" \
        "$(without_outages "$scratch/holder.err")"
    expect "too large a crowd: it goes on" no "$(gone "${members[0]}" && echo gone || echo no)"
    freeze "$holder"
    expect_dead_before_next "too large a crowd"
    kill -CONT "$holder"
    status_of "$holder"
    expect "too large a crowd: lost" 75 "$?"

    crowd 100 8 --session-timeout 6 --on-outgrown=term
    status_of "$holder"
    expect "--on-outgrown=term" 75 "$?"
    expect "--on-outgrown=term: all are dead" "" "$(for pid in "${members[@]}"; do gone "$pid" || echo "$pid lives"; done)"
    expect_match "--on-outgrown=term: what was told" ",outgrown 10[0-9] [0-9]+(,ending TERM [0-9]+)?,ending KILL [1-9][0-9]*(,ended 137)?,lost outgrown\$" \
        "$(paste -sd, "$scratch/lines" | kill_told_first)"
fi

# The guard comes before all others, where that is permitted. What it starts does not.
place_of() { # PID: nice value, policy (0, 2 round robin, 3 batch, 5 idle)
    local content
    read_file "/proc/$1/stat"
    # shellcheck disable=SC2086
    set -- ${content##*) }
    echo "${17} ${39}"
}
has_place() { [ "$(place_of "$1")" = "$2" ]; } # PID PLACE
if chrt -r 1 true 2>/dev/null; then
    rest=$(ulimit -R)
    for as in "nice -n 19=19 0" "chrt -b 0=$(nice) 3" "chrt -i 0=$(nice) 5"; do
        place=${as#*=} as=${as%=*}
        rm -f "$scratch"/{lost,ready}
        # A session of its own has a share of the processors of its own. In this one the least of
        # all priorities gets next to nothing beside busy neighbours.
        setsid $as "$ZKL" lock $L --connect-timeout 300 --on-lost 'bash -c "ulimit -R" >"$scratch/lost"' -- \
            bash -c 'ulimit -R >"$scratch/ready.new"; mv "$scratch/ready.new" "$scratch/ready"; exec sleep 1000' 2>/dev/null &
        holder=$!
        remember "$holder"
        wait_until "$as: the command runs" test -e "$scratch/ready"
        guard=$(guard_of "$holder")
        command=$(child_of "$guard")
        remember "$command"
        expect "$as: the guard comes first" "${place% *} 2" "$(place_of "$guard")"
        expect "$as: zkl and the command do not" "$place, $place $rest" "$(place_of "$holder"), $(place_of "$command") $(<"$scratch/ready")"
        kill -XCPU "$guard"
        if wait_until "$as: nor does a guard that runs too long" has_place "$guard" "$place"; then pass "$as: nor does a guard that runs too long"; fi
        "$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
        status_of "$holder"
        expect "$as: and it works on" "75 $rest" "$? $(<"$scratch/lost")"
    done
else
    skip "no real-time policy is permitted"
fi

# The guard cannot fork the command.
if stranger_is_limited; then
    hold $L
    "${stranger[@]}" "$ZKL" lock $L true 2>"$scratch/waiter.err" &
    waiter=$!
    remember "$waiter"
    wait_until "it queues" has_contenders $L 2
    limit_forks "$(guard_of "$waiter")"
    let_go
    status_of "$waiter"
    expect_match "no process for the command" "^70:zkl: true: cannot start: " "$?:$(<"$scratch/waiter.err")"
    expect_no_node "and the lock is free" $L
else
    skip "processes cannot be limited: a command that cannot be forked"
fi
finish
