#!/bin/bash
# Term after term: what ends one, and what comes then.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
E=/cli/terms
begin_gate
short=(--session-timeout 6)

# Deposes the leader, as an administrator can.
depose() {
    "$ADMIN" delete "$E/$("$ZKL" ls $E | sed -n '2s/.* //p')"
}
told() { # ID [FILTER]: what was told, without numbers, and without what a slow machine adds
    cut -d' ' -f1,2 "$scratch/$1.lines" | sed '/^behind /d' | paste -sd, | "${2-cat}" | sed -E 's/ [0-9]+(,|$)/\1/g'
}
metric() { # ID NAME: its value
    sed -nE "s/^zkl_$2\{.* //p" "$scratch/$1.prom"
}
quit() { # ID PROCESS: ends it, and gives its status
    touch "$scratch/$1.quit"
    status_of "$2"
}

# The leader is cut off: its command is ended, the other leads; then the first one is in line again.
lead $E a --connect "$gate" "${short[@]}"
a=$candidate
wait_until "a leads" has_led a 1
command=$(leading_command a)
lead $E b
b=$candidate
wait_until "b waits" has_contenders $E 2
gate silence
wait_until "b leads" has_led b 1
expect "a's command ended before" yes "$(gone "$command" && echo yes)"
expect "a's command was asked to" yes "$(test -e "$scratch/a.termed" && echo yes)"
gate heal
wait_until "a is in line again" has_contenders $E 2
expect "a has led once" 1 "$(wc -l <"$scratch/a.terms")"
expect "one of two leads" b "$("$ZKL" elect --leader $E)"
if [ -x "$ADMIN" ]; then
    command=$(leading_command b)
    depose
    wait_until "a leads again" has_led a 2
    wait_until "b's command is ended" gone "$command"
    wait_until "b is in line again" has_contenders $E 2
    expect "b is told of as deposed" "waiting,held,started,ending KILL,ended,lost revoked,waiting" "$(told b kill_told_first)"
    expect "that is no failure" "" "$(grep "not in line" "$scratch/b.err")"
else
    missing zk-admin "deposed twice"
fi
quit a "$a"
expect "a ends with its command" 3 "$?"
quit b "$b"
expect "b ends with its command" 3 "$?"
tokens=$(cat "$scratch"/[ab].terms | cut -d' ' -f2)
expect "no token twice" "" "$(sort -n <<<"$tokens" | uniq -d)"
expect_no_node "nothing is left" $E

# --once: as a lock.
if [ -x "$ADMIN" ]; then
    lead $E a --once
    wait_until "a leads" has_led a 1
    depose
    status_of "$candidate"
    expect "--once: lost" 75 "$?"
    # Nor does one that was asked to end campaign again.
    rm -f "$scratch/heard"
    "$ZKL" elect $E a bash -c 'trap "echo >$1/heard" TERM; echo >$1/ready
        while :; do sleep 0.05; done' bash "$scratch" 2>/dev/null &
    a=$!
    remember "$a"
    wait_until "it runs" test -e "$scratch/ready"
    kill -TERM "$a"
    wait_until "TERM is passed on" test -e "$scratch/heard"
    depose
    status_of "$a"
    expect "deposed after TERM: it ends" 75 "$?"
else
    missing zk-admin "--once"
fi

# Killed without warning: nothing of it runs on, no node outlives its session, the other one leads.
lead $E b "${short[@]}"
b=$candidate
wait_until "b leads" has_led b 1
child=$(child_of "$b")
guard=$(guard_of "$child")
command=$(leading_command b)
kill -9 "$b"
status_of "$b"
for pid in "$child" "$guard" "$command"; do wait_until "supervisor killed: $pid is gone" gone "$pid"; done
expect "supervisor killed: command, guard and the rest are gone" "yes" "$(gone "$command" && gone "$guard" && gone "$child" && echo yes)"
expect_no_node "supervisor killed: no node outlives the session" $E

# A waiting one as well.
lead $E a
a=$candidate
wait_until "a leads" has_led a 1
lead $E b "${short[@]}"
wait_until "b waits" has_contenders $E 2
child=$(child_of "$candidate")
guard=$(guard_of "$child")
kill -9 "$candidate"
status_of "$candidate"
for pid in "$child" "$guard"; do wait_until "killed while waiting: $pid is gone" gone "$pid"; done
wait_until "killed while waiting: its node goes with its session" has_contenders $E 1
expect "killed while waiting: it never led" no "$(test -e "$scratch/b.terms" && echo yes || echo no)"

