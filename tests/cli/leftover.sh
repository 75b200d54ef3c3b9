#!/bin/bash
# What a command leaves when it ends: left alone if it ended by itself, otherwise ended before the
# lock is released; by whom, how it is told, and what cannot be ended.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
chmod 755 "$scratch"
L=/cli/leftover
export scratch tools L
heard=(env "--default-signal=QUIT") # which a shell's background would ignore
lines() { cut -d' ' -f1,2 "$scratch/lines" | sed -E '/^behind /d; s/^(held|started|refused) .*/\1/' | paste -sd,; }
line() { grep -q "^$1" "$scratch/lines"; }

# A command that leaves a member, deaf or not, of its group or not, and ends as it is told to:
# $holder, $member. ${by[@]} is what zkl is run by.
by=()
leaves() { # LAST-WORDS MS LAUNCHER [OPTION...]
    local words=$1 ms=$2 launcher=$3 first=:
    shift 3
    [[ $words != trap* ]] || first=${words%%;*} # before anybody takes it for ready
    rm -f "$scratch"/{ready,lines,act}
    "${heard[@]}" "${by[@]}" "$ZKL" lock $L --status-fd 9 "$@" -- sh -c '
        '"$first"'
        '"$launcher"' "$tools/stamp" "$scratch/act" '"$ms"' >/dev/null 2>&1 &
        echo $! >"$scratch/member"; until [ -s "$scratch/act" ]; do sleep 0.05; done
        touch "$scratch/ready"
        '"$words" 9>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the command runs" test -e "$scratch/ready"
    member=$(<"$scratch/member")
    remember "$member"
}
expect_rest() { # WHAT STATUS LINES [FILTER]
    status_of "$holder"
    expect "$1: status" "$2" $?
    expect "$1: what was told" "waiting,held,started,$3" "$(lines | "${4-cat}")"
}

# The same with --wait-children, and a command that ends by itself.
waits_for() { # WHAT LAUNCHER [OPTION...]
    local what=$1 launcher=$2
    shift 2
    leaves 'exit 7' -1 "$launcher" --wait-children --kill-after 0.3 "$@"
    wait_until "$what: the command ends" line "ended 7"
    run "$ZKL" lock -n $L true
    expect "$what: the lock is kept, and nobody is ended" "1 no" "$status $(gone "$member" && echo gone || echo no)"
}

# It ends by itself: nobody is ended, whatever signal but those that ask to end was passed on.
leaves 'trap : USR1; until [ -e "$scratch/go" ]; do sleep 0.05; done; exit 7' -1 "setsid"
kill -USR1 "$holder"
touch "$scratch/go"
expect_rest "ended by itself" 7 "ended 7,released"
expect "ended by itself: its member is left alone" no "$(gone "$member" && echo gone || echo no)"
kill -9 "$member"

# By a signal of its own, or by one that was passed on and made it exit.
leaves 'kill -9 $$' 0 setsid
expect_rest "killed by itself" 137 "ended 137,rest TERM,released"
expect "killed by itself: its member is ended" yes "$(gone "$member" && echo yes)"
for signal in TERM HUP QUIT; do
    leaves 'trap "exit 3" TERM HUP QUIT; while :; do sleep 0.05; done' 300 setsid
    kill -$signal "$holder"
    expect_rest "exits at $signal" 3 "ended 3,rest TERM,released"
    expect "exits at $signal: its member is ended" yes "$(gone "$member" && echo yes)"
done
leaves 'while :; do sleep 0.05; done' -1 "" --kill-after 0.3
kill -TERM "$holder"
expect_rest "--kill-after" 143 "ended 143,rest TERM,rest KILL,released"
leaves 'while :; do sleep 0.05; done' -1 setsid --kill-after 0
kill -TERM "$holder"
expect_rest "--kill-after 0" 143 "ended 143,rest KILL,released"

# Where there is a lock within, the guard asks its zkl alone, which asks its own command. Both have time to end when
# KILL has come to the rest.
cat >"$scratch/within.py" <<'END'
import os, signal, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
open(sys.argv[1], "w").close()
print(signal.sigwaitinfo([signal.SIGTERM]).si_pid, flush=True)
while os.path.exists("/proc/" + sys.argv[2]):
    time.sleep(0.02)
