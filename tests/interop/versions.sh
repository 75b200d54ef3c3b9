#!/bin/bash
# Versions of zkl beside each other, as docs/stability.md promises for a rolling upgrade. The pretended ones of
# versions.txt take part in each recipe, or are refused with a sentence, and what breaks the promise is seen. "./dev versions"
# and "./dev soak" have more: with ZKL_FORMER, the folder of a build of a former version, that takes part, too; and with
# ZKL_FLEET_SECONDS whole fleets become the other version and again what they were, one by one and under
# faults. ZKL_FLEET_SEED is what is drawn, ZKL_CELL_SECONDS for how long two versions contend. ZKL_PARTS chooses parts, a
# pattern of the functions here and their arguments.
# shellcheck disable=SC2016,SC2154,SC2317
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
# shellcheck source=tests/interop/pretend.sh
. "$(dirname "$0")/pretend.sh"
server_options=(--tick 200)
can_pretend || finish
need_server
begin
python=python3
declare -f gone >"$scratch/gone"
seed=${ZKL_FLEET_SEED:-1} limit=3600000 # ms; the watchdog ends a hang long before

# Processes of this version, which have odd numbers, and of another.
begin_peers_of() { # VERSION COUNT
    local i
    zkl_peers=("$pretended/$1/zkl-peer" "$pretended/this/zkl-peer")
    for ((i = 1; i <= $2; i++)); do start_zkl "zkl$i"; done
}

end_peers_of() {
    end_peers
    rm "$scratch"/zkl*.{in,out,err}
}

part() { # FUNCTION ARG...
    [[ ! $* =~ ${ZKL_PARTS-} ]] || "$@"
}

# ---- what may be beside this version ----

# Processes of both versions, one each for each kind, exclude each other.
exclude() { # VERSION KIND...
    contend "${ZKL_CELL_SECONDS:-1}" "${@:2}"
    expect_match "$1: ${*:2}, one of each version: excluded each other" '^0:[0-9]+ increments, 0 lost, 0 overlaps' "$status:$out"
    ((errors == 0)) || err=$(tail -qn 2 "$scratch"/zkl*.err)
    expect "$1: no error" 0 "$errors"
    echo "    $out"
}

contend_with() { # VERSION
    begin_peers_of "$1" 6
    exclude "$1" zkl
    exclude "$1" zkl-kazoo
    exclude "$1" zkl-retain
    exclude "$1" zkl zkl-retain zkl-kazoo
    exclude "$1" zkl-multi zkl
    exclude "$1" zkl-read zkl-read zkl-write
    exclude "$1" zkl-numbered zkl-numbered
    exclude "$1" zkl-own-permit4x2 zkl-own-permit4x2
    exclude "$1" zkl-permit3 zkl-permit3 zkl-permit3
    end_peers_of
}

