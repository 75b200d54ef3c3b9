#!/bin/bash
# What other programs leave below a lock's path: zkl waits for what is a lock, whatever it contains,
# and for nothing else.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
begin_peers

starts_with() { # ANSWER WORD
    [[ $1 = "$2 "* ]] && echo "$2"
}

# A zkl that waits has the lock as soon as the node is gone, and not before.
waits_for() { # WHAT PATH NODE
    ask zkl1 "try $2 zkl"
    expect "$1: zkl does not pass" busy "$answer"
    [ "$answer" = busy ] || finish
    tell zkl1 "hold $2 zkl"
    wait_until "$1: zkl queues" has_contenders "$2" 2
    run "$ZKL" ls --json "$2"
    expect "$1: zkl is second" "0:1" "$status:$(grep -c '"position": 1, "state": "waiting"' "$scratch/out")"
    "$ADMIN" delete "$3"
    hear zkl1
    expect "$1: zkl holds when it is gone" ok "$(starts_with "$answer" ok)"
    ask zkl1 release
    expect_no_node "$1: nothing is left" "$2"
}

start_peer java1 locks
start_kazoo kazoo1 locks
start_zkl zkl1
start_zkl zkl2
"$ADMIN" create /interop ""

# No locks.
L=/interop/children
"$ADMIN" create $L ""
for name in 0 1 0000000000 unlock lock lock- lock-1 lock-00000000x1 'other text' _c_; do
    "$ADMIN" create "$L/$name" ""
done
ask zkl1 "try $L zkl"
expect "zkl passes by what is no lock" ok "$(starts_with "$answer" ok)"
ask zkl1 "list $L zkl"
expect "and lists itself alone" 2 "$(wc -w <<<"$answer")"
ask zkl2 "try $L zkl"
expect "others see it all the same" busy "$answer"
ask zkl1 release
expect "it lets go" ok "$answer"
ask zkl2 "hold $L zkl"
expect "and another comes" ok "$(starts_with "$answer" ok)"
ask zkl2 release

# A lock that outlives its session.
for kind in kazoo kazoo-curator; do
    L=/interop/persistent_$kind
    start_kazoo maker locks
    maker=$peer
    ask maker "persist $L $kind"
    read -r _ _ node <<<"$answer"
    end_peer maker
    status_of "$maker"
    rm "$scratch"/maker.*
    waits_for "$kind's persistent node" $L "$node"
done

# Whatever is in it.
i=0
while read -r what data; do
    i=$((i + 1)) L=/interop/payload$i
    "$ADMIN" create $L ""
    "$ADMIN" create "$L/_c_7d6a4a0e-2c26-4c5b-9a3e-0f5a8c1d2e3f-lock-0000000000" "$data"
    run "$ZKL" ls $L
    expect "a payload that is $what: zkl ls shows it" "0:2" "$status:$(wc -l <"$scratch/out")"
    run "$ZKL" ls --json $L
    owner=$("$python" -c 'import json, sys; [c] = json.load(sys.stdin); print(type(c["owner"]).__name__)' <"$scratch/out")
    expect "a payload that is $what: as JSON too" "0:str" "$status:$owner"
    waits_for "a payload that is $what" $L "$L/_c_7d6a4a0e-2c26-4c5b-9a3e-0f5a8c1d2e3f-lock-0000000000"
done <<'P'
nothing
an-address 192.0.2.7
a-revocation __REVOKE__
JSON {"version": 1, "holder": "me", "end": null}
binary \001\377\200\033[2J\n\r
WriteLock's \0224
P

# Curator's revoker overwrites the node of a holder.
is_asked() { # PEER
    ask "$1" asked
    [ "$answer" = "ok 1" ]
}
L=/interop/revoked
ask zkl1 "hold $L zkl"
read -r _ _ node <<<"$answer"
ask zkl1 heed
expect "zkl wants to hear of it" ok "$answer"
ask java1 "revoke $node"
expect "Curator revokes" ok "$answer"
wait_until "zkl hears it" is_asked zkl1
run "$ZKL" ls --json $L
expect "zkl ls shows it" "0:1" "$status:$(grep -c '"owner": "__REVOKE__"' "$scratch/out")"
for data in first second; do
    ask zkl1 "fenced /interop/$data $data"
    expect "a $data fenced transaction goes through" ok "$answer"
done
expect "and has made its nodes" $'first\nsecond' "$("$ADMIN" list /interop | grep -x 'first\|second')"
ask zkl1 state
expect "the grant stays" "ok HELD" "$answer"
ask zkl1 asked
expect "asked once" "ok 1" "$answer"
ask java1 "try $L curator"
expect "also for Curator" busy "$answer"
ask zkl1 release
expect "it lets go" ok "$answer"
expect_no_node "nothing is left" $L

# Before anybody wants to hear of it, of a lock that retains.
ask zkl1 "hold $L zkl-retain"
read -r _ _ node <<<"$answer"
ask java1 "revoke $node"
ask zkl1 heed
wait_until "zkl hears what was there before" is_asked zkl1
ask zkl1 release
expect_no_node "and lets go" $L

# The other way round: of Curator's locks the revocable ones listen.
for kind in curator-revocable curator; do
    ask java1 "hold $L $kind"
    read -r _ _ node <<<"$answer"
    run "$ZKL" revoke $L
    expect_match "zkl revokes $kind" "^0:.* curator .* ${node##*/}\$" "$status:$out"
    [ $kind = curator ] || wait_until "it hears" is_asked java1
    run "$ZKL" revoke $L "${node##*/}"
    expect_match "by its name, too" "^0:.*\(asked to revoke\) +${node##*/}\$" "$status:$out"
    ask zkl1 "try $L zkl"
    expect "nothing is forced" busy "$answer"
    ask java1 release
    expect "$kind lets go" ok "$answer"
    expect_no_node "$kind: nothing is left" $L
done
end_peers
finish
