#!/bin/bash
# zkl shards: a command for each shard; hosts that come, go and are killed; what ends a command.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
G=/cli/shards

# A host in the background, $host, with 8 shards. Each command writes "ID PID TOKEN" into a file of
# its shard, which it keeps locked, and runs until TERM.
begin_host() { # ID [OPTION...]
    local id=$1
    shift
    "$ZKL" shards --session-timeout 10 $G 8 --id "$id" --status-fd 9 "$@" -- bash -c '
        exec 8>>"$1/$ZKL_SHARD.lock"
        flock -n 8 || echo "shard $ZKL_SHARD: $2 $ZKL_TOKEN" >>"$1/overlaps"
        trap "exit 0" TERM
        echo "$2 $$ $ZKL_TOKEN" >>"$1/$ZKL_SHARD.log"
        while :; do sleep 0.05 8>&-; done' bash "$scratch" "$id" \
        9>>"$scratch/$id.lines" 2>>"$scratch/$id.err" &
    host=$!
    remember "$host"
}
# shellcheck disable=SC2317
served() { # HOSTS: by whom each shard is, in order
    local k id pid
    for ((k = 0; k < ${#1}; k++)); do
        read -r id pid _ < <(tail -n 1 "$scratch/$k.log" 2>/dev/null) && [ "$id" = "${1:k:1}" ] &&
            ! gone "$pid" || return 1
    done
}
begun() { # how many commands ever
    cat "$scratch"/?.log | wc -l
}
# shellcheck disable=SC2317
listed() { # IDS [PATH]
    [ "$("$ZKL" member --list "${2-$G}/members" | awk 'NR > 1 { print $1 }' | paste -sd' ')" = "$1" ]
}
# One host has them all.
begin_host a
a=$host
if wait_until "one host serves all" served aaaaaaaa; then pass "one host serves all"; fi
expect "it is a member" 0 "$(listed a; echo $?)"
expect_match "what it says of its share, as in tests/unit/stored.txt" "zkl-shards 8 1\$" "$("$ZKL" member --list $G/members)"
token=$(tail -n 1 "$scratch/3.log" | cut -d' ' -f3)
expect_match "its lock, by its name" "HOLDS +$token .* a +_c_" "$("$ZKL" ls $G/shards/3)"
if wait_until "--status-fd: held, with the token" grep -qx "held 3 $token" "$scratch/a.lines"; then pass "--status-fd: held"; fi

# More hosts: only what has another owner moves. The owners are the same for ever.
begin_host b
b=$host
begin_host c
c=$host
if wait_until "three hosts" served abacabbb; then pass "each has its own"; fi
expect "nothing else has moved" 13 "$(begun)"
wait_until "--status-fd: ended" grep -q "^ended 1 " "$scratch/a.lines"
expect "--status-fd: asked, and ended" "asked 1,ended 1 0" "$(grep -E '^(asked|ended) 1( |$)' "$scratch/a.lines" | paste -sd,)"

# One is killed without warning: its commands end, and its shards move.
mapfile -t pids < <(tail -qn 1 "$scratch"/[1567].log | cut -d' ' -f2)
kill -9 "$b"
status_of "$b" 2>/dev/null
for pid in "${pids[@]}"; do wait_until "killed: its command $pid ends" gone "$pid"; done
if wait_until "two hosts" served acacacaa; then pass "its shards have moved"; fi
expect "and no other" 17 "$(begun)"
wait_until "it is seen gone" listed "a c"
begin_host b
b=$host
if wait_until "back" served abacabbb; then pass "back, it gets its own again"; fi
expect "and no other is moved" 21 "$(begun)"

# Asked by name.
run "$ZKL" revoke $G/shards/0
# shellcheck disable=SC2317
again() { [ "$(wc -l <"$scratch/0.log")" = 2 ]; }
wait_until "revoked: it begins again" again
wait_until "revoked: served" served abacabbb
expect "revoked: with another token" 2 "$(cut -d' ' -f3 "$scratch/0.log" | sort -u | wc -l)"

# A shard's guard is killed: so is the command, which begins again when nothing of it is left.
read -r _ pid _ < <(tail -n 1 "$scratch/3.log")
lines=$(wc -l <"$scratch/3.log")
guard=$(ps -o ppid= "$pid")
zygote=$(ps -o ppid= "${guard// /}")
expect "ps names both, and not as zkl" "lock-guard lock-guard" "$(for one in $guard $zygote; do tr '\0' '\n' <"/proc/$one/cmdline" | head -n 1; done | paste -sd' ')"
kill -9 "${guard// /}"
wait_until "the command of a killed guard ends" gone "$pid"
# shellcheck disable=SC2317
once_more() { [ "$(wc -l <"$scratch/3.log")" -gt "$lines" ]; }
wait_until "and begins again" once_more
wait_until "where it was" served abacabbb

# Without the process that forks guards a host does not go on.
expect "it is the host's child" "$c" "$(ps -o ppid= "${zygote// /}" | tr -d ' ')"
kill -9 "${zygote// /}"
status_of "$c"
expect "the guards' parent is killed" 70 "$?"
expect_match "and says so" "process that starts the guards is dead" "$(<"$scratch/c.err")"
wait_until "the others serve" served abababbb
kill -TERM "$a"
status_of "$a"
expect "TERM" 143 "$?"
wait_until "the last one serves" served bbbbbbbb
kill -HUP "$b"
status_of "$b"
expect "HUP" 129 "$?"
# shellcheck disable=SC2317
all_ended() { [ -z "$(for k in {0..7}; do "$ZKL" ls "$G/shards/$k"; done 2>/dev/null)" ]; }
if wait_until "nothing is left" all_ended; then pass "nothing is left"; fi
wait_until "nobody is there" listed ""
expect "no shard was ever served twice" "" "$(cat "$scratch/overlaps" 2>/dev/null)"
for k in 0 1 2 3 4 5 6 7; do
    expect "shard $k: its tokens rise" "" "$(cut -d' ' -f3 "$scratch/$k.log" | sort -cun 2>&1)"
done

# A host that had a child before it became one.
bash -c 'sleep 1000 & echo $! >"$1/beside"; exec "$ZKL" shards $2 1 --id x --status-fd 9 -- sleep 1000' bash "$scratch" $G/beside 9>"$scratch/x.lines" 2>"$scratch/x.err" &
host=$!
remember "$host"
wait_until "a host with a child of its own: its command runs" grep -q ^held "$scratch/x.lines"
beside=$(<"$scratch/beside")
remember "$beside"
kill -9 "$(guard_of "$host")"
status_of "$host"
expect "a host with a child of its own: the guards' parent is killed" 70 "$?"
if gone "$beside"; then fail "its child lives"; else pass "its child lives"; fi
kill "$beside"

# As a container's first process it reaps strangers, when it has served a while, and while it finds no server.
zombies_of() { # PID
    local stat content
    for stat in /proc/[0-9]*/stat; do
        read_file "$stat" && [[ ${content##*) } = "Z $1 "* ]] && echo "${content%% *}"
    done
}
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    for server in "$ZKL_CONNECT" 127.0.0.1:1; do
        rm -f "$scratch"/{go,orphan,x.err}
        unshare --pid --fork --mount-proc bash -c '(until [ -e "$1/go" ]; do sleep 0.05; done & echo $! >"$1/orphan")
            exec "$ZKL" -v --connect "$2" --connect-timeout 0.3 shards $3 1 --id x --status-fd 9 -- sleep 1000' \
            bash "$scratch" "$server" $G/first 9>"$scratch/x.lines" 2>"$scratch/x.err" &
        outside=$!
        remember "$outside"
        # shellcheck disable=SC2317
        at_it() { grep -q ^held "$scratch/x.lines" || [ "$(grep -c "connecting to" "$scratch/x.err")" -ge 2 ]; }
        wait_until "a first process at $server: it serves, or tries again" at_it
        host=$(child_of "$outside")
        remember "$host"
        expect "a first process at $server: it has the orphan" 2 "$(child_of "$host" | wc -l)"
        touch "$scratch/go"
        expect_soon "a first process at $server: the orphan is reaped" 1 eval 'child_of "$host" | wc -l'
        kill -TERM "$host"
        status_of "$outside"
    done
    # Without a table of processes nobody is left as a zombie either, when a command has run again and again.
    : >"$scratch/runs"
    unshare --pid --fork "$ZKL" shards $G/blind 1 --id x -- bash -c 'echo >>"$1/runs"; exec sleep 1000' bash "$scratch" 2>"$scratch/x.err" &
    outside=$!
    remember "$outside"
    for n in 1 2 3; do
        wait_until "without a table: run $n" lines runs $n
        run "$ZKL" revoke $G/blind/shards/0
    done
    wait_until "without a table: run 4" lines runs 4
    host=$(child_of "$outside")
    remember "$host"
    expect_soon "without a table: no zombie is left" "" zombies_of "$(guard_of "$host")"
    kill -TERM "$host"
    status_of "$outside"
else
    skip "no namespaces: a host that is the first process, or sees none"
fi

# The environment; and a command that does not end when it is asked to.
"$ZKL" shards $G/one 1 --id x --drain 0.5 -- bash -c 'trap "" TERM
    "$ZKL" remaining --least 1 >"$1/remains"; env | grep ^ZKL_ | sort >"$1/env.new"; readlink /proc/self/fd/0 >"$1/input"; echo $$ >"$1/pid"; mv "$1/env.new" "$1/env"
    while :; do sleep 0.05; done' bash "$scratch" 2>"$scratch/x.err" &
host=$!
remember "$host"
wait_until "it runs" test -s "$scratch/env"
expect "the environment" "$G/one/shards/0 0 1" "$(sed -nE 's/^ZKL_(SHARDS?|PATH)=//p' "$scratch/env" | paste -sd' ')"
expect_match "and of the lock" "ZKL_NODE=$G/one/shards/0/_c_.*ZKL_SESSION=0x[0-9a-f]+.*ZKL_TOKEN=[0-9]+" "$(paste -sd' ' "$scratch/env")"
expect_match "and for how long it is sure" '^[1-9][0-9]{3,4}$' "$(<"$scratch/remains")"
expect "there is nothing to read" /dev/null "$(<"$scratch/input")"
kill -TERM "$host"
status_of "$host"
expect "--drain: it ends all the same" 143 "$?"
expect "and so has the command" 0 "$(gone "$(<"$scratch/pid")"; echo $?)"
rm "$scratch/env"
"$ZKL" shards $G/one 1 --id x --drain 3600 -c 'trap "" TERM; echo $$ >'"$scratch"'/env; while :; do sleep 0.05; done' 2>"$scratch/x.err" &
host=$!
remember "$host"
wait_until "it runs" test -s "$scratch/env"
kill -TERM "$host"
wait_until "it has heard" listed "" $G/one
insist "a second TERM" TERM "$host" gone "$host"
status_of "$host"
expect "a second TERM does not wait" 143 "$?"

# --on-lost of a guard that is killed is another one's.
"$ZKL" shards $G/lost 1 --id x --on-lost 'echo "$ZKL_LOST $ZKL_SHARD" >>'"$scratch"'/lost' -- sh -c 'echo $$ >"$1"; exec sleep 1000' sh "$scratch/guarded" 2>"$scratch/x.err" &
host=$!
remember "$host"
wait_until "it runs" test -s "$scratch/guarded"
pid=$(<"$scratch/guarded")
guard=$(ps -o ppid= "$pid")
kill -9 "${guard// /}"
wait_until "--on-lost of a killed guard" grep -qx "guard 0" "$scratch/lost"
# shellcheck disable=SC2317
another() { [ "$(<"$scratch/guarded")" != "$pid" ]; }
wait_until "the command runs again" another
expect "--on-lost was run once" 1 "$(wc -l <"$scratch/lost")"
kill -TERM "$host"
status_of "$host"
expect "and ends when it is asked to" 143 "$?"

# A guard that is stopped, and its shard's node is deleted: the host ends the command, and the shard is served again.
"$ZKL" shards --session-timeout 8 $G/stopped 1 --id x -c "echo \$\$ >>$scratch/stopped; exec sleep 1000" 2>"$scratch/x.err" &
host=$!
remember "$host"
wait_until "it runs" test -s "$scratch/stopped"
guard=$(ps -o ppid= "$(<"$scratch/stopped")")
freeze "${guard// /}"
run "$ZKL" break --yes $G/stopped/shards/0
served_again() { [ "$(wc -l <"$scratch/stopped")" -ge 2 ]; }
if wait_until "a stopped guard: served again" served_again; then pass "a stopped guard: its shard is served again"; fi
kill -TERM "$host"
status_of "$host"

# A command that ends.
"$ZKL" shards $G/two 1 --id x -c 'echo >>'"$scratch"'/ends; exit 3' 2>"$scratch/x.err" &
host=$!
remember "$host"
# shellcheck disable=SC2317
twice() { [ "$(wc -l <"$scratch/ends")" -ge 2 ]; }
if wait_until "it is run again" twice; then pass "it is run again"; fi
expect_match "after a pause" "^zkl: $G/two/shards/0: ended with status 3, again in 1 s" "$(<"$scratch/x.err")"
kill -TERM "$host"
status_of "$host"
# What it leaves is waited for if that is wanted: the shard is kept for it, and it is not asked to end.
"$ZKL" shards $G/left 1 --id x --wait-children -- sh -c 'echo began >>"$0/left"
    setsid bash -c "trap \"echo termed >>\$0/left; exit\" TERM; for i in {1..40}; do sleep 0.05; done; echo ended >>\$0/left" "$0" &' \
    "$scratch" 2>"$scratch/x.err" &
host=$!
remember "$host"
# shellcheck disable=SC2317
began_again() { [ "$(wc -l <"$scratch/left")" -ge 3 ]; }
wait_until "--wait-children: it is run again" began_again
expect "--wait-children: the shard is kept for what it has left" "began,ended,began" "$(head -n 3 "$scratch/left" | paste -sd,)"
kill -TERM "$host"
status_of "$host"
run "$ZKL" shards $G/two 4 --id x -- "$scratch/none"
expect_match "no such command" "^127:zkl: $scratch/none: No such file" "$status:$err"
# One that was there is a shard's trouble when it is gone.
cp "$(command -v sleep)" "$scratch/sleep"
: >"$scratch/x.lines"
"$ZKL" shards $G/gone 2 --id x --status-fd 9 -- "$scratch/sleep" 1000 9>>"$scratch/x.lines" 2>"$scratch/x.err" &
host=$!
remember "$host"
# The guards of $host whose commands sleep: a shard is held before its command runs.
guards_at_work() {
    local guard content
    for guard in $(guard_of "$(guard_of "$host")"); do
        read_file "/proc/$(child_of "$guard")/comm" && [ "$content" = sleep ] && echo "$guard"
    done
}
# shellcheck disable=SC2317
at_work() { [ "$(guards_at_work | wc -l)" = "$1" ]; } # NUMBER
wait_until "both are executed" at_work 2
mv "$scratch/sleep" "$scratch/sleep.gone"
run "$ZKL" revoke $G/gone/shards/0
if wait_until "a command that is gone: tried again" grep -qx 'paused 0 127 2' "$scratch/x.lines"; then pass "a command that is gone: tried again"; fi
expect_match "a command that is gone: said" "^zkl: $scratch/sleep: No such file or directory"$'\n'"zkl: $G/gone/shards/0: ended with status 127, again in 1 s" "$(<"$scratch/x.err")"
expect "a command that is gone: the other shard goes on" "" "$(grep '^ended 1' "$scratch/x.lines")"
mv "$scratch/sleep.gone" "$scratch/sleep"
wait_until "a command that is there again" at_work 2
kill -TERM "$host"
status_of "$host"
expect "a command that is gone: the host ends when it is told to" 143 "$?"
run "$ZKL" shards $G/two 4 --id a/b true
expect "an ID that is no name" 64 "$status"
begin_gate
gate cut
"$ZKL" --connect "$gate" --connect-timeout 0.3 shards $G/late 1 --id x -- sleep 1000 2>"$scratch/late.err" &
host=$!
remember "$host"
wait_until "no server: it is told" test -s "$scratch/late.err"
gate heal
if wait_until "no server: when there is one, it is a member" listed x $G/late; then pass "it waits for a server"; fi
kill -TERM "$host"
status_of "$host"
expect "and no longer than it should" 143 "$?"
expect_match "it is told once" "^zkl: [^"$'\n'"]*\$" "$(<"$scratch/late.err")"
"$ZKL" -v --connect 127.0.0.1:1 --connect-timeout 0.3 shards $G 4 true 2>"$scratch/x.err" &
host=$!
remember "$host"
# shellcheck disable=SC2317
tried() { [ "$(grep -c "connecting to" "$scratch/x.err")" -ge 5 ]; }
wait_until "no server: tried five times" tried
read_file "/proc/$host/stat"
read -ra stat <<<"${content##*) }"
worked=$((stat[11] + stat[12])) # hundredths of a second, of more than 5 s
expect "no server: it waits, and does not work" yes "$([ $worked -lt 100 ] && echo yes || echo "$worked")"
kill -TERM "$host"
status_of "$host"
run "$ZKL" --auth digest:me:secret --acl auth::cdrwa lock $G/closed/x true
run "$ZKL" shards $G/closed 4 --id x true
expect "no permission" 77 "$status"
if [ -x "$ADMIN" ]; then
    "$ZKL" --connect "$gate" shards $G/three 1 --id x -- sleep 1000 2>"$scratch/x.err" &
    host=$!
    remember "$host"
    wait_until "it is a member" listed x $G/three
    gate cut
    "$ADMIN" hide $G/three/members
    gate heal
    status_of "$host"
    expect_match "it may not read the members any more" "^77:zkl: $G/three/members: .* read \(r\) is missing" "$?:$(<"$scratch/x.err")"
else
    missing zk-admin "it may not read the members any more"
fi

# One shard's trouble is that shard's.
held() { # NAME COUNT: so many shards were held last
    [ "$(awk '$1 == "held" { on[$2] = 1 } $1 == "ended" { delete on[$2] } END { n = 0; for (k in on) n++; print n }' "$scratch/$1.lines")" = "$2" ]
}
begin_idle() { # NAME PATH N [OPTION...]: a host whose commands sleep
    local name=$1 path=$2 n=$3
    shift 3
    : >"$scratch/$name.lines"
    : >"$scratch/$name.err"
    "$ZKL" shards "$@" --session-timeout 10 "$path" "$n" --id "$name" --status-fd 9 -- sleep 1000 9>>"$scratch/$name.lines" 2>>"$scratch/$name.err" &
    host=$!
    remember "$host"
}
# shellcheck disable=SC2317
measured() { # RUNNING PAUSED: as in the metrics of $G/four
    grep -qxF "zkl_shards_running{path=\"$G/four\"} $1" "$scratch/four.prom" && grep -qxF "zkl_shards_paused{path=\"$G/four\"} $2" "$scratch/four.prom"
}
if [ -x "$ADMIN" ]; then
    for node in $G/four $G/four/shards $G/four/shards/1 $G/four/shards/2; do "$ADMIN" create $node ''; done
    "$ADMIN" create $G/four/shards/1/x-latch-0000000000 ''
    "$ADMIN" readonly $G/four/shards/2
    begin_idle y $G/four 4 --metrics-file "$scratch/four.prom"
    if wait_until "a stray node and a directory to read only: two of four are served" held y 2; then pass "a stray node, a directory to read only"; fi
    wait_until "--status-fd: paused" grep -q '^paused 1 65 ' "$scratch/y.lines"
    wait_until "--status-fd: paused" grep -q '^paused 2 77 ' "$scratch/y.lines"
    if wait_until "--metrics-file: two run, two are paused" measured 2 2; then pass "--metrics-file: paused"; fi
    "$ADMIN" delete $G/four/shards/1/x-latch-0000000000
    if wait_until "the stray node is gone: three" held y 3; then pass "it is tried again"; fi
    expect "each is said once" 2 "$(wc -l <"$scratch/y.err")"
    kill -TERM "$host"
    status_of "$host"
    expect "and the host goes on until it is told to end" 143 "$?"
    expect "--metrics-file: then there is nothing to try" 0 "$(measured 0 0; echo $?)"
else
    missing zk-admin "a stray node, a directory to read only"
fi

# N changes host by host: what another host has otherwise is said, and nothing of one that has come to the same N.
begin_idle x $G/change 2
x=$host
wait_until "all are served" held x 2
begin_idle y $G/change 4
wait_until "another N is said" grep -q 'y shares 4 shards, not 2$' "$scratch/x.err"
kill -TERM "$host"
status_of "$host"
begin_idle y $G/change 2
if wait_until "y has its share of two" held y 1; then pass "N is the same again"; fi
expect "of the same N nothing is said" "zkl: $G/change: y shares 4 shards, not 2" "$(<"$scratch/x.err")"
kill -TERM "$x" "$host"
status_of "$x"
status_of "$host"

# A node that may not be deleted would block its shard for all: the host takes another session.
if [ -x "$ADMIN" ]; then
    begin_idle x $G/eight 4
    wait_until "all are served" held x 4
    "$ADMIN" readonly $G/eight/shards/1
    run "$ZKL" revoke $G/eight/shards/1
    wait_until "said" grep -q "$G/eight/shards/1: the node of a shard that was given up cannot be deleted" "$scratch/x.err"
    wait_until "all are given up" held x 0
    if wait_until "the others are served again" held x 3; then pass "a node that may not be deleted"; fi
    expect "it is gone" "" "$("$ADMIN" list $G/eight/shards/1)"
    kill -TERM "$host"
    status_of "$host"
    # Where its queue may not be read it is not known to be gone.
    "$ZKL" shards --session-timeout 10 $G/sealed 1 --id x -c ': >'"$scratch/sealed; until [ -e $scratch/sealed.go ]; do sleep 0.05; done" 2>"$scratch/x.err" &
    host=$!
    remember "$host"
    wait_until "it is served" test -e "$scratch/sealed"
    "$ADMIN" seal $G/sealed/shards/0
    touch "$scratch/sealed.go"
    if wait_until "nor read" grep -q "$G/sealed/shards/0: the node of a shard that was given up cannot be deleted" "$scratch/x.err"; then
        pass "a node that may not be deleted, nor its queue be read"
    fi
    kill -TERM "$host"
    status_of "$host"
else
    missing zk-admin "a node that may not be deleted"
fi

# A guard cannot be forked. Commands say that they have begun, as a shard is held before.
if stranger_is_limited; then
    "${stranger[@]}" "$ZKL" shards $G/nine 2 --id x --status-fd 9 --on-lost 'echo lost' -c 'echo "$ZKL_SHARD $$"; exec sleep 1000' \
        9>"$scratch/x.lines" >"$scratch/x.out" 2>"$scratch/x.err" &
    host=$!
    remember "$host"
    # shellcheck disable=SC2317
    have_begun() { [ "$(cut -d' ' -f1 "$scratch/x.out" | sort | paste -sd ' ')" = "$1" ]; }
    wait_until "both run" have_begun "0 1"
    zygote=$(guard_of "$host")
    limit_forks "$zygote"
    run "$ZKL" revoke $G/nine/shards/0
    wait_until "no process for a guard: tried three times" grep -qx 'paused 0 70 4' "$scratch/x.lines"
    expect "no process for a guard: never without a pause" "" "$(paste -sd, "$scratch/x.lines" | grep -o 'ended 0 70,held')"
    expect_match "it is said why" "^zkl: $G/nine/shards/0: cannot start the guard: " "$(<"$scratch/x.err")"
    expect "the other one goes on" "held 1" "$(grep -oE '^[a-z]+ 1\b' "$scratch/x.lines")"
    guard=$(ps -o ppid= "$(sed -n 's/^1 //p' "$scratch/x.out")")
    kill -9 "${guard// /}"
    if wait_until "nor is there one for --on-lost" grep -qx 'paused 1 70 1' "$scratch/x.lines"; then pass "nor for --on-lost"; fi
    allow_forks "$zygote"
    if wait_until "when there is one both run" have_begun "0 0 1 1"; then pass "when there is one both run"; fi
    kill -TERM "$host"
    status_of "$host"
    expect "and the host goes on until it is told to end" 143 "$?"
else
    skip "processes cannot be limited: a guard that cannot be forked"
fi

# No descriptor for a guard, at the host or at the process that forks guards: no lock is kept that nobody works under.
guardless() { # WHAT PID
    local what="no descriptor: $1"
    : >"$scratch/x.lines"
    : >"$scratch/x.err"
    prlimit --pid "$2" --nofile=6: # what poll() needs: standard ones, and those that it began with
    run "$ZKL" revoke $G/ten/shards/0
    if wait_until "$what: tried three times" grep -qx 'paused 0 70 4' "$scratch/x.lines"; then pass "$what: tried again and again"; fi
    expect "$what: said once" "zkl: $G/ten/shards/0: cannot start the guard: Too many open files" "$(<"$scratch/x.err")"
    expect_no_node "$what: the lock is free meanwhile" $G/ten/shards/0
    expect "$what: the other one goes on" "" "$(grep -E '^[a-z]+ 1\b' "$scratch/x.lines")"
    if [ "$1" = host ]; then # the zygote needs some to see what a killed guard leaves
        kill -9 "$(guards_at_work)"
        if wait_until "$what: nor for --on-lost" grep -qx 'paused 1 70 1' "$scratch/x.lines"; then pass "$what: nor for --on-lost"; fi
    fi
    prlimit --pid "$2" --nofile="$(prlimit --pid "$2" --nofile --noheadings --output HARD | tr -d ' '):"
    if wait_until "$what: when there is one both run" at_work 2; then pass "$what: when there is one both run"; fi
}
begin_idle x $G/ten 2 --on-lost 'echo lost'
wait_until "both run" at_work 2
guardless host "$host"
guardless zygote "$(guard_of "$host")"
kill -TERM "$host"
status_of "$host"
expect "no descriptor: the host goes on until it is told to end" 143 "$?"

# Before there is a guard a shard is held, and told by its own token.
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "nothing can be loaded before a sanitizer: no guard is forked for a while"
else
    FORKS_FROM=$scratch/forks LD_PRELOAD="$tools/.libs/libslowproc.so${LD_PRELOAD:+:$LD_PRELOAD}" begin_idle x $G/later 1
    wait_until "no guard is forked for a while: held" grep -q ^held "$scratch/x.lines"
    expect "no guard is forked for a while: the token" "held 0 $("$ZKL" ls --json $G/later/shards/0 | sed -nE 's/.*"token": ([0-9]+),.*/\1/p')" \
        "$(grep ^held "$scratch/x.lines")"
    touch "$scratch/forks"
    if wait_until "no guard is forked for a while: its command runs then" at_work 1; then pass "no guard is forked for a while: its command runs then"; fi
    kill -TERM "$host"
    status_of "$host"
fi

# A thread that tells a guard of a doubt, and is slow: the shard does not give the guard's descriptor to somebody else.
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "nothing can be loaded before a sanitizer: a guard is told late"
else
    [ -n "${gate-}" ] || begin_gate
    : >"$scratch/x.lines"
    LATE_NEWS=$scratch/news LD_PRELOAD="$tools/.libs/libslowproc.so${LD_PRELOAD:+:$LD_PRELOAD}" "$ZKL" --connect "$gate" --fixed-servers \
        shards $G/slow 1 --id x --status-fd 9 -- env -u LD_PRELOAD sh -c 'echo $$ >"$1.new"; mv "$1.new" "$1"; until [ -e "$1.end" ]; do sleep 0.05; done' \
        sh "$scratch/doubted" 9>>"$scratch/x.lines" 2>"$scratch/x.err" &
    host=$!
    remember "$host"
    wait_until "told late: it runs" test -e "$scratch/doubted"
    guard=$(ps -o ppid= "$(<"$scratch/doubted")")
    touch "$scratch/news.from"
    gate cut
    wait_until "told late: a thread is about to tell" test -e "$scratch/news.late"
    touch "$scratch/doubted.end"
    wait_until "told late: the guard has ended" gone "${guard// /}"
    for _ in {1..10}; do contenders $G/slow/shards/0 >/dev/null; done # time enough to close the descriptor
    touch "$scratch/news"
    wait_until "told late: it is told" test -e "$scratch/news.sent"
    expect "told late: by the descriptor that was the guard's" "to the same" "$(<"$scratch/news.sent")"
    gate heal
    kill -TERM "$host"
    status_of "$host"
    expect "told late: it ends when it is told to" 143 "$?"
fi

# Rivals who ask and go cost nothing, even when the shard should be another's, who does not ask.
begin_idle x $G/five 8
y=$host
wait_until "all are served" held x 8
for k in {0..7}; do run "$ZKL" lock -w 0.2 $G/five/shards/$k true; done
"$ZKL" member --session-timeout 10 $G/five/members y --data "zkl-shards 8 1" -- sleep 1000 2>"$scratch/m.err" &
host=$!
remember "$host"
wait_until "another is a member" listed "x y" $G/five
"$ZKL" shards --session-timeout 10 $G/five 8 --id z --status-fd 9 -- sleep 1000 9>"$scratch/z.lines" 2>"$scratch/z.err" &
remember "$!"
kill_later="$host $!"
wait_until "a third has what it asks for" grep -q ^held "$scratch/z.lines"
# shellcheck disable=SC2317
all_served() { [ "$("$ZKL" ls -r $G/five/shards | awk 'NR > 1' | wc -l)" = 8 ]; }
if wait_until "no shard is left idle" all_served; then pass "rivals who ask and go"; fi
# shellcheck disable=SC2086
kill -TERM "$y" $kill_later

# A host that is stopped: its commands end at the deadline, and it counts itself as gone.
begin_idle a $G/six 4
a=$host
wait_until "all are served" held a 4
kill -STOP "$a"
begin_idle b $G/six 4
if wait_until "a stopped host's shards are served elsewhere" held b 4; then pass "a host that is stopped"; fi
kill -CONT "$a"
# shellcheck disable=SC2317
shared() { held a 2 && held b 2 || { held a 1 && held b 3; } || { held a 3 && held b 1; }; }
if wait_until "continued it has its part again" shared; then pass "and continued"; fi
kill -TERM "$a" "$host"

# Credentials that are refused for a while, and for long.
if [ -x "$tools/gate" ]; then
    [ -n "${gate-}" ] || begin_gate
    begin_idle a $G/seven 4 --connect "$gate" --auth digest:me:secret
    a=$host
    wait_until "all are served" held a 4
    gate refuse
    wait_until "said" grep -q "refuse the credentials" "$scratch/a.err"
    wait_until "all are given up" held a 0
    gate heal
    if wait_until "in another session all are served again" held a 4; then pass "credentials that are refused for a while"; fi
    gate refuse
    status_of "$a"
    expect "refused for longer than a session timeout" 77 "$?"
    gate heal
else
    missing gate "credentials that are refused"
fi

# A process that stands in for a guard ends the same as the guard would: all, or with --leave-daemons what
# has no session of its own. The command and a child with a group of its own keep a lock while they live.
stand_in() { # WHAT OPTION ATTACK
    local what=$1 option=$2 attack=$3 daemon=0 guard zygote at=$scratch/stand_in x y
    local body='exec 8>>"$1/lock"; flock -n 8 || echo "$2" >>"$1/beside"
        setsid sleep 1000 8>&- & daemon=$!
        set -m; sleep 1000 & echo "$daemon $2 $$" >>"$1/begun"; exec sleep 1000'
    [ -z "$option" ] || daemon=1
    rm -rf "$at"
    mkdir "$at"
    "$ZKL" --fixed-servers --connect "$gate" shards --session-timeout 4 $G/in 1 --id x --drain 1 ${option:+"$option"} -- \
        bash -c "$body" bash "$at" x 2>"$at/x.err" &
    x=$!
    remember "$x"
    wait_until "$what: it runs" test -s "$at/begun"
    guard=$(ps -o ppid= "$(cut -d' ' -f3 "$at/begun")")
    zygote=$(ps -o ppid= "${guard// /}")
    "$ZKL" shards --session-timeout 4 $G/in 1 --id y --drain 1 -- bash -c "$body" bash "$at" y 2>"$at/y.err" &
    y=$!
    remember "$y"
    wait_until "$what: another host is there" listed "x y" $G/in
    "$attack" "${guard// /}" "${zygote// /}"
    # shellcheck disable=SC2317
    next() { [ "$(wc -l <"$at/begun")" -ge 2 ]; }
    if wait_until "$what: it begins again" next; then pass "$what: it begins again"; fi
    expect "$what: and beside nothing of the one before" "" "$(cat "$at/beside" 2>/dev/null)"
    expect "$what: whether its daemon lives" "$daemon" "$(gone "$(head -n 1 "$at/begun" | cut -d' ' -f1)"; echo $?)"
    gate heal
    kill -CONT "${guard// /}" 2>/dev/null
    kill -TERM "$x" "$y" 2>/dev/null
    status_of "$x"
    status_of "$y"
    # Others have ended, and their numbers may be somebody else's.
    [ -z "$option" ] || awk '$2 == "x" { print $1 }' "$at/begun" | xargs kill -9
}
# shellcheck disable=SC2317
kill_both() { kill -9 "$1" "$2"; }
# shellcheck disable=SC2317
kill_guard() { kill -9 "$1"; }
# shellcheck disable=SC2317
kill_zygote() { kill -9 "$2"; }
# shellcheck disable=SC2317
stop_and_cut() {
    kill -STOP "$1"
    gate silence
}
if [ -x "$tools/gate" ]; then
    [ -n "${gate-}" ] || begin_gate
    for option in "" --leave-daemons; do
        stand_in "guard and zygote killed $option" "$option" kill_both
        stand_in "guard killed $option" "$option" kill_guard
        stand_in "zygote killed $option" "$option" kill_zygote
        stand_in "guard stopped, host cut off $option" "$option" stop_and_cut
    done
else
    missing gate "processes that stand in for a guard"
fi

refused "no N" 64 'no N given' shards $G
for n in 0 -1 x 65537 ""; do refused "N: $n" 64 'N: must be' shards $G -- "$n" true; done
refused "no command" 64 'no command' shards $G 4
refused "-n" 64 'unknown option' shards -n $G 4 true
for n in 0 1001 x; do refused "--weight $n" 64 weight shards --weight $n $G 4 true; done
refused "--drain" 64 '--drain' shards --drain soon $G 4 true
refused "--grace" 64 '--grace' shards --grace 20 $G 4 true
run "$ZKL" shards --help
expect_match "--help" '--drain' "$out"
finish
