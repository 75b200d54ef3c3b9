#!/bin/bash
# Barriers, counters and groups of zkl, Curator and kazoo on the same paths: each heeds the others',
# sums are exact, and where one of them does not keep the rules, that shows. ZKL_CELL_SECONDS is how long the
# rounds of barriers and the sums go on.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
begin_peers
seconds=${ZKL_CELL_SECONDS:-2} brief=${ZKL_CELL_SECONDS:-1}
limit=3600000 # ms; the watchdog ends a hang long before

start_lockers 2
"$ADMIN" create /interop ""

# ---- barriers: each closes, and the others wait until it opens ----

# So that each has a connection.
for waiter in zkl2 java2 kazoo2; do
    ask $waiter "bwait /interop/barrier-none $limit"
    expect "one that is not there keeps nobody: $waiter" ok "$answer"
done
for owner in zkl1 java1 kazoo1; do
    path=/interop/barrier-$owner
    ask "$owner" "bset $path"
    expect "$owner closes a barrier" ok "$answer"
    for waiter in zkl2 java2 kazoo2; do
        ask $waiter "bwait $path 100"
        expect "$waiter waits for it" late "$answer"
        tell $waiter "bwait $path $limit"
    done
    ask "$owner" "bremove $path"
    expect "$owner opens it" ok "$answer"
    for waiter in zkl2 java2 kazoo2; do
        hear $waiter
        expect "$waiter goes on" ok "$answer"
    done
    ask zkl2 "bwait $path 0"
    expect "an open one keeps nobody" ok "$answer"
done

has_answered() { # NAME
    read -r -t 0 <&"${from_peer[$1]}"
}

# How many of them have gone on, and should not have, into $early.
count_early() { # NAME...
    local name
    for name; do
        if has_answered "$name"; then early=$((early + 1)); fi
    done
}

# They answer "ok" to what they were told; how many did not, into $wrong.
hear_all() { # NAME...
    local name
    for name; do
        hear "$name"
        [ "$answer" = ok ] || wrong=$((wrong + 1))
    done
}

