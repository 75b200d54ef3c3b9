#!/bin/bash
# A candidate of zkl's, of Curator's LeaderSelector and of kazoo's Election, renamed, lead in turns on
# one path, and all see the same line.
# shellcheck disable=SC2016,SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
begin_peers
L=/interop/selectors
stamps=$scratch/stamps
rounds=6 # of three terms
: >"$stamps"

begin_zkl() {
    rm -f "$scratch/quit"
    "$ZKL" elect $L zkl --layout selector -- bash -c '
        echo start zkl >>"$1"
        until [ -e "$2" ]; do sleep 0.05; done
        echo end zkl >>"$1"' bash "$stamps" "$scratch/quit" 2>"$scratch/zkl.err" &
    zkl=$!
    remember "$zkl"
}

# The one that leads gives up, and comes back at the end of the line.
pass_on() { # LEADER
    if [ "$1" = zkl ]; then
        touch "$scratch/quit"
        status_of "$zkl"
        expect "zkl's term ends" 0 "$?"
        begin_zkl
    else
        ask "$1" resign
        ask "$1" start
        expect "$1 is in line again" ok "$answer"
    fi
}

# shellcheck disable=SC2317
has_started() { # LEADER TERM
    [ "$(tail -n 1 "$stamps")" = "start $1" ] && [ "$(grep -cx "start $1" "$stamps")" -eq "$2" ]
}

look() { # FIRST SECOND THIRD
    local name
    wait_until "three in line" has_contenders $L 3
    for name in curator kazoo; do
        ask $name line
        expect "$name sees the line" "*$1 $2 $3" "$answer"
        ask $name leader
        expect "$name sees $1 lead" "$1" "$answer"
    done
    run "$ZKL" elect --leader --layout selector $L
    expect "zkl sees $1 lead" "0:$1" "$status:$out"
}

start_peer curator selector $L curator "$stamps"
start_kazoo kazoo election $L kazoo "$stamps"
ask curator start
ask curator await
expect "curator leads" leads "$answer"
ask kazoo start
wait_until "kazoo is in line" has_contenders $L 2
begin_zkl
line=(curator kazoo zkl)
for ((round = 1; round <= rounds; round++)); do
    for _ in 1 2 3; do
        wait_until "round $round: ${line[0]} leads" has_started "${line[0]}" $round || finish
        look "${line[@]}"
        pass_on "${line[0]}"
        line=("${line[@]:1}" "${line[0]}")
    done
done
for name in curator kazoo; do
    wait_until "$name leads a last time" has_started $name $((rounds + 1))
    ask $name resign
done
touch "$scratch/quit"
status_of "$zkl"
expect "zkl ends" 0 "$?"
turns=$(for ((i = 0; i <= rounds; i++)); do printf '%s curator\n' start end; printf '%s kazoo\n' start end; printf '%s zkl\n' start end; done)
expect "one after the other, in $((3 * rounds + 3)) terms" "$turns" "$(<"$stamps")"
expect_quiet
end_peers
expect_no_node "nothing is left" $L
finish
