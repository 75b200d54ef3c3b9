#!/bin/bash
# A candidate of Curator's and zkl elect lead in turns, at a LeaderLatch and at a LeaderSelector:
# each sees the other, its id, and its end.
# shellcheck disable=SC2016,SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
server_options=(--tick 200)
need_curator
need_server
begin
build_peer
export PEER_SESSION_MS=20000 # longer than a machine stands still
rounds=20

# The command of each term says when it begins and ends, in the file of all leaders.
run_ours() { # PATH LAYOUT
    rm -f "$scratch/quit"
    "$ZKL" elect "$1" ours --layout "$2" -- bash -c '
        trap "exit 0" TERM
        trap "echo end ours >>$1/stamps" EXIT
        echo start ours >>$1/stamps
        until [ -e "$1/quit" ]; do sleep 0.05; done' bash "$scratch" 2>"$scratch/ours.err" &
    ours=$!
    remember "$ours"
}

# By turns: its command ends, or zkl is told to.
resign_ours() { # ROUND
    if (($1 % 4 == 0)); then touch "$scratch/quit"; else kill -TERM "$ours"; fi
    status_of "$ours"
}

# shellcheck disable=SC2317
has_terms() { # ID NUMBER
    [ "$(grep -cx "start $1" "$scratch/stamps")" -ge "$2" ]
}

# ROUND begins: LEADER leads, OTHER is in line behind it.
look() { # ROUND PATH LAYOUT LEADER OTHER
    wait_until "round $1: two in line" has_contenders "$2" 2 || return 1
    ask theirs leader
    expect "round $1: Curator sees $4 lead" "$4" "$answer"
    ask theirs line
    expect "round $1: Curator sees the line" "*$4 $5" "$answer"
    run "$ZKL" elect --leader --layout "$3" "$2"
    expect "round $1: zkl sees $4 lead" "0:$4" "$status:$out"
}

# Theirs leads; it gives up and ours leads, then the reverse; who gave up is in line again.
two_rounds() { # ROUND PATH LAYOUT
    look "$1" "$2" "$3" theirs ours || return 1
    ask theirs resign
    wait_until "round $1: ours leads" has_terms ours $((($1 + 2) / 2)) || return 1
    ask theirs start
    expect "round $1: theirs is in line again" ok "$answer"

    look $(($1 + 1)) "$2" "$3" ours theirs || return 1
    resign_ours "$1"
    expect "round $(($1 + 1)): ours ended" 0 "$?"
    ask theirs await
    expect "round $(($1 + 1)): theirs leads" leads "$answer"
    [ "$answer" = leads ] || return 1
    run_ours "$2" "$3"
}

# What the file of all leaders must be.
terms() {
    local i
    for ((i = 0; i < rounds / 2; i++)); do printf '%s theirs\n' start end; printf '%s ours\n' start end; done
}

alternate() { # LAYOUT
    local path=/interop/$1 round
    : >"$scratch/stamps"
    start_peer theirs "$1" "$path" theirs "$scratch/stamps"
    ask theirs start
    expect "$1: theirs campaigns" ok "$answer"
    ask theirs await
    expect "$1: theirs leads" leads "$answer"
    run_ours "$path" "$1"
    for ((round = 0; round < rounds; round += 2)); do
        two_rounds "$round" "$path" "$1" || break
    done
    # Not before it is zkl: a shell that has just forked may swallow a signal, or end the script's others.
    wait_until "$1: ours is in line" has_contenders "$path" 2
    kill -TERM "$ours"
    status_of "$ours"
    ask theirs resign
    end_peer theirs
    status_of "$peer"
    expect "$1: theirs ends" 0 "$?"
    expect "$1: one after the other, in $rounds terms and the last" "$(terms; printf '%s theirs\n' start end)" "$(<"$scratch/stamps")"
    expect "$1: Curator logged no error" "" "$(<"$scratch/theirs.err")"
    expect_no_node "$1: nothing is left" "$path"
    rm "$scratch"/theirs.*
}

alternate latch
alternate selector
finish
