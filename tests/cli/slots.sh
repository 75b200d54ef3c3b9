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
refused "--layout kazoo" 64 "^zkl: --layout: must be zkl or curator, not kazoo" lock --slots 2 --layout kazoo $L true
refused "--layout without --slots" 64 "^zkl: --layout: needs --slots or --slots-from\$" lock --layout curator $L true
refused "--slots --and" 64 "^zkl: --slots: cannot be combined with --and" lock --slots 2 $L --and $L-b true
# Options with --slots-from: what cannot be with it, and why. Nothing is asked of a server.
from() { # WHAT MESSAGE OPTION...
    refused "--slots-from $1" 64 "^zkl: $2\$" lock --slots-from "${@:3}" $L true
}
from "in zkl's own layout" "--slots-from: needs --layout curator" /n
from "and --layout zkl" "--slots-from: needs --layout curator" /n --layout zkl
from "and --slots" "--slots-from: cannot be combined with --slots" /n --layout curator --slots 2
from "and -x" "--slots-from: cannot be combined with -s or -x" /n --layout curator -x
from "and --and" "--slots-from: cannot be combined with --and" /n --layout curator --and $L-b
from "and --peer" "--slots-from: cannot be combined with --peer" /n --layout curator --peer apache
from "no path" "$L: limit_path \"n\": it must begin with a slash" n --layout curator
from "among the slots" "$L: limit_path $L/leases/n is where its permits are" $L/leases/n --layout curator

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
refused "what is no limit" 64 "^zkl: $L-text: its data are no limit" limit $L-text
refused "nor has it slots" 64 "^zkl: $L-text: " lock --slots 2 $L-text true
refused "is not written over" 64 "^zkl: $L-text: its data are no limit" limit $L-text 2
take b --slots 2
wait_until "the second runs beside it" runs b
take c --slots 2
wait_until "a third waits" has_contenders $L 3
expect "their slots" "0 1" "$(cat "$scratch/a.has") $(cat "$scratch/b.has")"
expect "who holds, in order" $'holds lease a\nholds lease b\nwaiting lease c' "$(states)"
refused "one that tries" 1 "^zkl: $L: " lock -n --slots 2 $L true
refused "a mutex" 64 "^zkl: $L: \"_c_.*\" is of a semaphore\$" lock $L true
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
touch "$scratch/d.go"
touch "$scratch/b.go" "$scratch/c.go"
wait_until "all are gone" has_contenders $L 0
run "$ZKL" lock --slots 5 $L printenv ZKL_SLOT
expect "a lone one" "0:0" "$status:$out"
run env -u ZKL_SLOT "$ZKL" lock --slots 1 --layout curator $L-curator sh -c 'echo "${ZKL_SLOT-none} $ZKL_NODE"'
expect_match "in Curator's layout: no number" "^0:none $L-curator/leases/_c_.*-lease-[0-9]{10}\$" "$status:$out"
"$ADMIN" create $L-curator/leases/other ""
refused "whatever is there counts" 1 "^zkl: $L-curator: held by somebody else" lock -n --slots 1 --layout curator $L-curator true
refused "its own layout there" 64 "^zkl: $L-curator: \"le" lock --slots 1 $L-curator true

# As many slots as a counter says, while it changes.
L=/cli/slots-from
N=$L-number
followed() { # NAME OPTION...
    hold_as ZKL_PATH "$1" --slots-from $N --layout curator "${@:2}"
}
leases() { # NUMBER
    has_contenders $L/leases "$1"
}
refuses() { # WHAT STATUS MESSAGE OPTION...
    refused "$1" "$2" "^zkl: $3\$" lock --slots-from $N --layout curator "${@:4}" $L true
}
refuses "no counter" 64 "$N: no such counter"
"$ADMIN" create $N 12345
refuses "5 bytes" 64 "$N: its data is no number of 4 bytes" -E 7
"$ADMIN" number $N 0
refuses "-n with no slot at all" 1 "$L: no slot is free" -n
refuses "-w as well" 7 "$L: not acquired within 2 s" -w 2 -E 7
"$ADMIN" number $N -3
refuses "-n with fewer than none" 1 "$L: no slot is free" -n
"$ADMIN" number $N 1
followed p
wait_until "the first runs" runs p
refuses "-n names the one holder" 1 "$L: no slot is free; held by p on [^,]*, for [^,]*" -n
followed q
wait_until "the second waits" leases 2
refuses "-n beside one that waits" 1 "$L: no slot is free; held by p on [^,]*, for [^,]*" -n
"$ADMIN" number $N 2
wait_until "a number that is raised lets it in" runs q
"$ADMIN" number $N 1
followed r
wait_until "the third waits" leases 3
touch "$scratch/p.go"
wait_until "one is gone" leases 2
refuses "a number that was lowered still keeps it waiting" 1 "$L: no slot is free; held by .*" -n
expect "it has not run" no "$(runs r && echo yes || echo no)"
touch "$scratch/q.go"
wait_until "when the other is gone it runs" runs r
followed s 2>"$scratch/s.err"
wait_until "the fourth waits" leases 2
"$ADMIN" delete $N
wait_until "a counter that is deleted ends the wait" grep -q . "$scratch/s.err"
expect "and it is named" "zkl: $N: no such counter" "$(<"$scratch/s.err")"
wait_until "its lease is gone" leases 1
"$ADMIN" number $N 2
followed t
wait_until "a new one counts" runs t
followed u 2>"$scratch/u.err"
wait_until "the sixth waits" leases 3
"$ADMIN" set $N x
wait_until "what is no number any more ends the wait" grep -q . "$scratch/u.err"
expect "and it says so" "zkl: $N: its data is no number of 4 bytes" "$(<"$scratch/u.err")"
touch "$scratch/r.go" "$scratch/t.go"
wait_until "all are gone" leases 0
"$ADMIN" number $L 1
run "$ZKL" lock --slots-from $L --layout curator $L printenv ZKL_PATH
expect "the semaphore's own path may have the number" "0:$L" "$status:$out"
"$ADMIN" number $N 1
run "$ZKL" --connect "$ZKL_CONNECT/cli" lock --slots-from ${N#/cli} --layout curator ${L#/cli} printenv ZKL_PATH
expect "below a chroot" "0:${L#/cli}" "$status:$out"
"$ADMIN" hide $N
refuses "a counter that may not be read" 77 "$N: .*read.*"
run env -u ZKL_SLOT "$ZKL" lock $L-other sh -c 'echo "${ZKL_SLOT-none}"'
expect "a mutex has no slot" none "$out"
finish
