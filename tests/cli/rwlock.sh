#!/bin/bash
# zkl lock -s and -x: readers share, a writer is alone; what ls and watch say; beside a mutex.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/rwlock

share() { hold_as ZKL_NODE "$@"; } # NAME OPTION...
says() { grep -q "$1" "$scratch/watched"; }

for way in "-s -x" "--shared --exclusive" "-s -e"; do
    # shellcheck disable=SC2086
    refused "$way" 64 "^zkl: -s and -x exclude each other" lock $way $L true
done
for way in "-s --peer kazoo" "-x --peer kazoo"; do
    # shellcheck disable=SC2086
    refused "$way" 64 "^zkl: --peer [a-z]*: cannot be combined with -s or -x" lock $way $L true
done

"$ZKL" watch $L >"$scratch/watched" 2>/dev/null &
remember $!
share r1 -s
wait_until "the first reader runs" runs r1
share r2 --shared
wait_until "the second reader runs beside it" runs r2
share w3 -x
wait_until "a writer queues" has_contenders $L 3
share r4 -s
wait_until "a reader queues behind it" has_contenders $L 4
expect "who holds, in order" $'holds read r1\nholds read r2\nwaiting write w3\nwaiting read r4' "$(states)"
run "$ZKL" ls $L
expect_match "a reader in the table" $'\nHOLDS .* read +zkl .* r2 ' "$out"
expect_match "a writer in the table" $'\nwaiting #2 .* write +zkl .* w3 ' "$out"
refused "a reader that tries" 1 "^zkl: $L: " lock -n -s $L true
refused "a writer that tries" 1 "^zkl: $L: " lock -n -x $L true
refused "a mutex" 65 "^zkl: $L: \"_c_.*\" is of a read-write lock: use one of that kind, or another path\$" lock $L true
wait_until "those are gone" has_contenders $L 4
touch "$scratch/r1.go"
wait_until "the first reader leaves" has_contenders $L 3
expect "the second holds on" $'holds read r2\nwaiting write w3\nwaiting read r4' "$(states)"
touch "$scratch/r2.go"
wait_until "the writer runs" runs w3
expect "alone" $'holds write w3\nwaiting read r4' "$(states)"
expect_match "its node" "^$L/_c_[0-9a-f-]+-__WRIT__[0-9]{10}\$" "$(<"$scratch/w3.has")"
wait_until "watch has seen that" says 'holds .* write zkl .* w3$'
touch "$scratch/w3.go"
wait_until "the last reader runs" runs r4
expect_match "its node" "^$L/_c_[0-9a-f-]+-__READ__[0-9]{10}\$" "$(<"$scratch/r4.has")"
wait_until "watch has seen that" says 'holds .* read zkl .* r4$'
touch "$scratch/r4.go"
expect_no_node "nothing is left" $L
for change in 'holds .* read zkl .* r1$' 'holds .* read zkl .* r2$' 'waits .* write zkl .* w3$' 'holds .* write zkl .* w3$'; do
    if wait_until "watch says $change" says "$change"; then pass "watch says $change"; fi
done

# A mutex that came first is waited for.
hold $L
refused "a reader behind a mutex" 1 "^zkl: $L: " lock -n -s $L true
refused "a writer behind a mutex" 1 "^zkl: $L: " lock -n -x $L true
let_go
run "$ZKL" lock -x -w 60 $L true
expect "and comes after it" 0 "$status"
finish
