#!/bin/bash
# A kernel that does not have some calls: a command is ended before the next holder begins all the same, its TERM
# reaches all of its tree, and a lock is free as soon as nothing of it is left. Sessions would live for twenty minutes
# here, which no test waits for.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 60000)
need_server
begin
export scratch L=/cli/kernel
declare -f gone >"$scratch/gone"
run "$tools/without" pidfd_open -- true
if [ "$status" != 0 ]; then
    skip "no filter of calls: kernels that do not have some"
    finish
fi

# A command that hears TERM, and below it one that has left its group, as has its child, which says so when it hears
# TERM: $holder, $node, $members.
cat >"$scratch/far" <<'FAR'
trap : TERM
bash "$scratch/child" "$1" &
while [ -e /proc/$! ]; do wait; done
FAR
cat >"$scratch/child" <<'CHILD'
trap 'echo >"$scratch/termed"; exit' TERM
echo "$1 $PPID $$ $ZKL_NODE" >"$scratch/ready.new"
mv "$scratch/ready.new" "$scratch/ready"
while :; do sleep 0.05; done
CHILD
hold_without() { # OPTION...
    rm -f "$scratch"/{ready,termed,seen}
    "$tools/without" "${calls[@]}" -- "$ZKL" lock $L --session-timeout 20m "$@" -- bash -c \
        'setsid bash "$scratch/far" $$ & wait' 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "without ${calls[*]}: the command runs" test -e "$scratch/ready"
    read -r -a members <"$scratch/ready"
    node=${members[-1]}
    unset 'members[-1]'
    remember "${members[@]}"
    "$ZKL" lock $L --session-timeout 20m bash -c '
        . "$scratch/gone"; for pid; do gone $pid || echo "$pid lives"; done >"$scratch/seen"' bash "${members[@]}" &
    next=$!
    remember "$next"
    wait_until "without ${calls[*]}: the next one queues" has_contenders $L 2
}

expect_next() { # WHAT
    status_of "$next"
    expect "without ${calls[*]}: $1: the next one, after all of the command" "0:" "$?:$(<"$scratch/seen")"
}

# Without clone3() the command has no cgroup, which would end what no signal reaches. When an administrator deletes a
# node, the next one does not wait for the command; zkl does.
while read -r -a calls; do
    hold_without
    "$ADMIN" delete "$node"
    status_of "$holder"
    expect "without ${calls[*]}: the node is deleted: the status, and what lives then" "75:" \
        "$?:$(for pid in "${members[@]}"; do gone "$pid" || echo "$pid"; done)"
    status_of "$next"
    hold_without
    kill -KILL "$holder"
    status_of "$holder"
    expect_next "zkl is killed"
    hold_without --kill-after 1m
    kill -TERM "$holder"
    status_of "$holder"
    expect "without ${calls[*]}: TERM reached what had left the group" "143 yes" "$? $(test -e "$scratch/termed" && echo yes)"
    expect_next "zkl is asked to end"
done <<CALLS
pidfd_open pidfd_send_signal clone3
close_range
pwritev2 TCP_RTO_MAX_MS
clone3 close_range pidfd_open pidfd_send_signal pwritev2 TCP_RTO_MAX_MS
CALLS
expect_no_node "nothing is left" $L
finish
