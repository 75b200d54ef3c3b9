#!/bin/bash
# --status-fd, --on-suspect and --on-lost.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
export scratch
L=/cli/status
begin_gate

lines() { sed -E '/^behind /d; s/^held [1-9][0-9]*$/held TOKEN/; s/(^|^on-lost )started [1-9][0-9]*$/\1started PID/' "$scratch/lines" | paste -sd,; }
# shellcheck disable=SC2317
line() { grep -q "^$1" "$scratch/lines"; }
# shellcheck disable=SC2317
lines_of() { # COUNT PATTERN
    [ "$(grep -c "^$2" "$scratch/lines")" = "$1" ]
}

# What is refused.
for fd in 0 -1 x "" 77; do
    refused "--status-fd \"$fd\"" 64 "--status-fd.*$fd" lock --status-fd "$fd" $L touch "$scratch/ran"
done
exec 7</dev/null
refused "--status-fd, open for reading" 64 "--status-fd 7" lock --status-fd 7 $L touch "$scratch/ran"
exec 7<&-
refused "--on-suspect" 64 "pray" lock --on-suspect pray $L touch "$scratch/ran"
refused "--on-outgrown" 64 "pray" lock --on-outgrown pray $L touch "$scratch/ran"
if [ -e "$scratch/ran" ]; then fail "none of these ran"; else pass "none of these ran"; fi

# The lines of a run, and of one whose command is not found.
run "$ZKL" lock $L --status-fd 1 --on-lost 'echo it was' true
expect "--status-fd 1, and --on-lost of what is not lost" "0:waiting,held,started,ended,released" "$status:$(cut -d' ' -f1 <<<"$out" | paste -sd,)"
"$ZKL" lock $L --status-fd 9 sh -c 'echo $$ $ZKL_TOKEN; kill -TERM $$' 9>"$scratch/lines" >"$scratch/out"
read -r pid token <"$scratch/out"
expect "the numbers" "held $token,started $pid,ended 143" "$(sed -n 2,4p "$scratch/lines" | paste -sd,)"
"$ZKL" lock $L --status-fd 9 no-such-command 9>"$scratch/lines" 2>"$scratch/err"
expect "a command that is not found" "waiting,held TOKEN,ended 127,released" "$(lines)"
hold $L
"$ZKL" lock -n $L --status-fd 9 true 9>"$scratch/lines" 2>"$scratch/err"
expect "a lock that is not had" "waiting" "$(lines)"
let_go

# Not for the command; nor may a reader who is gone, or who does not read, make a difference.
"$ZKL" lock $L --status-fd 9 sh -c '[ -e /proc/self/fd/9 ] && echo inherited' 9>"$scratch/lines" >"$scratch/out"
expect "the command does not inherit it" "" "$(<"$scratch/out")"
mkfifo "$scratch/pipe"
exec 8<>"$scratch/pipe"
exec 9>"$scratch/pipe"
head -c 65536 /dev/zero >&8 # as much as fits
"$ZKL" lock $L --status-fd 9 -- sh -c 'exit 4'
expect "a reader who does not read" 4 "$?"
exec 8<&-
"$ZKL" lock $L --status-fd 9 -- sh -c 'exit 4'
expect "a reader who is gone" 4 "$?"
exec 9>&-

# Nor a file that may not grow any more; nor what else the kernel may send about our own output.
head -c 4096 /dev/zero >"$scratch/full"
for verb in "lock $L" "elect $L-elect me"; do
    # shellcheck disable=SC2086
    (ulimit -f 4 && exec "$ZKL" -v $verb --status-fd 9 -- sh -c 'exit 4') 9>>"$scratch/full" 2>>"$scratch/full"
    expect "${verb%% *}: files at the limit of their size" 4 "$?"
    # shellcheck disable=SC2086
    (ulimit -f 4 && exec "$ZKL" $verb -- bash -c 'echo 1 2>/dev/null >>"$scratch/full"') 2>/dev/null
    expect "${verb%% *}: the command is ended by it as ever" 153 "$?"
done
hold $L
for s in PIPE XFSZ TTOU IO; do kill -$s "$holder"; done
let_go
expect "signals about our own output" 0 "$?"

