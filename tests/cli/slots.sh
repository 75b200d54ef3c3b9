#!/bin/bash
# zkl lock --slots: each holder has a number of its own; who waits; what ls says.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/slots

take() { hold_as ZKL_SLOT "$@"; } # NAME OPTION...

for bad in 0 -1 x 2147483648; do
    refused "--slots $bad" 64 "^zkl: --slots: must be a number" lock --slots=$bad $L true
done
refused "--slots -s" 64 "^zkl: --slots: cannot be combined with -s" lock --slots 2 -s $L true
refused "--slots --peer" 64 "^zkl: --slots: cannot be combined with --peer" lock --slots 2 --peer kazoo $L true
refused "--slots --and" 64 "^zkl: --slots: cannot be combined with --and" lock --slots 2 $L --and $L-b true

refused "limit without PATH" 64 "no PATH given" limit
refused "limit with too much" 64 "^zkl: 3: only one N can be given\$" limit $L 2 3
for bad in 0 -1 x "" 2147483648; do
    refused "limit \"$bad\"" 64 "^zkl: .*$bad" limit $L -- "$bad"
done
refused "limit of a bad path" 64 'path "a"' limit a
refused "the limit of no path" 1 "^zkl: $L-none: no such path\$" limit $L-none
refused "nor is it set there" 1 "^zkl: $L-none: no such path\$" limit $L-none 2

take a --slots 2
wait_until "the first runs" runs a
run "$ZKL" limit $L
expect "the limit is the first one's" "0:2" "$status:$out"
"$ADMIN" create $L-text some-text
refused "what is no limit" 65 "^zkl: $L-text: its data are no limit" limit $L-text
refused "nor has it slots" 65 "^zkl: $L-text: " lock --slots 2 $L-text true
refused "is not written over" 65 "^zkl: $L-text: its data are no limit" limit $L-text 2
take b --slots 2
wait_until "the second runs beside it" runs b
take c --slots 2
wait_until "a third waits" has_contenders $L 3
expect "their slots" "0 1" "$(cat "$scratch/a.has") $(cat "$scratch/b.has")"
expect "who holds, in order" $'holds lease a\nholds lease b\nwaiting lease c' "$(states)"
refused "one that tries" 1 "^zkl: $L: " lock -n --slots 2 $L true
refused "a mutex" 65 "^zkl: $L: \"_c_.*\" is of a semaphore: use one of that kind, or another path\$" lock $L true
wait_until "those are gone" has_contenders $L 3
touch "$scratch/a.go"
wait_until "the third runs" runs c
expect "the slot of the first" 0 "$(<"$scratch/c.has")"
take d --slots 2
wait_until "another one waits" has_contenders $L 3
run "$ZKL" limit $L 3
expect "the limit is raised" "0:" "$status:$out"
wait_until "and it runs" runs d
run "$ZKL" limit $L
expect "as it says" "0:3" "$status:$out"
run "$ZKL" limit $L 2
run "$ZKL" limit $L 1
expect "the limit is below what is held" $'holds lease b\nholds lease c\nholds lease d' "$(states)"
refused "one of several is not removed" 64 "several contenders hold it" break --yes $L
touch "$scratch/d.go"
touch "$scratch/b.go" "$scratch/c.go"
wait_until "all are gone" has_contenders $L 0
run "$ZKL" lock --slots 5 $L printenv ZKL_SLOT
expect "a lone one" "0:0" "$status:$out"
L=/cli/tries
for i in {0..9}; do take "try$i" -n --slots 10; done
for i in {0..9}; do wait_until "try $i of ten at once runs" runs "try$i"; done
expect "each has a slot of its own" "0 1 2 3 4 5 6 7 8 9" "$(echo $(sort -n "$scratch"/try?.has))"
touch "$scratch"/try{0..9}.go
wait_until "the tries are gone" has_contenders $L 0
L=/cli/slots
"$ADMIN" create $L-curator ""
"$ADMIN" create $L-curator/leases ""
"$ADMIN" create $L-junk ""
"$ADMIN" create $L-junk/x ""
refused "what is no contender" 65 "^zkl: $L-junk: \"x\" is not a contender of any known layout\$" lock --slots 1 $L-junk true
refused "Curator's layout there" 65 "^zkl: $L-curator: \"le" lock --slots 1 $L-curator true
run env -u ZKL_SLOT "$ZKL" lock $L-other sh -c 'echo "${ZKL_SLOT-none}"'
expect "a mutex has no slot" none "$out"
finish