sys.exit(5)
END
lock_within() {
    rm -f "$scratch"/{ready,lines,act}
    "$ZKL" lock $L --status-fd 9 --kill-after 6 -- sh -c '
        trap "exit 3" TERM
        setsid "$tools/stamp" "$scratch/act" -1 >/dev/null 2>&1 &
        setsid "$ZKL" lock $L-within --status-fd 8 -- python3 "$scratch/within.py" "$scratch/ready" $! \
            8>"$scratch/inner" >"$scratch/asker" 2>/dev/null &
        echo $! >"$scratch/within"
        while :; do sleep 0.05; done' 9>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the command within runs" test -e "$scratch/ready"
    kill -TERM "$holder"
    expect_rest "a lock within" 3 "ended 3,rest TERM,rest KILL,released"
    expect "a lock within: its zkl alone asks its command" "$(<"$scratch/within")" "$(<"$scratch/asker")"
    expect "a lock within: its command has its time to end" "ended 5" "$(grep ^ended "$scratch/inner")"
}
if command -v python3 >/dev/null; then lock_within; else missing python3 "a lock within"; fi

# A name is no reason to be left alone, nor to be waited for. Without a cgroup, which asks no names.
[ "$(id -u)" != 0 ] || by=(unshare -m sh -c 'umount -alt cgroup2 2>/dev/null; exec "$@"' sh)
for name in zkl-closing lock-guard; do
    cp "$tools/stamp" "$scratch/$name"
    leaves 'while :; do sleep 0.05; done' -1 "setsid $scratch/$name $scratch/called -1 & until [ -s $scratch/called ]; do sleep 0.05; done;" --kill-after 0.3
    victim=$(pgrep -f "^$scratch/$name ")
    remember "$victim"
    kill -TERM "$holder"
    expect_rest "called $name" 143 "ended 143,rest TERM,rest KILL,released"
    expect "called $name: it is ended" yes "$(gone "$victim" && echo yes)"
    rm "$scratch/called"
done
by=()