# In doubt: stopped, and continued when the doubt is over.
hold $L --connect "$gate" --session-timeout 20 --status-fd 9 --on-suspect=stop 9>"$scratch/lines"
gate cut
if wait_until "--on-suspect=stop stops" in_state "$command" T; then pass "--on-suspect=stop stops"; fi
kill -CONT "$holder" # to be passed on, but not to what is stopped for the lock's sake
kill -WINCH "$holder"
gate heal
if wait_until "and continues" in_state "$command" S; then pass "and continues"; fi
expect "not before" "waiting,held TOKEN,started PID,suspect,held TOKEN" "$(lines)"
let_go
expect "to its own end" 0 "$?"
expect "what was told" "waiting,held TOKEN,started PID,suspect,held TOKEN,ended 0,released" "$(lines)"

# What is left of a stopped group when its leader is killed is continued, and ended.
rm -f "$scratch/ready3"
"$ZKL" --connect "$gate" --session-timeout 20 lock $L --status-fd 9 --on-suspect=stop -- bash -c '
    sleep 1000 & echo "$$ $!" >"$scratch/ready3.new"; mv "$scratch/ready3.new" "$scratch/ready3"
    wait' 9>"$scratch/lines" 2>/dev/null &
holder=$!
remember "$holder"
wait_until "it runs" test -e "$scratch/ready3"
read -r command member <"$scratch/ready3"
remember "$member"
gate cut
wait_until "all are stopped" in_state "$member" T
kill -9 "$command"
status_of "$holder"
expect "killed while stopped" 137 "$?"
expect "killed while stopped: the rest is continued, and ended by TERM" "yes rest TERM" "$(gone "$member" && echo yes) $(grep ^rest "$scratch/lines" | paste -sd,)"
gate heal

# What somebody else has stopped stays so.
hold $L --connect "$gate" --session-timeout 20 --status-fd 9 --on-suspect=stop 9>"$scratch/lines"
freeze "$command"
wait_until "the command is stopped" in_state "$command" T
gate cut
wait_until "in doubt" line suspect
gate heal
wait_until "no doubt any more" lines_of 2 held
expect "a stop of somebody else is left alone" T "$(in_state "$command" T && echo T)"
kill -CONT "$command"
let_go
expect "to its own end, too" 0 "$?"