# The process of a term: the command is killed before a new term begins, behind the old session.
first=$(leading_command a)
child=$(child_of "$a")
kill -9 "$child"
wait_until "term killed: it leads again" has_led a 2
expect "term killed: the first command is dead" yes "$(gone "$first" && echo yes)"
expect "term killed: the next has another process" yes "$([ "$(child_of "$a")" != "$child" ] && echo yes)"
expect_match "term killed: one line says so" "zkl: $E: [^"$'\n'"]*process was killed" "$(<"$scratch/a.err")"
# The guard tells of a command that has begun by then.
expect_soon "term killed: what was told" "waiting,held,started,ending KILL,ended,lost tool,waiting,held,started" told a

# The same with a guard that was stopped: it is woken.
first=$(leading_command a)
child=$(child_of "$a")
freeze "$(guard_of "$child")"
kill -9 "$child"
wait_until "term killed, guard stopped: it leads again" has_led a 3
expect "term killed, guard stopped: the first command is dead" yes "$(gone "$first" && echo yes)"

# The guard.
first=$(leading_command a)
kill -9 "$(guard_of "$(child_of "$a")")"
wait_until "guard killed: it leads again" has_led a 4
expect "guard killed: the command before is dead" yes "$(gone "$first" && echo yes)"
kill -TERM "$a"
status_of "$a"
expect "TERM ends it all" 0 "$?"
expect_no_node "nothing is left" $E

# A higher priority comes: TERM, and in line again, behind it.
export scratch
lead $E low --yield --metrics-file "$scratch/low.prom" --on-lost 'echo "$ZKL_LOST $ZKL_CANDIDATE" >>"$scratch/low.lost"'
low=$candidate
wait_until "low leads" has_led low 1
lead $E high --priority 5
high=$candidate
wait_until "high leads" has_led high 1
wait_until "low is in line again" has_contenders $E 2
expect "low was asked" "waiting,held,started,ending TERM,ended,lost asked,on-lost started,on-lost ended,waiting" "$(told low)"
expect "low: --on-lost" "asked low" "$(<"$scratch/low.lost")"
expect_match "low says so" "zkl: $E: asked to step down" "$(<"$scratch/low.err")"
lead $E lower --yield
lower=$candidate
wait_until "three in line" has_contenders $E 3
expect "a lower one asks nobody" 1 "$(wc -l <"$scratch/high.terms")"
quit high "$high"
wait_until "low leads again" has_led low 2
quit low "$low"
expect "a term that low gave up is not lost" "3 0" "$(metric low exit_status) $(metric low terms_lost_total)"
wait_until "lower leads" has_led lower 1
quit lower "$lower"
expect_no_node "nothing is left" $E

# One that is deaf to TERM is killed after the grace, and the lock is not given up before.
"$ZKL" elect $E deaf --yield --grace 0.4 --session-timeout 20 --status-fd 9 -- bash -c '
    trap "echo >$1/deaf.termed" TERM; echo "$$" >"$1/deaf.new"; mv "$1/deaf.new" "$1/deaf.terms"
    while :; do sleep 0.05; done' bash "$scratch" 9>"$scratch/deaf.lines" 2>/dev/null &
deaf=$!
remember "$deaf"
wait_until "deaf leads" test -e "$scratch/deaf.terms"
command=$(<"$scratch/deaf.terms")
"$ZKL" elect $E next --once --priority 1 bash -c "$(declare -f gone)"'; gone "$1" && echo dead' bash "$command" >"$scratch/next"
expect "a deaf one is killed before the next leads" "dead" "$(<"$scratch/next")"
# shellcheck disable=SC2317
another() { [ "$(<"$scratch/deaf.terms")" != "$command" ]; } # which is deaf by then
wait_until "deaf leads again" another
expect_match "deaf was asked, then killed" "^waiting,held,started,ending TERM,ending KILL,ended,lost asked,waiting" "$(told deaf)"
rm "$scratch/deaf.termed"
kill -TERM "$deaf"
wait_until "TERM is passed on" test -e "$scratch/deaf.termed"
insist "a second TERM" TERM "$deaf" gone "$deaf"
status_of "$deaf"
expect "a second TERM kills it" 137 "$?"