# One closes, five wait, and it opens: again and again, by turns.
close_and_open() { # PATH SECONDS
    local path=$1 end=$((SECONDS + $2)) all=(zkl1 java1 kazoo1 zkl2 java2 kazoo2) owner others
    rounds=0 early=0 wrong=0
    while ((SECONDS < end || rounds < ${#all[@]})); do
        owner=${all[rounds % ${#all[@]}]}
        others=("${all[@]/$owner/}")
        ask "$owner" "bset $path"
        [ "$answer" = ok ] || wrong=$((wrong + 1))
        # shellcheck disable=SC2068
        for name in ${others[@]}; do tell "$name" "bwait $path $limit"; done
        sleep 0.0$((RANDOM % 5))
        # shellcheck disable=SC2068
        count_early ${others[@]}
        tell "$owner" "bremove $path"
        # shellcheck disable=SC2068
        hear_all "$owner" ${others[@]}
        rounds=$((rounds + 1))
        step
    done
}

close_and_open /interop/rounds "$brief"
expect "six open and close a barrier by turns in $brief s: $rounds rounds, nobody passed it closed" "0 early, 0 wrong" \
    "$early early, $wrong wrong"

# A third party opens one behind its owner's back: so these rounds can tell.
early=0
ask java1 "bset /interop/leaky"
for name in zkl1 zkl2 kazoo1; do tell $name "bwait /interop/leaky $limit"; done
"$ADMIN" delete /interop/leaky
for name in zkl1 zkl2 kazoo1; do wait_until "$name goes on" has_answered $name; done
count_early zkl1 zkl2 kazoo1
expect "whoever passes before the owner has opened it is seen" 3 "$early"
hear_all zkl1 zkl2 kazoo1

# One that nobody opens.
ask java1 "bset /interop/shut"
ask zkl1 "bwait /interop/shut 200"
expect "a barrier that stays closed lets nobody pass" late "$answer"

# ---- groups: each sees the others', and their data ----

# shellcheck disable=SC2317
sees() { # NAME COMMAND ANSWER
    ask "$1" "$2"
    [ "$answer" = "$3" ]
}
expect_seen() { # WHAT NAME COMMAND ANSWER
    if wait_until "$1" sees "$2" "$3" "$4"; then pass "$1"; fi
}

group=/interop/group
ask java1 "gjoin $group java one"
ask zkl1 "gjoin $group zkl two"
expect "zkl joins a group" ok "$answer"
ask java2 "pnode $group node three"
expect "a PersistentNode" ok "$answer"
expect_seen "zkl sees Curator's members" zkl2 "glist $group" "ok java=one,node=three,zkl=two"
expect_seen "Curator sees zkl's member" java1 "glist $group" "ok java=one,node=three,zkl=two"
ask zkl1 "gset $group zkl four"
expect_seen "and its new data" java1 "glist $group" "ok java=one,node=three,zkl=four"
ask zkl1 gleave
expect_seen "and that it has left" java1 "glist $group" "ok java=one,node=three"
ask zkl2 "gjoin $group two x"
ask java1 gleave
ask java2 pdrop
expect_seen "zkl sees them leave" zkl1 "glist $group" "ok two=x"
ask zkl2 gleave

party=/interop/party
ask kazoo1 "pjoin $party kazoo"
ask zkl1 "pjoin $party zkl"
expect "zkl joins a party" ok "$answer"
ask kazoo2 "pjoin $party kazoo"
expect_seen "zkl sees kazoo's members" zkl2 "plist $party" "ok kazoo,kazoo,zkl"
expect_seen "kazoo sees zkl's member" kazoo1 "plist $party" "ok kazoo,kazoo,zkl"
ask zkl1 gleave
expect_seen "and that it has left" kazoo2 "plist $party" "ok kazoo,kazoo"
ask kazoo1 gleave
ask kazoo2 gleave
expect_seen "zkl sees them leave" zkl1 "plist $party" ok

# ---- double barriers: together in, together out ----

meet() { # NAME...
    local name path=/interop/double-${*// /-}
    path=${path// /-}
    for name in "${@:1:$#-1}"; do
        tell "$name" "denter $path $# $limit"
        wait_until "$name is there" has_members "$path" "$name" "$@" || finish
    done
    name=${*: -1}
    tell "$name" "denter $path $# $limit"
    for name; do
        hear "$name"
        expect "$*: $name enters" ok "$answer"
    done
    for name; do tell "$name" "dleave $limit"; done
    for name; do
        hear "$name"
        expect "$*: $name leaves" ok "$answer"
    done
    expect_empty "$*: nothing is left" "$path"
}

# As many as have been told up to NAME.
# shellcheck disable=SC2317
has_members() { # PATH NAME ALL...
    local path=$1 name=$2 n=1
    shift 2
    while [ "$1" != "$name" ]; do
        shift
        n=$((n + 1))
    done
    [ "$("$ADMIN" list "$path" 2>/dev/null | wc -w)" -eq $n ]
}

meet zkl1 zkl2
meet zkl1 zkl2 java1
meet java1 zkl1
meet zkl1 java1
meet java1 java2 zkl1
meet zkl1 kazoo1
meet kazoo1 zkl1

# Rounds at one path, one behind the other; who comes last, and who leaves last, is drawn each time. Nobody
# is inside before the last has come, nor out before the last leaves.
meet_often() { # PATH SECONDS NAME...
    local path=$1 end=$((SECONDS + $2)) all last first
    shift 2
    rounds=0 early=0 wrong=0
    while ((SECONDS < end || rounds < 3)); do
        for verb in "denter $path $#" dleave; do
            mapfile -t all < <(shuf -e "$@")
            first=("${all[@]:1}") last=${all[0]}
            for name in "${first[@]}"; do tell "$name" "$verb $limit"; done
            sleep 0.0$((RANDOM % 5))
            count_early "${first[@]}"
            tell "$last" "$verb $limit"
            hear_all "$@"
        done
        rounds=$((rounds + 1))
        step
    done
    expect "$* meet in $brief s: $rounds rounds, together in and together out" "0 early, 0 wrong" \
        "$early early, $wrong wrong"
    expect_empty "and leave nothing" "$path"
}

meet_often /interop/often-ours "$brief" zkl1 zkl2
meet_often /interop/often "$brief" zkl1 java1 zkl2 java2
meet_often /interop/often-kazoo "$brief" zkl1 kazoo1

# Alone nobody of ours enters, whatever was left there; Curator passes by what it finds, and kazoo counts it.
ask zkl1 "denter /interop/alone 2 300"
expect "zkl does not enter alone" late "$answer"
expect_empty "and leaves nothing" /interop/alone
"$ADMIN" create /interop/alone/ready ""
ask zkl1 "denter /interop/alone 2 300"
expect "zkl does not enter by a ready of before" late "$answer"
early=0
tell java1 "denter /interop/alone 2 300"
wait_until "Curator enters" has_answered java1
count_early java1
hear java1
expect "Curator does: so these rounds can tell" "ok 1" "$answer $early"
ask java1 "dleave $limit"
"$ADMIN" create /interop/alone-kazoo ""
"$ADMIN" create /interop/alone-kazoo/ready ""
ask kazoo1 "denter /interop/alone-kazoo 2 $limit"
expect "kazoo counts such a ready as a member" ok "$answer"
ask kazoo1 "dleave $limit"

# ---- counters: no increment is lost ----

sum() { # WIDTH PATH NAME...
    local width=$1 path=$2 name total=0
    shift 2
    for name; do tell "$name" "add $path $width $seconds"; done
    for name; do
        hear "$name"
        [[ $answer =~ ^ok\ ([0-9]+)$ ]] || fail "$name adds" "$answer"
        total=$((total + BASH_REMATCH[1]))
        ((BASH_REMATCH[1] > 0)) || fail "$name adds something" "$answer"
    done
    read_number "$path"
    expect "$width bytes, $*: $total increments in $seconds s, all there" "$total" "$number"
}

read_number() { # PATH
    ask kazoo1 "number $1"
    number=${answer#ok }
}

sum 4 /interop/count4 zkl1 zkl2 java1 java2 kazoo1 kazoo2
sum 8 /interop/count8 zkl1 zkl2 java1 java2

# A counter that is read and written in two steps loses some, sooner or later: so the sum can tell.
number=0 total=0
while ((number == total)) && ! is_late; do
    for name in zkl1 zkl2; do tell $name "blind /interop/blind 8 1"; done
    for name in zkl1 zkl2; do
        hear $name
        total=$((total + ${answer#ok }))
    done
    read_number /interop/blind
done
expect "in two steps increments are lost" 1 "$((number < total))"
expect_quiet
end_peers
finish