# All of the tree, wherever it is and while it grows, but a lock within goes on renewing.
marked() { # the command's tree, but for what is a zkl's own: process, state
    local file stat
    while read -r file; do
        read -r stat <"${file%environ}stat" || continue
        # shellcheck disable=SC2086
        [[ $stat = *"(zkl"* || $stat = *"(lock-"* ]] || { set -- ${stat##*) } && echo "${stat%% *} $1"; }
    done < <(grep -lzx "MARK=$$ tree" /proc/[0-9]*/environ)
} 2>/dev/null
# D: it waits for its child's exec, which is stopped before that.
# shellcheck disable=SC2317
all_stopped() { [ "$(marked | grep -c ' T$')" -ge 6 ] && ! marked | grep -qv ' [DTZX]$'; }
# shellcheck disable=SC2317
has_tree() { [ "$(cat "$scratch"/tree.* | wc -l)" -eq 5 ]; }
tree_in_doubt() { # OPTION...: $holder; $within is a zkl, $tree its and the others' processes
    rm -f "$scratch"/tree.*
    export direct=$ZKL_CONNECT # the command is given the gate's
    "$ZKL" --connect "$gate" --session-timeout 60 lock $L-tree --status-fd 9 "$@" -- env MARK="$$ tree" bash -c '
        note="echo \$\$ >>\$0; exec sleep 1000"
        setsid sh -c "$note" "$scratch/tree.1" &
        timeout 0 sh -c "$note" "$scratch/tree.2" &
        (setsid sh -c "$note" "$scratch/tree.3" &)
        "$ZKL" --connect "$direct" lock $0-within --session-timeout 40 --status-fd 8 -- setsid -w sh -c "$note" "$scratch/tree.4" 8>"$scratch/within" &
        echo $! >"$scratch/zkl"
        setsid sh -c "echo \$\$ >\$0; while :; do setsid sh -c : & sleep 0.01; done" "$scratch/tree.5" &
        until [ -e "$scratch/quit" ]; do sleep 0.05; done
        kill $(cat "$scratch"/tree.*) 2>/dev/null; wait' $L-tree 9>"$scratch/lines" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the tree is there" has_tree
    mapfile -t tree < <(cat "$scratch"/tree.?)
    remember "${tree[@]}"
    within=$(<"$scratch/zkl")
}
tree_in_doubt --on-suspect=stop
freeze "${tree[0]}"
wait_until "one is stopped before" in_state "${tree[0]}" T
gate cut
if wait_until "--on-suspect=stop: all of the tree" all_stopped; then pass "--on-suspect=stop: all of the tree"; fi
kill -CONT "${tree[2]}" # as a lock within might
if wait_until "--on-suspect=stop: again" in_state "${tree[2]}" T; then pass "--on-suspect=stop: again"; fi
for process in "$within" "$(guard_of "$within")"; do
    expect "--on-suspect=stop: not a lock within" no "$(in_state "$process" T && echo stopped || echo no)"
done
gate heal
for process in "${tree[@]:1}"; do
    if wait_until "--on-suspect=stop: all continue" in_state "$process" S; then pass "--on-suspect=stop: all continue"; fi
done
expect "--on-suspect=stop: but what somebody else has stopped" T "$(in_state "${tree[0]}" T && echo T)"
kill -CONT "${tree[0]}"
touch "$scratch/quit"
status_of "$holder"
expect "--on-suspect=stop: a tree: its end" 0 "$?"
expect "--on-suspect=stop: a tree: what was told" "waiting,held TOKEN,started PID,suspect,held TOKEN,ended 0,released" "$(lines)"
expect "--on-suspect=stop: the lock within was never in doubt" "" "$(grep suspect "$scratch/within")"
rm -f "$scratch/quit"

tree_in_doubt --on-suspect=term
gate cut
wait_until "--on-suspect=term: a tree" line lost
gate heal
expect "--on-suspect=term: all of the tree" "" "$(marked | grep -v ' [ZX]$')"
expect_match "--on-suspect=term: TERM is enough" "ending TERM [1-9][0-9]*,ended 143,lost suspect\$" "$(lines)"
status_of "$holder"

# A stopped command hears TERM when the doubt becomes a loss.
"$ZKL" --connect "$gate" --session-timeout 8 lock $L --status-fd 9 --on-suspect=stop -- bash -c '
    trap ": >$scratch/termed; exit 3" TERM
    touch $scratch/ready2
    while :; do sleep 0.05; done' 9>"$scratch/lines" 2>"$scratch/err" &
holder=$!
remember "$holder"
wait_until "it runs" test -e "$scratch/ready2"
gate silence
wait_until "it is lost" line lost
gate heal
status_of $holder
expect "stopped, then lost" "75:termed" "$?:$(cd "$scratch" && ls termed)"
expect_match "stopped, then lost: what was told" \
    '^waiting,held TOKEN,started PID,suspect,ending TERM [1-9][0-9]*,ended 3,lost deadline$' "$(lines)"

# In doubt: ended at once, whatever comes then.
hold $L --connect "$gate" --session-timeout 20 --status-fd 9 --on-suspect term \
    --on-lost 'echo "$ZKL_LOST $ZKL_TOKEN" >"$scratch/lost"' 9>"$scratch/lines"
gate cut
wait_until "it is ended" line lost
gate heal
status_of "$holder"
expect "--on-suspect=term" 75 "$?"
expect_match "--on-suspect=term: what was told" \
    '^waiting,held TOKEN,started PID,suspect,ending TERM [1-9][0-9]*,ended 143,lost suspect,on-lost started PID,on-lost ended 0$' "$(lines)"
expect_match "--on-suspect=term: --on-lost, with the command's environment" '^suspect [1-9][0-9]*$' "$(<"$scratch/lost")"
expect_match "--on-suspect=term: one line says so" "^zkl: $L: [^"$'\n'"]* in doubt[^"$'\n'"]*\$" "$(<"$scratch/holder.err")"

# --on-lost is waited for, reads nothing, and hears what we are told.
hold $L --session-timeout 20 --connect "$gate" --on-suspect=term --on-lost '
    trap "echo heard >>$scratch/heard; exit 1" TERM
    cat; echo $$ >"$scratch/told.new"; mv "$scratch/told.new" "$scratch/told"
    while :; do sleep 0.05; done'
gate cut
wait_until "--on-lost runs" test -e "$scratch/told"
gate heal
expect "--on-lost: we wait for it" no "$(gone "$holder" && echo gone || echo no)"
read -r _ _ _ _ group _ <"/proc/$(<"$scratch/told")/stat"
expect "--on-lost: a process group of its own" "$(<"$scratch/told")" "$group"
kill -TERM "$holder"
status_of "$holder"
expect "--on-lost: TERM is passed on, the status is ours" "75:heard" "$?:$(<"$scratch/heard")"
expect_match "--on-lost: its failure is said" "--on-lost: $L: status 1" "$(<"$scratch/holder.err")"
expect_no_node "nothing is left" $L
finish
