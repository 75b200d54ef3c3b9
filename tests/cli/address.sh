#!/bin/bash
# The floating address of docs/guide/address.md on two hosts, which are networks of their own; and a judge beside them who
# asks again and again which of them has it: never both.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}"

for tool in ip nsenter arping python3; do
    command -v $tool >/dev/null || {
        missing $tool
        finish
    }
done
# All of this is in a network of its own, with the server.
if [ "${ZKL_OWN_NETWORK-}" != "$0" ]; then
    unshare --net ip link add zklbr0 type bridge 2>/dev/null || {
        missing "a network namespace with a bridge"
        finish
    }
    ZKL_OWN_NETWORK=$0 exec unshare --net bash "$0"
fi
ip link set lo up
need_server
begin
E=/cli/address
VIP=10.77.0.100

ip link add zklbr0 address 02:00:00:00:77:fe type bridge
ip link set zklbr0 up
ip address add 10.77.0.254/24 dev zklbr0
mkdir "$scratch/bin"
ln -s "$ZKL" "$scratch/bin/zkl"
# The process that is about to set the address stands still, on a host that was told so.
cat >"$scratch/bin/ip" <<IP
#!/bin/sh
if [ "\$2" = replace ] && [ -e "$scratch/\$HOST.hold" ]; then
    echo \$\$ >"$scratch/\$HOST.held.new"
    mv "$scratch/\$HOST.held.new" "$scratch/\$HOST.held"
    kill -STOP \$\$
fi
exec $(command -v ip) "\$@"
IP
chmod +x "$scratch/bin/ip"

# A host with a cable to the bridge: what keeps its network is ${keeper[NAME]}, ${mac[NAME]} its hardware address.
declare -A keeper mac candidate_of
# shellcheck disable=SC2317
apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
begin_host() { # NAME NUMBER
    unshare --net sleep infinity &
    keeper[$1]=$!
    remember "$!"
    wait_until "host $1 has a network" apart "$!"
    ip link add "to-$1" type veth peer name eth0 netns "$!"
    ip link set "to-$1" master zklbr0 up
    nsenter -n -t "$!" sh -c "ip link set lo up; ip link set eth0 up; ip address add 10.77.0.$2/24 dev eth0"
    mac[$1]=$(nsenter -n -t "$!" ip -o link show eth0 | sed 's,.*link/ether \([^ ]*\).*,\1,')
}

# The lead is sure for 0.3 of the session timeout at least, and 6 s are wanted. Host a has a server of its own to lose.
campaign() { # NAME
    local connect=$ZKL_CONNECT
    [ "$1" != a ] || connect=$gate
    HOST=$1 PATH=$scratch/bin:$PATH "$ZKL" --connect "$connect" --session-timeout 21 elect $E "$1" -- \
        nsenter -n -t "${keeper[$1]}" "$top_srcdir/examples/floating-address.sh" $VIP/32 eth0 2>>"$scratch/$1.err" &
    candidate_of[$1]=$!
    remember "$!"
}

# Processes below one, and itself.
tree() { # PID
    local child
    echo "$1"
    # shellcheck disable=SC2013
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do tree "$child"; done
}

# For the list at the end, by the judge's clock.
note() { # WHAT
    local content
    read_file /proc/uptime && echo "${content%% *} -- $1" >>"$scratch/notes"
}

# What the judge has written last.
# shellcheck disable=SC2317
answered_by() { # NAME
    [ "$(tail -n 1 "$scratch/answers" | cut -d' ' -f2-)" = "${mac[$1]}" ]
}
# shellcheck disable=SC2317
remembered_as() { # NAME
    ip neigh show "$VIP" dev zklbr0 | grep -q "${mac[$1]}"
}
moves_to() { # WHAT NAME
    if wait_until "$1: $2 answers" answered_by "$2"; then pass "$1: $2 answers"; fi
    if wait_until "$1: the neighbours know" remembered_as "$2"; then pass "$1: the neighbours know"; fi
}
# shellcheck disable=SC2317
waits() { # NAME
    "$ZKL" ls --json "$E" | grep -q "\"waiting.*\"owner\": \"$1\""
}
queues() { # NAME
    wait_until "$1 is in line" waits "$1"
}