# One version closes a barrier for which the other waits; both meet, add to one counter, and see each other's members.
share_with() { # VERSION
    local path=/interop/$1 name other
    begin_peers_of "$1" 2
    for name in zkl1 zkl2; do
        ask $name "bwait $path-none $limit"
        expect "$1: $name has a connection, and nothing to wait for" ok "$answer"
    done
    for name in zkl1 zkl2; do
        other=zkl$((3 - ${name#zkl}))
        ask $name "bset $path-barrier"
        ask $other "bwait $path-barrier 300"
        expect "$1: $other waits at the barrier of $name" late "$answer"
        tell $other "bwait $path-barrier $limit"
        ask $name "bremove $path-barrier"
        hear $other
        expect "$1: and goes on when it is open" ok "$answer"
        tell $name "denter $path-$name 2 $limit"
        wait_until "$1: $name is there" has_children 1 "$path-$name"
        ask $other "denter $path-$name 2 $limit"
        expect "$1: $other is the last to come" ok "$answer"
        hear $name
        expect "$1: so $name enters" ok "$answer"
        tell $name "dleave $limit"
        ask $other "dleave $limit"
        expect "$1: $other leaves" ok "$answer"
        hear $name
        expect "$1: $name leaves" ok "$answer"
        ask $name "gjoin $path-group $name of-$name"
    done
    for name in zkl1 zkl2; do
        expect_answer "$1: $name sees both members" $name "glist $path-group" "ok zkl1=of-zkl1,zkl2=of-zkl2"
    done
    for name in zkl1 zkl2; do ask $name "pjoin $path-party $name"; done
    for name in zkl1 zkl2; do
        expect_answer "$1: $name sees the party" $name "plist $path-party" "ok zkl1,zkl2"
    done
    for name in zkl1 zkl2; do tell $name "add $path-count 8 0"; done
    for name in zkl1 zkl2; do hear $name; done
    for name in zkl1 zkl2; do
        ask $name "number $path-count"
        expect "$1: $name reads what both have added" "ok 2" "$answer"
    done
    end_peers_of
}

has_children() { # NUMBER PATH
    [ "$("$ADMIN" list "$2" | wc -l)" = "$1" ]
}
answers() { # NAME COMMAND ANSWER
    ask "$1" "$2"
    [ "$answer" = "$3" ]
}
expect_answer() { # WHAT NAME COMMAND ANSWER
    if wait_until "$1" answers "$2" "$3" "$4"; then pass "$1"; fi
}

# Candidates of both versions lead by turns, and both versions see who does.
lead_with() { # VERSION
    local path=/interop/$1-lead first second
    ZKL=$pretended/this/zkl lead "$path" a
    first=$candidate
    wait_until "$1: a leads" has_led a 1 || return
    ZKL=$pretended/$1/zkl lead "$path" b
    second=$candidate
    hand_over "$1" "$path" a "$first" b || return
    ZKL=$pretended/this/zkl lead "$path" a
    first=$candidate
    hand_over "$1" "$path" b "$second" a || return
    kill -TERM "$first"
    status_of "$first"
    expect_no_node "$1: no candidate is left" "$path"
}

hand_over() { # VERSION PATH LEADER PROCESS NEXT
    local zkl token
    wait_until "$1: $5 is in line" has_contenders "$2" 2 || return
    for zkl in this "$1"; do
        run "$pretended/$zkl/zkl" elect --leader "$2"
        expect "$1: $3 leads, for $zkl" "0:$3" "$status:$out"
    done
    token=$(cut -d' ' -f2 "$scratch/$3.terms")
    kill -TERM "$4"
    status_of "$4"
    wait_until "$1: $5 leads after $3" has_led "$5" 1 || return
    expect "$1: with a higher token" 1 "$(($(cut -d' ' -f2 "$scratch/$5.terms") > token))"
}

# The zkl that holds is killed: its guard ends the command before the other version has the lock.
guard_with() { # VERSION
    local path=/interop/$1-guard one next
    for one in "this $1" "$1 this"; do
        ZKL=$pretended/${one% *}/zkl hold "$path" --session-timeout 10 || return
        "$pretended/${one#* }/zkl" lock "$path" bash -c '. "$1"; gone "$2" || echo lives' bash "$scratch/gone" "$command" \
            >"$scratch/seen" &
        next=$!
        remember "$next" "$command"
        wait_until "$one: the next one queues" has_contenders "$path" 2
        kill -9 "$holder"
        status_of "$next"
        expect "$one: the guard of a killed holder is in time for the other version" "0:" "$?:$(<"$scratch/seen")"
    done
}

once_with() { # VERSION
    local one path
    for one in "this $1" "$1 this"; do
        path=/interop/once-${one/ /-}
        run "$pretended/${one% *}/zkl" once --every 1h "$path" -- echo ran
        expect "$one: runs what is due" "0:ran" "$status:$out"
        run "$pretended/${one#* }/zkl" once --every 1h "$path" -- echo ran
        expect "$one: and the other does not run it again" "0::" "$status:$out:$err"
    done
}

# A host of shards; its commands say in $scratch/shards who runs which, and whether two did at once.
begin_host() { # VERSION ID
    "$pretended/$1/zkl" shards /interop/shards 8 --id "$2" -- "$top_builddir/tests/live/shard-command" "$scratch/shards" "$2" \
        2>>"$scratch/$2.err" &
    host=$!
    remember "$host"
}

are_with() { # HOSTS: one for each shard, as tests/cli/shards.sh knows the plan
    local k
    for ((k = 0; k < ${#1}; k++)); do
        [[ $(tail -n 1 "$scratch/shards/$k" 2>/dev/null) = "${1:k:1} "* ]] || return 1
    done
}

# Both compute one plan; and each host becomes the other version.
shard_with() { # VERSION
    local a c
    mkdir "$scratch/shards"
    begin_host this a
    a=$host
    begin_host "$1" c
    c=$host
    if wait_until "$1: two versions share out the shards" are_with acacacaa; then pass "$1: one plan"; fi
    kill -TERM "$a"
    status_of "$a"
    wait_until "$1: the other one has them all" are_with cccccccc
    begin_host "$1" a
    a=$host
    wait_until "$1: both are the other version" are_with acacacaa
    kill -TERM "$c"
    status_of "$c"
    begin_host this c
    c=$host
    if wait_until "$1: the versions are exchanged" are_with acacacaa; then pass "$1: still one plan"; fi
    kill -TERM "$a" "$c"
    status_of "$a"
    status_of "$c"
    expect "$1: no shard was worked on twice" "" "$(cat "$scratch/shards/overlaps" 2>/dev/null)"
    rm -rf "$scratch/shards"
}

meet() { # VERSION
    part share_with "$1"
    part lead_with "$1"
    part guard_with "$1"
    part once_with "$1"
    part shard_with "$1"
}

# Programs of both versions, with the libraries of both, and an option that one of them has.
options() {
    local library note program wanted what libraries=("$top_builddir/lib/.libs" "$pretended/next/made")
    local programs=("$top_builddir/tests/interop/.libs/zkl-peer" "$pretended/next/made/zkl-peer")
    while read -r program library note wanted what; do
        start_program zkl1 env "$note" LD_LIBRARY_PATH="${libraries[library]}" "${programs[program]}" "$ZKL_CONNECT" locks
        ask zkl1 "try /interop/option zkl"
        expect_match "$what" "^$wanted" "$answer"
        end_peers_of
    done <<'O'
0 1 -uPEER_NOTE ok a program of this version with the library of the next one
1 0 -uPEER_NOTE ok a program of the next version with this library
1 1 PEER_NOTE=1 ok the next version knows its option
1 0 PEER_NOTE=1 error:.invalid this library refuses an option that it does not know
O
}

# The package for Python of one version, with the library of another that is not older.
package() { # WHAT SOURCE LIBRARY
    local modules=$scratch/modules
    command -v python3 >/dev/null || {
        missing python3
        return
    }
    rm -rf "$modules" && mkdir "$modules" && cp -r "$2/python/zkl" "$modules" && chmod -R u+w "$modules"
    python3 -B "$2/python/declarations.py" "$2" >"$modules/zkl/_c.py"
    run env PYTHONPATH="$modules" ZKL_LIBRARY="$3" python3 -B -c '
import sys, zkl
with zkl.Session(sys.argv[1]) as session, zkl.Election(session, "/interop/package-election", "me") as election:
    with zkl.Mutex(session, "/interop/package").hold() as grant:
        print(grant.state.name, session.stats().held, election.status().ahead)' "$ZKL_CONNECT"
    expect "$1" "0:HELD 1 -1:" "$status:$out:$err"
}

# ---- what must be refused ----

# This version refuses the other one's lock with a sentence, and the other one waits for this version's.
refuse() { # VERSION KIND
    local path=/interop/$1
    begin_peers_of "$1" 2
    ask zkl2 "hold $path $2"
    expect_match "$1: holds" "^ok " "$answer"
    refused "$1: a try is refused" 65 'is of a later version of zkl$' lock -n "$path" true
    refused "$1: who would wait is refused, too" 65 'is of a later version of zkl$' lock "$path" true
    ask zkl1 "hold $path $2"
    expect_match "$1: so is a program" ' of an incompatible recipe$' "$answer"
    ask zkl2 release
    ask zkl1 "hold $path-2 $2"
    ask zkl2 "try $path-2 $2"
    expect "$1: waits for this version" busy "$answer"
    ask zkl1 release
    end_peers_of
}

refuse_record() { # VERSION
    local path=/interop/$1
    run "$pretended/$1/zkl" once "$path" -- echo ran
    expect "$1: runs it" "0:ran" "$status:$out"
    refused "$1: nothing runs a second time" 65 'its data are no record of a run$' once "$path" -- echo ran
}

refuse_round() { # VERSION
    local path=/interop/$1
    begin_peers_of "$1" 2
    tell zkl1 "denter $path 2 $limit"
    wait_until "$1: one is there" has_children 1 "$path"
    ask zkl2 "denter $path 2 $limit"
    hear zkl1
    expect_match "$1: nobody enters by a round of a later version" ' of an incompatible recipe$' "$answer"
    end_peers_of
}

# ---- what breaks the promise ----

# The judge of the cells sees what two processes of each version did. By chance all may go well: then they do it again.
see() { # VERSION REGEX KIND...
    local tries least=20
    begin_peers_of "$1" 4
    for ((tries = 1; tries <= 30; tries++)); do
        contend 0 "${@:3}"
        [[ ! $out =~ $2 ]] || break
    done
    expect_match "$1 is seen" "$2" "$out"
    echo "    ${out//$'\n'/, } in try $tries"
    end_peers_of
}

see_record() { # VERSION
    local path=/interop/$1
    run "$pretended/$1/zkl" once "$path" -- echo ran
    run "$ZKL" once "$path" -- echo ran
    expect "$1 is seen: it runs twice" "0:ran" "$status:$out"
}

# ---- fleets ----

# A program with servers of its own; its output is in $out, its end in $status.
play() { # COMMAND...
    "$@" >"$scratch/play" 2>&1 </dev/null &
    remember $!
    wait $!
    status=$?
    out=$(<"$scratch/play")
}

# All workers begin as that version, become this one, and are again what they were.
roll() { # VERSION
    local line
    play "$top_builddir/tests/live/faults/campaign" --recipe fleet --seed "$seed" --nodes 3 --seconds "$ZKL_FLEET_SECONDS" \
        --grants 20 --worker "$pretended/$1/zkl-worker" --other-worker "$pretended/this/zkl-worker"
    while IFS= read -r line; do
        case $line in
        "ok: "*) pass "$1: ${line#ok: }" ;;
        "FAILED: "*) fail "$1: ${line#FAILED: }" ;;
        *) echo "$line" ;;
        esac
    done <<<"$out"
    expect "$1: a fleet there and back" 0 "$status"
    # With a minute or more it would time each way in which a shard moves, too.
    play env ZKL="$pretended/this/zkl" ZKL_OTHER="$pretended/$1/zkl" "$top_builddir/tests/live/shards" --seed "$seed" \
        --seconds "$((ZKL_FLEET_SECONDS < 60 ? ZKL_FLEET_SECONDS : 59))"
    echo "$out"
    expect "$1: hosts of shards there and back" 0 "$status"
}

see_fleet() { # VERSION
    play "$top_builddir/tests/live/faults/campaign" --recipe mutex --seed "$seed" --nodes 1 --seconds 5 --grants 1 \
        --worker "$pretended/this/zkl-worker" --other-worker "$pretended/$1/zkl-worker"
    expect_match "$1: is seen in a fleet" 'FAILED: V1 no two owners at once' "$out"
    echo "    $(grep -E '^  overlaps' <<<"$out")"
}

pretend next next-{word,mark,retained,record,round} break-{form,order,token,mark,record}
"$ADMIN" create /interop ""
export PEER_SESSION_MS=20000 # longer than a machine stands still
meet next
part options
part package "the package for Python with the library of the next version" "$top_srcdir" "$pretended/next/made/libzkl.so.0"
part refuse next-word zkl
part refuse next-mark zkl
part refuse next-retained zkl-retain
part refuse_record next-record
part refuse_round next-round
part see break-form ' [1-9][0-9]* overlaps' zkl zkl
part see break-order ' [1-9][0-9]* overlaps' zkl zkl
part see break-token ' tokens do not rise' zkl zkl
part see break-mark ' permits were taken at once' zkl-own-permit4x2 zkl-own-permit4x2
part see_record break-record
if [ -n "${ZKL_FORMER-}" ]; then
    make_starters former "$ZKL_FORMER/lib/.libs" "$ZKL_FORMER/tools/.libs/zkl" "$top_builddir/tests/interop/.libs/zkl-peer"
    meet former
    contend_with former
    package "the former version's package with this library" "$ZKL_FORMER/source" "$top_builddir/lib/.libs/libzkl.so.0"
fi
if [ -n "${ZKL_FLEET_SECONDS-}" ]; then
    contend_with next
    roll next
    if [ -n "${ZKL_FORMER-}" ]; then roll former; else skip "the former version, which is not here"; fi
    see_fleet break-form
    see_fleet break-order
fi
finish
