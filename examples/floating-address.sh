#!/bin/sh
# A floating address: ADDRESS is on the device DEVICE of the host that leads, and of no other. Each host runs
#
#     zkl elect /addresses/web "$(hostname)" -- floating-address 192.0.2.7/32 eth0
#
# The kernel itself takes an address away that is not set again within $life seconds. It is set only while the lead
# is sure for longer than that, so it is gone before another host leads, even if all of this stands still. When all of
# this is killed, the kernel keeps it for as long, so the next one waits for that. docs/guide/address.md says more.
set -u
address=$1 device=$2
life=3              # seconds
least=$((life + 2)) # the kernel may be a second late, and a second is to spare

# Unlike for sleep alone, a trap need not wait for its end.
pause() { sleep "$1" & wait "$!"; }

drop() { ip address delete "$address" dev "$device" 2>/dev/null; }

has_carrier() { ip -o link show dev "$device" | grep -q LOWER_UP; }

# The neighbours remember the hardware address of the host that had it before.
announce() { arping -q -U -c 1 -I "$device" "${address%/*}" & }

command -v arping >/dev/null || { echo "floating-address: arping is missing" >&2; exit 127; }
trap 'drop; exit 143' TERM
trap 'drop; exit 130' INT
pause "$least"
while has_carrier; do
    zkl remaining --least "$least" -- \
        ip address replace "$address" dev "$device" valid_lft "$life" preferred_lft "$life"
    case $? in
    0) announce ;;
    75 | 142) ;; # not sure for so long, or stopped for too long: a renewal may be on its way
    *) break ;;
    esac
    pause 1
done
echo "floating-address: $device cannot have $address: the lead is given up" >&2
drop
exit 1