# What runs after a term and does not end: how it stands is told, and it has its time.
# shellcheck disable=SC2317
notified() { grep -q "^$1" "$scratch/notified"; }
hang() { # OPTION...: leads, and is deposed, or "$lose": $hang, $lost
    rm -f "$scratch/hang.lost" "$scratch/notified"
    "$tools/notified" "@zkl-terms-$$" >"$scratch/notified" &
    listener=$!
    remember "$listener"
    wait_until "somebody listens" notified listening
    NOTIFY_SOCKET="@zkl-terms-$$" lead $E hang "$@" --on-lost 'trap "" TERM
        echo $$ >"$scratch/hang.lost.new"; mv "$scratch/hang.lost.new" "$scratch/hang.lost"
        until [ -e "$scratch/hang.go" ]; do sleep 0.05; done'
    hang=$candidate
    wait_until "hang leads" has_led hang 1
    child=$(child_of "$hang")
    guard=$(guard_of "$child")
    "${lose:-depose}"
    wait_until "--on-lost runs" test -e "$scratch/hang.lost"
    lost=$(<"$scratch/hang.lost")
    remember "$lost"
}
hang_ends() { # WHAT STATUS
    status_of "$hang"
    expect "--on-lost hangs: $1 ends it" "$2" "$?"
    if wait_until "--on-lost hangs: $1: it is gone" gone "$lost"; then pass "--on-lost hangs: $1: it is gone"; fi
    kill "$listener"
    wait "$listener" 2>/dev/null
}
if [ -x "$ADMIN" ]; then
    hang --on-lost-timeout 1000
    lead $E b
    b=$candidate
    wait_until "b leads meanwhile" has_led b 1
    what="--on-lost hangs: that it leads no more is told"
    if wait_until "$what" notified "STATUS=no longer leader, running --on-lost"; then pass "$what"; fi
    expect_soon "--on-lost hangs: what was told" "waiting,held,started,ending KILL,ended,lost revoked,on-lost started" told hang kill_told_first
    kill -TERM "$hang"
    wait_until "TERM is passed on" notified STOPPING
    insist "a second TERM" TERM "$hang" gone "$hang"
    hang_ends "a second TERM" 75
    expect "--on-lost hangs: the last that was told" "STOPPING=1" "$(tail -n 1 "$scratch/notified")"
    quit b "$b"

    hang --on-lost-timeout 1000
    kill -9 "$hang"
    hang_ends KILL 137

    # zkl goes on with it for a guard that is dead.
    hang --on-lost-timeout 1000
    kill -9 "$guard"
    kill -TERM "$hang"
    wait_until "TERM is passed on" notified STOPPING
    insist "a second TERM, the guard dead" TERM "$hang" gone "$hang"
    hang_ends "a second TERM, the guard dead," 75

    # The guard runs it alone: no candidate passes anything on.
    # shellcheck disable=SC2317
    kill_child() { kill -9 "$child"; }
    lose=kill_child hang --on-lost-timeout 1000
    kill -TERM "$hang"
    wait_until "TERM is passed on" notified STOPPING
    expect "--on-lost hangs: one TERM, the candidate dead" no "$(gone "$lost" && echo gone || echo no)"
    insist "a second TERM, the candidate dead" TERM "$hang" gone "$hang"
    hang_ends "a second TERM, the candidate dead," 70

    hang --on-lost-timeout 0.2 --metrics-file "$scratch/hang.prom"
    if wait_until "--on-lost-timeout: it leads again" has_led hang 2; then pass "--on-lost-timeout: it leads again"; fi
    expect_soon "--on-lost-timeout: what was told" "waiting,held,started,ending KILL,ended,lost revoked,on-lost started,on-lost ending,on-lost ending,on-lost ended,waiting,held,started" told hang kill_told_first
    expect "--on-lost-timeout: TERM, then KILL" "on-lost ending 15,on-lost ending 9,on-lost ended 137" "$(grep -E 'on-lost e' "$scratch/hang.lines" | paste -sd,)"
    expect_match "--on-lost-timeout: one line says so" "zkl: --on-lost: $E: still running after 0.2 s" "$(<"$scratch/hang.err")"
    quit hang "$hang"
    expect "--on-lost-timeout: one term was lost" "3 1" "$(metric hang exit_status) $(metric hang terms_lost_total)"
    kill "$listener"

    # An end that the command was asked for counts.
    export scratch
    "$ZKL" lock $E-asked --on-lost-timeout 0.2 --on-lost 'trap "" TERM; while :; do sleep 0.05; done' --status-fd 9 -- bash -c '
        trap "echo >$scratch/asked.heard" HUP; echo >$scratch/asked.ready
        while :; do sleep 0.05; done' 9>"$scratch/asked.lines" 2>/dev/null &
    asked=$!
    remember "$asked"
    wait_until "it runs" test -e "$scratch/asked.ready"
    kill -HUP "$asked"
    wait_until "HUP is passed on" test -e "$scratch/asked.heard"
    E=$E-asked depose
    status_of "$asked"
    expect "--on-lost-timeout: KILL at once after a HUP" "75 on-lost ending 9,on-lost ended 137" \
        "$? $(grep -E 'on-lost e' "$scratch/asked.lines" | paste -sd,)"