# Without a /proc only the kernel tells of it: whether a child lives, and which numbers are children's.
by=(unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh)
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "a sanitizer needs /proc: without /proc"
elif "${by[@]}" true 2>/dev/null; then
    unseen() { sed 's/^unseen all,//'; }
    leaves 'while :; do sleep 0.05; done' -1 setsid --kill-after 0.3
    kill -TERM "$holder"
    expect_rest "without /proc" 143 "ended 143,rest TERM,rest KILL,released" unseen
    expect "without /proc: its member is ended" yes "$(gone "$member" && echo yes)"
    expect "without /proc: what is not seen is told first" "unseen all" "$(head -n 1 "$scratch/lines")"
    expect "without /proc: and said once" 1 "$(grep -c "^zkl: $L: /proc is missing" "$scratch/holder.err")"
    leaves 'while :; do sleep 0.05; done' -1 setsid --session-timeout 8
    remember "$holder"
    "$ZKL" lock $L "$tools/stamp" >"$scratch/first" &
    next=$!
    wait_until "without /proc, lost: the next one queues" has_contenders $L 2
    kill -STOP "$holder"
    status_of $next
    expect "without /proc, lost: the next one is served" 0 $?
    expect "without /proc, lost: its member is ended before" "yes yes" \
        "$(gone "$member" && echo yes) $(((10#$(<"$scratch/first") > 10#$(<"$scratch/act"))) && echo yes)"
    kill -CONT "$holder"
    status_of "$holder"
    expect "without /proc, lost: status" 75 $?
    waits_for "without /proc, --wait-children" setsid
    kill -9 "$member"
    expect_rest "without /proc, --wait-children" 7 "ended 7,released" unseen
    leaves 'while :; do sleep 0.05; done' -1 setsid --leave-daemons
    kill -TERM "$holder"
    expect_rest "without /proc, --leave-daemons" 143 "ended 143,released" unseen
    expect "without /proc, --leave-daemons: the daemon is left alone" no "$(gone "$member" && echo gone || echo no)"
    kill -9 "$member"
    # What zkl has been started with cannot be told from the rest.
    rm -f "$scratch/lines"
    "${by[@]}" bash -c 'sleep 1000 & echo $! >"$scratch/before"; exec "$ZKL" lock "$@"' bash $L -- \
        bash -c 'kill -9 $PPID; sleep 1000' 2>/dev/null
    expect "without /proc, guard killed" 70 $?
    expect "without /proc, guard killed: a child that zkl had before is left alone" no "$(gone "$(<"$scratch/before")" && echo gone || echo no)"
    kill -9 "$(<"$scratch/before")"
    # Numbers begin again between the guard's and the member's. They do so in a namespace of their own, for others
    # are not to get numbers so soon that somebody may still mean.
    if [ -w /proc/sys/kernel/ns_last_pid ]; then
        rm -f "$scratch"/{act,go}
        unshare --pid --kill-child --mount sh -c '
            exec 8>/proc/sys/kernel/ns_last_pid
            echo 30000 >/proc/sys/kernel/ns_last_pid && mount -t tmpfs none /proc
            "$ZKL" lock $L --kill-after 0.3 -- sh -c "
                echo 300 >&8
                setsid \"\$tools/stamp\" \"\$scratch/act\" -1 &
                until [ -s \"\$scratch/act\" ]; do sleep 0.05; done
                echo \$((\$! < \$PPID)) >\"\$scratch/lower\"
                kill -9 \$\$"
            echo $? >"$scratch/status.new"
            mv "$scratch/status.new" "$scratch/status"
            until [ -e "$scratch/go" ]; do sleep 0.05; done' 2>/dev/null &
        remember $!
        if wait_until "numbers begin again: the command ends" test -e "$scratch/status"; then
            expect "numbers begin again: the member has one below the guard's, and is ended" "1 137 " \
                "$(<"$scratch/lower") $(<"$scratch/status") $(pgrep -f "^$tools/stamp $scratch/act ")"
        fi
        touch "$scratch/go"
    else
        skip "numbers cannot be set: numbers begin again"
    fi
else
    skip "no mount namespaces: without /proc"
fi
by=()

# The lock is lost while that goes on.
leaves 'while :; do sleep 0.05; done' -1 setsid --kill-after 1000
kill -TERM "$holder"
wait_until "the rest is asked" line "rest TERM"
"$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
expect_rest "lost meanwhile" 75 "ended 143,rest TERM,ending KILL,lost revoked"
expect "lost meanwhile: its member is ended" yes "$(gone "$member" && echo yes)"

# --leave-daemons: what has a session of its own, and nothing else.
leaves 'while :; do sleep 0.05; done' -1 setsid --leave-daemons
kill -TERM "$holder"
expect_rest "--leave-daemons" 143 "ended 143,released"
expect "--leave-daemons: the daemon is left alone" no "$(gone "$member" && echo gone || echo no)"
kill -9 "$member"
leaves 'while :; do sleep 0.05; done' -1 setsid --leave-daemons
"$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
expect_rest "--leave-daemons, lost" 75 "ending KILL,ended 137,lost revoked" kill_told_first
expect "--leave-daemons, lost: the daemon is left alone" no "$(gone "$member" && echo gone || echo no)"
kill -9 "$member"
leaves 'while :; do sleep 0.05; done' -1 "timeout 0" --leave-daemons --kill-after 0.3
kill -TERM "$holder"
expect_rest "--leave-daemons, another group" 143 "ended 143,rest TERM,rest KILL,released"

# --wait-children: what the command has left by itself runs on under the lock, as the command did.
for launcher in "" setsid; do
    waits_for "--wait-children $launcher" "$launcher"
    kill -9 "$member"
    expect_rest "--wait-children $launcher" 7 "ended 7,released"
    run "$ZKL" lock -n $L true
    expect "--wait-children $launcher: the lock is free then" 0 "$status"
done
waits_for "--wait-children, TERM" setsid
kill -TERM "$holder"
expect_rest "--wait-children, TERM" 7 "ended 7,rest TERM,rest KILL,released"
expect "--wait-children, TERM: its member is ended" yes "$(gone "$member" && echo yes)"
waits_for "--wait-children, lost" setsid
"$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
expect_rest "--wait-children, lost" 75 "ended 7,ending KILL,lost revoked"
expect "--wait-children, lost: its member is ended" yes "$(gone "$member" && echo yes)"
waits_for "--wait-children, zkl stopped" setsid --session-timeout 8
kill -STOP "$holder"
wait_until "--wait-children, zkl stopped: the guard keeps the deadline" line "lost deadline"
expect "--wait-children, zkl stopped: its member is ended" yes "$(gone "$member" && echo yes)"
kill -CONT "$holder"
expect_rest "--wait-children, zkl stopped" 75 "ended 7,ending TERM,ending KILL,lost deadline"
waits_for "--wait-children, zkl killed" setsid
kill -9 "$holder"
wait_until "--wait-children, zkl killed: what was told" line "lost tool"
expect "--wait-children, zkl killed: its member is ended" yes "$(gone "$member" && echo yes)"
expect_no_node "--wait-children, zkl killed: the lock is free then" $L
waits_for "--wait-children, guard killed" setsid
kill -9 "$(guard_of "$holder")"
expect_rest "--wait-children, guard killed" 70 "ended 7,ending KILL,lost guard"
expect "--wait-children, guard killed: its member is ended" yes "$(gone "$member" && echo yes)"
if [ -x "$tools/gate" ]; then
    begin_gate
    waits_for "--wait-children, in doubt" setsid --connect "$gate" --session-timeout 20 --on-suspect=stop
    gate cut
    wait_until "--wait-children, in doubt: its member is stopped" in_state "$member" T
    gate heal
    # shellcheck disable=SC2317
    goes_on() { ! in_state "$member" T; }
    wait_until "--wait-children, in doubt: its member is continued" goes_on
    kill -9 "$member"
    expect_rest "--wait-children, in doubt" 7 "ended 7,suspect,held,released"
else
    missing gate "doubt with --wait-children"
fi
waits_for "--wait-children --leave-daemons, another group" "timeout 0" --leave-daemons
kill -9 "$(child_of "$member")" # which ends timeout
expect_rest "--wait-children --leave-daemons, another group" 7 "ended 7,released"
leaves 'exit 7' -1 setsid --wait-children --leave-daemons
expect_rest "--wait-children --leave-daemons" 7 "ended 7,released"
expect "--wait-children --leave-daemons: the daemon is left alone" no "$(gone "$member" && echo gone || echo no)"
kill -9 "$member"

# What zkl has been started with is not its command's.
rm -f "$scratch/lines"
bash -c 'sleep 1000 & echo $! >"$scratch/before"; exec "$ZKL" lock "$@"' bash $L --status-fd 9 -- \
    bash -c 'kill -9 $PPID; sleep 1000' 9>"$scratch/lines" 2>/dev/null
expect "guard killed" 70 $?
expect "guard killed: a child that zkl had before is left alone" no "$(gone "$(<"$scratch/before")" && echo gone || echo no)"
kill -9 "$(<"$scratch/before")"

# A storm of processes that is still growing.
rm -f "$scratch/lines"
"$ZKL" lock $L --status-fd 9 -- bash -c 'exec -a "storm:$scratch" "$tools/storm" "$scratch/storm" 1000' 9>"$scratch/lines" 2>/dev/null &
holder=$!
remember "$holder"
members() { grep -alz "^storm:$scratch" /proc/[0-9]*/cmdline 2>/dev/null; }
many() { [ "$(members | wc -l)" -gt 100 ]; }
wait_until "the storm has begun" many
"$ZKL" lock $L "$tools/stamp" >"$scratch/first" &
next=$!
wait_until "the next one queues" has_contenders $L 2
kill -TERM "$holder"
wait_until "the storm is to end" line ended
insist "a storm: a second TERM" TERM "$holder" gone "$holder"
status_of $next
expect "a storm: the next one is served" 0 $?
expect "a storm: nobody is left" "" "$(members)"
expect "a storm: its last act was before" yes "$((($((10#$(<"$scratch/first"))) > $((10#$(<"$scratch/storm"))))) && echo yes)"
status_of "$holder"
expect "a storm: status" 143 $?

# zkl elect, whose candidate and guard are killed together: what they leave is ended before the
# next term begins.
rm -f "$scratch/lines"
"$ZKL" elect $L me --session-timeout 6 --status-fd 9 --kill-after 1000 -- bash -c '
    "$tools/stamp" >"$scratch/$ZKL_TOKEN.first"
    setsid "$tools/stamp" "$scratch/$ZKL_TOKEN.last" -1 & echo $! >"$scratch/$ZKL_TOKEN.pid"
    until [ -s "$scratch/$ZKL_TOKEN.last" ]; do sleep 0.05; done
    echo $ZKL_TOKEN >>"$scratch/terms"; sleep 1000' 9>"$scratch/lines" 2>"$scratch/elect.err" &
leader=$!
remember "$leader"
terms() { [ "$(wc -l <"$scratch/terms")" -ge "$1" ]; }
token() { sed -n "$1p" "$scratch/terms"; }
for i in 1 2 3; do
    wait_until "elect: term $i" terms $i
    term=$(token $i)
    child=$(child_of "$leader")
    remember "$(<"$scratch/$term.pid")"
    kill -9 "$child" "$(guard_of "$child")"
    wait_until "elect: term $((i + 1))" terms $((i + 1))
    next=$(token $((i + 1)))
    expect "elect: term $i has ended before the next" "yes yes" "$(gone "$(<"$scratch/$term.pid")" && echo yes) $(((10#$(<"$scratch/$next.first") > 10#$(<"$scratch/$term.last"))) && echo yes)"
done
kill -TERM "$leader"
wait_until "elect: the command ends" line "ended 143"
insist "elect: a second TERM" TERM "$leader" gone "$leader"
status_of "$leader"
expect "elect: a second TERM" "143 yes" "$? $(gone "$(<"$scratch/$next.pid")" && echo yes)"

# But not what --on-lost has left after an earlier one.
rm -f "$scratch/daemon"
lead $L me --session-timeout 6 --on-lost 'setsid sleep 1000 >/dev/null 2>&1 & echo $! >"$scratch/daemon"'
leader=$candidate
wait_until "elect: it leads" has_led me 1
"$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"
wait_until "elect: it leads again" has_led me 2
remember "$(<"$scratch/daemon")"
kill_term() { # [AND-ITS-GUARD]
    local child guard
    for child in $(child_of "$leader"); do
        guard=$(guard_of "$child")
        [ -n "$guard" ] || continue
        # Between two signals it would still run --on-lost, and be killed before that has ended.
        [ -z "${1-}" ] || kill -STOP "$guard"
        kill -9 "$child" ${1:+"$guard"}
    done
}
kill_term "and its guard"
wait_until "elect: it leads once more" has_led me 3
expect "elect: what --on-lost has left is left alone" no "$(gone "$(<"$scratch/daemon")" && echo gone || echo no)"
kill -9 "$(<"$scratch/daemon")"
# Nor what it leaves of a term that was killed, whose guard has ended the rest before.
rm "$scratch/daemon"
kill_term
wait_until "elect: it leads after a killed term" has_led me 4
remember "$(<"$scratch/daemon")"
expect "elect: what --on-lost has left of a killed term is left alone" no "$(gone "$(<"$scratch/daemon")" && echo gone || echo no)"
kill -9 "$(<"$scratch/daemon")"
touch "$scratch/me.quit"
status_of "$leader"
expect "elect: its status" 3 $?

# But what a command has left that ended by itself is ended, if its term was killed before it could
# tell.
rm -f "$scratch"/{terms,end,*.pid}
"$ZKL" elect $L me --session-timeout 6 -- bash -c '
    setsid sleep 1000 >/dev/null 2>&1 & echo $! >"$scratch/$ZKL_TOKEN.pid"
    echo $ZKL_TOKEN >>"$scratch/terms"
    until [ -e "$scratch/end" ]; do sleep 0.05; done' 2>"$scratch/elect.err" &
leader=$!
remember "$leader"
wait_until "elect: it leads" terms 1
child=$(child_of "$leader")
guard=$(guard_of "$child")
daemon=$(<"$scratch/$(token 1).pid")
remember "$daemon"
freeze "$child"
touch "$scratch/end"
wait_until "elect: the guard sees the end" gone "$guard"
kill -9 "$child"
wait_until "elect: it leads after an end that nobody told" terms 2
last=$(<"$scratch/$(token 2).pid")
remember "$last"
expect "elect: what was left before an end that nobody told" gone "$(gone "$daemon" && echo gone)"
status_of "$leader"
expect "elect: its status" 0 $?
kill -9 "$last"

# Nor does a term begin beside what its guard has given up, killed though it is.
given_up() {
    rm -f "$scratch"/{terms,ready}
    hold_at_exit "$scratch/go"
    lead $L-other other --session-timeout 6
    wait_until "elect: the other one leads" has_led other 1
    "$ZKL" elect $L me --session-timeout 4 -- bash -c '
        echo $ZKL_TOKEN >>"$scratch/terms"
        [ -e "$scratch/go" ] || exec "$tools/linger" "$scratch/go"' >"$scratch/ready" 2>"$scratch/elect.err" &
    leader=$!
    remember "$leader"
    wait_until "elect: its command does not end" test -s "$scratch/ready"
    child=$(child_of "$leader")
    guard=$(guard_of "$child")
    kill -9 "$child"
    wait_until "elect: the guard gives up" gone "$guard"
    # Another one, killed later with nothing left, leads again meanwhile.
    kill -9 "$(child_of "$candidate")"
    wait_until "elect: the other one leads again" has_led other 2
    expect "elect: no term begins while what was given up lives" 1 "$(wc -l <"$scratch/terms")"
    touch "$scratch/go"
    status_of "$leader"
    expect "elect: it leads then" "0 2" "$? $(wc -l <"$scratch/terms")"
    touch "$scratch/other.quit"
    status_of "$candidate"
}
if can_trace; then given_up; else skip "elect: what the guard gives up: tracing is forbidden"; fi

# And the session of what is given up is left to expire: the guard of a killed zkl does not end it.
session_given_up() {
    rm -f "$scratch/ready"
    hold_at_exit "$scratch/stay"
    begin_gate
    SESSION_OF=given-up "$ZKL" --connect "$gate" lock $L-stay --session-timeout 4 "$tools/linger" "$scratch/stay" \
        >"$scratch/ready" 2>"$scratch/stay.err" &
    holder=$!
    remember "$holder"
    wait_until "given up: the command runs" test -s "$scratch/ready"
    guard=$(guard_of $holder)
    gate silence
    kill -9 $holder
    wait_until "given up: the guard ends" gone "$guard"
    local enders
    mapfile -t enders < <(closing_for given-up)
    remember "${enders[@]}"
    expect "given up: nobody ends the session" "" "${enders[*]}"
    expect "given up: said" 1 "$(grep -c "was killed and does not end" "$scratch/stay.err")"
    touch "$scratch/stay"
    kill "$COPROC_PID"
    wait "$COPROC_PID" 2>/dev/null
}
if can_trace; then session_given_up; else skip "the session of what is given up: tracing is forbidden"; fi

# A command that runs as another user, which zkl may not signal.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
others() { # WHAT MOUNT-OF-/PROC UNSEEN
    local as=("${nobody[@]}")
    [ -z "$2" ] || as=(unshare -m sh -c "mount $2 /proc && exec \"\$@\"" sh "${nobody[@]}")
    rm -f "$scratch"/{ready,lines,act,letgo}
    mkfifo -m 666 "$scratch/letgo"
    touch "$scratch/ready"
    chmod 777 "$scratch/ready"
    "${as[@]}" "$ZKL" lock $L --status-fd 9 --kill-after 0.3 -- sh -c '
        "$scratch/root" --reuid=0 sh -c "echo \$\$ >\$scratch/ready; read x <\$scratch/letgo"
        echo' 9>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "$1: the command runs" test -s "$scratch/ready"
    member=$(<"$scratch/ready")
    remember "$member"
    kill -TERM "$holder"
    wait_until "$1: that is told" line "refused $member"
    wait_until "$1: and said after that" grep -q "process $member .* cannot be signalled" "$scratch/holder.err"
    expect_match "$1: one line says so" "^zkl: $L: process $member \([^)]+\) cannot be signalled[^"$'\n'"]*\$" "$(grep -v "^zkl: $L: /proc" "$scratch/holder.err")"
    expect "$1: what is not seen is told and said once" "$3:$(grep -c . <<<"$3")" \
        "$(sed -n 's/^unseen //p' "$scratch/lines"):$(grep -c "^zkl: $L: /proc" "$scratch/holder.err")"
    insist "$1: KILL is tried" TERM "$holder" line "rest KILL"
    "$ZKL" lock -n $L true 2>/dev/null
    expect "$1: the lock stays" 1 $?
    echo >"$scratch/letgo"
    status_of "$holder"
    expect "$1: until it ends by itself" "143 ended 143,rest KILL,released" "$? $(lines | sed 's/.*,ended/ended/; s/rest TERM,//; s/refused,//')"
}
cp "$(type -p setpriv)" "$scratch/root" 2>/dev/null && chmod u+s "$scratch/root"
if [ "$(id -u)" = 0 ] && [ "$("${nobody[@]}" "$scratch/root" --reuid=0 id -ru)" = 0 ] && "${nobody[@]}" "$ZKL" --version >/dev/null; then
    others "another user" "" ""
    if unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc' 2>/dev/null; then
        others "another user, hidden" "-t proc -o hidepid=2 proc" others
        others "another user, not to be read" "-t proc -o hidepid=1 proc" others
        [ -n "${ZKL_INSTRUMENTED-}" ] || others "another user, without /proc" "-t tmpfs none" all
    else
        skip "no mount namespaces: another user, hidden"
    fi
else
    skip "no set-user-ID program can be made: another user"
fi

# ---- a cgroup of the command's own ----

own_cgroup() { sed -n 's/^0:://p' "/proc/${1:-self}/cgroup"; }
mounted=$(awk '$4 == "/" { for (i = 6; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") at = $5 } END { print at }' /proc/self/mountinfo)
above=$(own_cgroup)
above=${above%/}
group=$mounted$above/zkl-test-$$ # where zkl runs; ours may be anybody's
remove_group() {
    [ -d "$group" ] || return 0
    echo 1 >"$group/cgroup.kill"
    wait_until "the cgroups are empty" grep -q "populated 0" "$group/cgroup.events"
    find "$group" -depth -type d -exec rmdir {} +
}
# Instead of the shell, which may be one in the background.
in_group() { echo 0 >"${into:-$group}/cgroup.procs" && exec "$@"; }
cgroups() { find "$group" -mindepth 1 -type d -name 'zkl-*' -printf '%f\n'; }
has_cgroups() { [ "$(cgroups | wc -l)" = "$1" ]; }
systemd=(unshare -m sh -c 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"' sh)
# A command that says where it is: relative to the group, its own number left out.
places() { # WHAT WANTED ARG...
    local what=$1 wanted=$2
    shift 2
    out=$(in_group "$@" 2>"$scratch/err")
    expect "$what: status" 0 $?
    out=$(sed -n 's/^0:://p' <<<"$out")
    expect "$what: its cgroup" "$wanted" "$(sed -E 's/zkl-[0-9]+-/zkl-PID-/g' <<<"${out#"$above/zkl-test-$$"}")"
    expect "$what: no cgroup is left" "" "$(cgroups)"
}

cgroup_of_command() {
    places "lock" /zkl-PID-0 "$ZKL" lock $L cat /proc/self/cgroup
    places "elect" /zkl-PID-0 "$ZKL" elect $L me cat /proc/self/cgroup
    places "a lock within a lock" /zkl-PID-0/zkl-PID-0 "$ZKL" lock $L "$ZKL" lock $L-inner cat /proc/self/cgroup
    places "--leave-daemons" "" "$ZKL" lock --leave-daemons $L cat /proc/self/cgroup
    places "elect --leave-daemons" "" "$ZKL" elect --leave-daemons $L me cat /proc/self/cgroup
    places "--on-lost" "" sh -c '"$ZKL" lock --on-lost "cat /proc/self/cgroup" $L sh -c "\"\$ADMIN\" delete \$ZKL_NODE; sleep 1000"; [ $? = 75 ]'
    # What the command has made there goes, too.
    mine="mkdir $mounted"'$(sed -n s/^0:://p /proc/self/cgroup)/mine'
    places "a cgroup in it" /zkl-PID-0 "$ZKL" lock $L sh -c "cat /proc/self/cgroup; $mine"

    # Where it cannot be, or is not ours to make.
    places "read-only" "" unshare -m sh -c 'mount -o remount,bind,ro "$1" && shift && exec "$@"' sh "$mounted" "$ZKL" lock $L cat /proc/self/cgroup
    places "not mounted" "" unshare -m sh -c 'umount "$1" && shift && exec "$@"' sh "$mounted" "$ZKL" lock $L cat /proc/self/cgroup
    places "somebody else's" "" "${nobody[@]}" "$ZKL" lock $L cat /proc/self/cgroup
    if grep -qw memory "$group/cgroup.controllers" && mkdir "$group/limited" &&
        echo +memory >"$group/cgroup.subtree_control" && echo 1G >"$group/limited/memory.max"; then
        into=$group/limited places "a limit" /limited "$ZKL" lock $L cat /proc/self/cgroup
        echo -memory >"$group/cgroup.subtree_control"
    else
        skip "no limits of memory: they are not hidden"
    fi
    if mkdir -p "$group"/threads/own && echo threaded >"$group/threads/own/cgroup.type"; then
        into=$group/threads/own places "among threads" /threads/own "$ZKL" lock $L cat /proc/self/cgroup
    fi
    # systemd says whom it has given a cgroup to; so does zkl.
    mkdir "$group/unmarked"
    into=$group/unmarked places "systemd's" /unmarked "${systemd[@]}" "$ZKL" lock $L cat /proc/self/cgroup
    places "systemd's, given away" /zkl-PID-0/zkl-PID-0 "$ZKL" lock $L "${systemd[@]}" "$ZKL" lock $L-inner cat /proc/self/cgroup

    # It was removed while it was empty.
    hold $L-held
    in_group "$ZKL" lock $L-held cat /proc/self/cgroup >"$scratch/out" &
    next=$!
    remember "$next"
    wait_until "removed before: it queues" has_contenders $L-held 2
    expect "removed before: there was one" 0 "$(rmdir "$group/$(cgroups)"; echo $?)"
    let_go
    status_of "$next"
    expect "removed before: the command runs without" "0 /zkl-test-$$" "$? $(sed -n 's/^0:://p' "$scratch/out" | sed "s:^$above::")"

    # It stays with what a command leaves that ends by itself, and goes with the next zkl after that.
    (in_group "$ZKL" lock $L sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >"$scratch/member"')
    expect "left alone: status" 0 $?
    member=$(<"$scratch/member")
    remember "$member"
    expect_match "left alone: its cgroup stays" "^zkl-[0-9]+-0\$" "$(cgroups)"
    expect_match "left alone: with it" "/zkl-[0-9]+-0\$" "$(own_cgroup "$member")"
    (in_group "$ZKL" lock $L true)
    expect "left alone: by the next one, too" no "$(gone "$member" && echo gone || echo no)"
    kill -9 "$member"
    wait_until "left alone: it has ended" gone "$member"
    places "the next one" /zkl-PID-0 "$ZKL" lock $L cat /proc/self/cgroup
    mkdir "$group/zkl-1-0"
    places "that of a container's first process goes too" /zkl-PID-0 "$ZKL" lock $L cat /proc/self/cgroup

    # The tool or the guard removes the cgroup, whichever survives.
    (in_group "$ZKL" lock $L bash -c 'kill -9 $PPID; sleep 1000') 2>/dev/null
    expect "guard killed: status, and what is left" "70 " "$? $(cgroups)"
    in_group "$ZKL" lock $L --session-timeout 8 bash -c 'echo >"$scratch/runs"; sleep 1000' 2>/dev/null &
    holder=$!
    remember "$holder"
    wait_until "tool killed: the command runs" test -s "$scratch/runs"
    has_cgroups 1 || fail "tool killed: there was a cgroup"
    kill -9 "$holder"
    status_of "$holder"
    if wait_until "tool killed: the guard removes it" has_cgroups 0; then pass "tool killed: the guard removes it"; fi
}

# KILL to the cgroup ends what zkl may not signal.
ends_other_user() { # WHAT HOW VERB...
    local what=$1 how=$2 victim
    shift 2
    rm -f "$scratch"/{act,lines}
    touch "$scratch/act"
    chmod 666 "$scratch/act"
    # shellcheck disable=SC2094
    in_group "${nobody[@]}" "$ZKL" "$@" --session-timeout 8 --kill-after 0.3 --status-fd 9 -- \
        sh -c '"$scratch/root" --reuid=0 setsid sh -c "echo \$\$ >\"\$scratch/victim\"; exec \"\$tools/stamp\" \"\$scratch/act\" -1"; echo' \
        9>"$scratch/lines" 2>/dev/null &
    holder=$!
    remember "$holder"
    wait_until "$what: it acts" test -s "$scratch/act"
    victim=$(<"$scratch/victim")
    remember "$victim"
    expect "$what: runs as root" 0 "$(awk '/^Uid:/ { print $2 }' "/proc/$victim/status")"
    "$how"
    if wait_until "$what: it is ended" gone "$victim"; then pass "$what: it is ended"; fi
    kill -TERM "$holder" 2>/dev/null # who may have a next term
    status_of "$holder"
    if wait_until "$what: no cgroup is left" has_cgroups 0; then pass "$what: no cgroup is left"; fi
}
delete_node() { "$ADMIN" delete "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')"; }
kill_tool() { kill -9 "$holder"; }
kill_guard() { kill -9 "$(guard_of "$holder")"; }
kill_both() {
    local child
    child=$(child_of "$holder")
    kill -9 "$child" "$(guard_of "$child")"
}
ask_to_end() { kill -TERM "$holder"; }

# The process that closes a session for a lock within is no part of the outer one's cgroup.
closing_outside() {
    local pid
    for pid in /proc/[0-9]*; do
        read -r name <"$pid/comm" && [ "$name" = zkl-closing ] && [ "$(own_cgroup "${pid#/proc/}")" = "$above/zkl-test-$$" ] &&
            closing=${pid#/proc/} && return
    done 2>/dev/null
    return 1
}
none_closes() { ! closing_outside; }
closes_outside() {
    local outer
    wait_until "closing: that of a tool killed before is over" none_closes
    begin_gate
    export gate
    hold $L-inner
    in_group "$ZKL" lock $L --status-fd 9 -- sh -c '
        sh -c "echo \$\$ >\"\$scratch/inner\"; exec \"\$ZKL\" --connect \"\$gate\" lock $L-inner true"; sleep 1000' \
        9>"$scratch/lines" 2>/dev/null &
    outer=$!
    remember "$outer"
    wait_until "closing: the inner one queues" has_contenders $L-inner 2
    gate silence
    kill -TERM "$(<"$scratch/inner")"
    if wait_until "closing: outside of the command's cgroup" closing_outside; then pass "closing: outside of the command's cgroup"; fi
    kill -TERM "$outer"
    wait_until "closing: the outer one's command ends" line ended
    insist "closing: a second TERM" TERM "$outer" gone "$outer"
    status_of "$outer"
    expect "closing: goes on" no "$(gone "$closing" && echo gone || echo no)"
    expect "closing: no cgroup is left" "" "$(cgroups)"
    gate heal
    if wait_until "closing: the node goes" has_contenders $L-inner 1; then pass "closing: the node goes"; fi
    let_go
}

if [ "$(id -u)" = 0 ] && [ -n "$mounted" ] && mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.kill" ] &&
    (in_group true) 2>/dev/null && { [ ! -d /run/systemd/system ] || setfattr -n user.delegate -v 1 "$group"; } &&
    "${systemd[@]}" true 2>/dev/null; then
    trap 'remove_group 2>/dev/null >&2; end_of_script' EXIT
    cgroup_of_command
    closes_outside
    if [ -u "$scratch/root" ] && "${nobody[@]}" "$ZKL" --version >/dev/null; then
        chown 65534 "$group" "$group/cgroup.procs"
        ends_other_user "the node deleted" delete_node lock $L
        ends_other_user "tool killed" kill_tool lock $L
        ends_other_user "guard killed" kill_guard lock $L
        ends_other_user "candidate and guard killed" kill_both elect $L-elect me
        ends_other_user "asked to end" ask_to_end lock $L
    else
        skip "no set-user-ID program can be made: another user in a cgroup"
    fi
    remove_group
else
    rmdir "$group" 2>/dev/null
    skip "no cgroup v2 that is ours: a cgroup of the command's own"
fi
expect_no_node "nothing is left" $L
finish