# What a host has, whether anybody asks or not.
has_nothing() { # WHAT NAME
    expect "$1: $2 has nothing" "" "$(nsenter -n -t "${keeper[$2]}" ip -o address show to $VIP)"
}

run env PATH=/nowhere /bin/sh "$top_srcdir/examples/floating-address.sh" $VIP/32 eth0
expect "nobody is led to an address that the neighbours are not told of" "127:floating-address: arping is missing" "$status:$err"

begin_host a 1
begin_host b 2
python3 -B "$top_srcdir/tests/cli/who_has.py" zklbr0 $VIP >"$scratch/answers" &
remember "$!"
begin_gate
campaign a
wait_until "the first one answers" answered_by a
# A neighbour remembers who has had it.
ip neigh replace $VIP lladdr "${mac[a]}" dev zklbr0 nud stale
campaign b
queues b

leader=a other=b
for victim in zkl term guard script; do
    pid=${candidate_of[$leader]}
    [ $victim = zkl ] || pid=$(child_of "$pid")
    [[ $victim = zkl || $victim = term ]] || pid=$(guard_of "$pid")
    [ $victim != script ] || pid=$(child_of "$pid" | head -n 1)
    note "kill -9 of the $victim of $leader"
    kill -9 "$pid"
    moves_to "kill -9 of the $victim" "$other"
    has_nothing "kill -9 of the $victim" "$leader"
    [[ $victim = term || $victim = guard ]] || campaign "$leader"
    queues "$leader"
    read -r leader other <<<"$other $leader"
done

# All of it stands still, one process right before it sets the address; when it goes on, another host leads.
touch "$scratch/a.hold"
wait_until "frozen: a is about to set it" test -e "$scratch/a.held"
mapfile -t frozen < <(tree "${candidate_of[a]}")
note "a is frozen"
freeze "${frozen[@]}"
moves_to "frozen" b
rm "$scratch/a.hold"
held=$(<"$scratch/a.held")
note "a goes on"
kill -CONT "$held"
if wait_until "frozen: what was late has ended" gone "$held"; then pass "frozen: what was late has ended"; fi
kill -CONT "${frozen[@]}"
queues a
has_nothing "frozen" a

# The cable is pulled out: the host sees that, and gives the lead up.
note "b is unplugged"
ip link set to-b down
moves_to "unplugged" a
status_of "${candidate_of[b]}"
expect "unplugged: it ends" 1 "$?"
expect_match "unplugged: and says why" "floating-address: eth0 cannot have $VIP/32: the lead is given up" "$(<"$scratch/b.err")"
ip link set to-b up
campaign b
queues b

# Its cable leads nowhere, to no server either; nothing on the host tells that.
note "a is cut off"
gate cut
ip link set to-a nomaster
moves_to "cut off" b
note "a is there again"
ip link set to-a master zklbr0
gate heal
queues a
has_nothing "cut off" a

note "b is asked to end"
kill -TERM "${candidate_of[b]}"
status_of "${candidate_of[b]}"
expect "asked to end" 143 "$?"
has_nothing "asked to end" b

sed "s/^[0-9.]* //; s/${mac[a]}/a/; s/${mac[b]}/b/" "$scratch/answers" >"$scratch/owners"
expect "never two at once" "" "$(grep ' ' "$scratch/owners")"
expect "each after the other" "a b a b a b a b" "$(grep -vx nobody "$scratch/owners" | uniq | paste -sd' ')"
sed "s/${mac[a]}/a/; s/${mac[b]}/b/" "$scratch/answers" "$scratch/notes" | sort -n
finish