else
    missing zk-admin "--on-lost that hangs"
fi

# A candidate that ends the command beside its guard, and looks at the tree only when --on-lost runs:
# that is no member, whose child it may be.
# shellcheck disable=SC2317
depose_before_look() {
    rm -f "$scratch"/look*
    "$tools/linger" "$scratch/look" look "$child" &
    remember $!
    wait_until "the candidate is traced" test -e "$scratch/look.pid"
    freeze "$guard"
    depose
    wait_until "the candidate is about to look" test -e "$scratch/look.held"
    kill -CONT "$guard"
}
late_look() { # WHAT
    lose=depose_before_look hang --on-lost-timeout 1000
    [ "$1" = "the guard lives" ] || kill -9 "$guard"
    touch "$scratch/look"
    wait_until "a late look, $1: it has been" notified "STATUS=no longer leader, running --on-lost"
    touch "$scratch/hang.go"
    wait_until "a late look, $1: it leads again" has_led hang 2
    expect "a late look, $1: --on-lost ends by itself" "on-lost ended 0" "$(grep "^on-lost ended" "$scratch/hang.lines")"
    quit hang "$hang"
    expect "a late look, $1: it ends with its command" 3 "$?"
    kill "$listener"
    wait "$listener" 2>/dev/null
}
if [ -x "$ADMIN" ] && can_trace; then
    late_look "the guard lives"
    late_look "the guard dead"
else
    skip "zk-admin is not built, or tracing is forbidden: a late look at the tree"
fi

# No server: tried again, later; a signal ends the pause.
gate cut
lead $E a -v --connect "$gate" --connect-timeout 0.3 "${short[@]}"
a=$candidate
# shellcheck disable=SC2317
refused_times() { [ "$(grep -c "^zkl: $gate" "$scratch/a.err")" -ge "$1" ]; }
wait_until "no server: tried twice" refused_times 2
gate heal
wait_until "no server: when there is one, it leads" has_led a 1
quit a "$a"
expect "no server: and ends with its command" 3 "$?"
rm -f "$scratch/a.err" # the last one's
"$ZKL" --connect 127.0.0.1:1 --connect-timeout 0.1 elect $E a true 2>"$scratch/a.err" &
a=$!
remember "$a"
wait_until "no server: tried" test -s "$scratch/a.err"
# shellcheck disable=SC2317
childless() { [ -z "$(child_of "$a")" ]; }
wait_until "no server: between two attempts" childless
kill -TERM "$a"
status_of "$a"
expect "no server: TERM ends it" 143 "$?"

# A permission that is taken away from one that has led may just be being changed.
if [ -x "$ADMIN" ]; then
    begin_refused() { # NAME SESSION_TIMEOUT: one that has led, and is not let in any more
        lead $E-$1 "$1" --session-timeout "$2"
        refused=$candidate
        wait_until "no permission, $1: it leads" has_led "$1" 1
        "$ADMIN" readonly $E-$1
        kill -9 "$(child_of "$refused")"
        wait_until "no permission, $1: it is refused" grep -q "create (c) is missing" "$scratch/$1.err"
    }
    begin_refused mended 60
    "$ADMIN" delete $E-mended
    wait_until "no permission, mended: it leads again" has_led mended 2
    quit mended "$refused"
    expect "no permission, mended: it ends with its command" 3 "$?"
    begin_refused lasting 3
    status_of "$refused"
    expect "no permission, lasting: it ends" 77 "$?"
else
    missing zk-admin "a permission that is taken away"
fi
refused "no server: --once ends by itself" 69 "127.0.0.1:1" --connect 127.0.0.1:1 --connect-timeout 0.1 elect --once $E a true
finish
