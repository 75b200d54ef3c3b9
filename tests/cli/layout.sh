#!/bin/bash
# Children of other layouts and libraries: --peer, elect --layout, and what ls says.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
reap_ms=100
need_server
begin
L=/cli/layout
UUID=0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e
HEX=5f0c54a1f7c44b5d8b6b0a3c52a0c9d1
ours='[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'

"$ZKL" lock --parents persistent $L true # it is to stay

# What each peer's nodes are called.
node_with() { # OPTION...
    run "$ZKL" lock "$@" $L sh -c 'echo "$ZKL_NODE"'
}
for options in "" --peer=curator; do
    # shellcheck disable=SC2086
    node_with $options
    expect_match "named with \"$options\"" "^$L/_c_$ours-lock-[0-9]{10}\$" "$out"
done
node_with --peer kazoo
expect_match "named with --peer kazoo" "^$L/[0-9a-f]{12}8[0-9a-f]{19}__lock__[0-9]{10}\$" "$out"
node_with --peer kazoo --peer curator
expect_match "the last peer counts" "^$L/_c_" "$out"

# Two layouts on one path: the second one is refused, and told for whom.
hold $L
refused "elect --once: a latch behind a lock" 65 \
    "^zkl: $L: \"_c_$ours-lock-[0-9]{10}\" is of a lock or of a selector's election: use one of that kind, or another path\$" elect --once $L me touch "$scratch/ran"
refused "elect --layout selector waits for it" 1 "$L: " elect --once -n --layout selector $L me touch "$scratch/ran"
refused "elect --layout kazoo as well" 1 "$L: " elect --once -n --layout kazoo $L me touch "$scratch/ran"
let_go
lead $L me
wait_until "a latch leads" has_led me 1
for options in "" -n "-w 20" "-E 5" "--peer kazoo"; do
    # shellcheck disable=SC2086
    refused "lock $options behind a latch" 65 \
        "^zkl: $L: \"_c_$ours-latch-[0-9]{10}\" is of a latch's election: use one of that kind, or another path\$" lock $options $L touch "$scratch/ran"
done
touch "$scratch/me.quit"
status_of "$candidate"
if [ -e "$scratch/ran" ]; then fail "no command was run"; else pass "no command was run"; fi

# kazoo's Election.
lead $L me --layout kazoo
wait_until "a candidate in kazoo's layout leads" has_led me 1
run "$ZKL" ls $L --json
expect_match "named as kazoo does" "\"node\": \"[0-9a-f]{12}8[0-9a-f]{19}__lock__[0-9]{10}\"" "$out"
refused "and a lock waits for it" 1 "$L: " lock -n $L true
run "$ZKL" elect --leader --layout kazoo $L
expect_match "and it is seen to lead" '^me$' "$out"
touch "$scratch/me.quit"
status_of "$candidate"

# kazoo takes it that its directories stay: with its names they do, unless it is said otherwise.
enter() { # DIRECTORY VERB OPTION...
    local verb=$2 directory=$1
    shift 2
    [ "$verb" = lock ] || set -- "$@" --once
    # shellcheck disable=SC2046
    run "$ZKL" "$verb" "$@" "/$directory/x" $([ "$verb" = lock ] || echo me) true
    expect "$verb $*" 0 "$status"
}
is_gone() { # DIRECTORY
    "$ZKL" ls "/$1"
    [ $? = 1 ]
}
enter stays-lock lock --peer kazoo
enter stays-elect elect --layout kazoo
enter goes-lock lock --peer kazoo --parents container
enter goes-order lock --parents container --peer kazoo
enter goes-elect elect --layout kazoo --parents container
enter goes-last lock --peer kazoo --peer curator
# Work that failed leaves no record, which would keep its directory.
for kind in persistent container; do
    run "$ZKL" once --parents $kind /once-$kind/x false
    expect "once --parents $kind" 1 "$status"
done
if [ -n "${ZKL_CLI_INSIDE-}" ]; then
    for directory in goes-lock goes-order goes-elect goes-last once-container; do
        wait_until "/$directory is removed" is_gone $directory && pass "/$directory was a container"
    done
    for directory in stays-lock stays-elect once-persistent; do
        if is_gone $directory; then fail "/$directory stays"; else pass "/$directory stays"; fi
    done
else
    skip "containers, on a server that is not in a hurry"
fi

[ -x "$ADMIN" ] || { missing zk-admin "other libraries' children" && finish; }

# zkl ls with the kinds of everybody: who of them holds.
"$ADMIN" sequence $L/x-72057594037927936- '\022\064'
run "$ZKL" ls $L
expect_match "Apache's holds" $'\nHOLDS .* x-72057594037927936-[0-9]{10}' "$out"
refused "with kazoo's names a lock is refused behind it" 65 \
    "^zkl: $L: \"x-72057594037927936-[0-9]{10}\" is of a lock of Apache's WriteLock or zoo_lock.c: use one of that kind, or another path\$" lock --peer kazoo $L true
refused "a writer as well" 65 "is of a lock of Apache's WriteLock or zoo_lock.c: use one of that kind, or another path\$" lock -x $L true
refused "a lock waits for it" 1 "$L: " lock -n $L true
"$ZKL" lock $L true &
waiter=$!
remember "$waiter"
wait_until "one waits" has_contenders $L 2
run "$ZKL" ls $L
expect_match "and is said to" $'\nwaiting .* _c_'"$ours"'-lock-[0-9]{10}' "$out"
"$ADMIN" delete "$L/$("$ZKL" ls $L | grep -o 'x-[0-9]*-[0-9]*$')"
status_of $waiter
expect "until it is gone" 0 $?

for word in "_c_$UUID-__READ__" "_c_$UUID-__WRIT__" "${HEX}__rlock__" "_c_$UUID-lease-" "_c_$UUID-latch-" ex sh; do
    "$ADMIN" sequence "$L/$word" x
    run "$ZKL" ls $L
    expect_match "ls: $word" $'\nHOLDS .*'"$word"'[0-9]{10}' "$out"
    refused "a lock behind $word" 65 "^zkl: $L: \"$word[0-9]{10}\" is of " lock -w 20 $L true
    for way in -s -x; do
        [[ $word =~ (READ|WRIT|rlock)__$ ]] || refused "lock $way behind $word" 65 "^zkl: $L: \"$word[0-9]{10}\" is of " lock -n $way $L true
    done
    "$ADMIN" delete "$L/$(grep -o "$word[0-9]*\$" "$scratch/out" || "$ZKL" ls $L | grep -o "$word[0-9]*\$")"
done

"$ADMIN" create $L/junk x
run "$ZKL" lock $L true
expect "what is no contender is ignored" 0 "$status"
"$ADMIN" delete $L/junk
expect_no_node "nothing is left" $L
finish
