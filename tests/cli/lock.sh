#!/bin/bash
# zkl lock as a shell script sees it: statuses, arguments, environment, descriptors, permissions.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/lock

# The command's own status.
for code in 0 1 7 64 69 75 255; do
    run "$ZKL" lock $L sh -c "exit $code"
    expect "status $code" "$code" "$status"
done
for n in 1 9 15; do
    run "$ZKL" lock $L sh -c "kill -$n \$\$"
    expect "killed by signal $n" $((128 + n)) "$status"
done
expect "success says nothing" "" "$err"
# That the session is there is heard, not found when the time is over.
"$ZKL" --connect-timeout 10000 lock $L true &
remember $!
status_of $!
expect "a long time to connect is not used up" 0 "$?"
refused "not found" 127 "no-such-command" lock $L no-such-command
echo >"$scratch/plain"
refused "not executable" 126 "$scratch/plain" lock $L "$scratch/plain"
refused "a folder" 126 "$scratch" lock $L "$scratch"
expect_no_node "nothing is left" $L

# What a server allows is known with its first answer.
refused "--grace is too much for the session that the servers allow" 64 "^zkl: --grace: 60 s is too much for a session timeout of [0-9.]+ s: " --session-timeout 1h lock --grace 60 $L touch "$scratch/ran"

# Arguments go as they are; options end at the first operand after PATH.
run "$ZKL" lock $L printf '<%s>' -n "a b" '$HOME' -- -E
expect "arguments" '<-n><a b><$HOME><--><-E>' "$out"
run "$ZKL" lock -n $L -w 1 -E 5 -- true
expect "-n and -w on both sides of PATH" 64 "$status"
expect_match "-n and -w on both sides of PATH: named" "-n and -w" "$err"
run "$ZKL" lock $L -E 5 -w 20.5 -- echo -n
expect "options after PATH" "0:" "$status:$out"
run "$ZKL" lock -w20 $L -E5 -- echo -w1
expect "values attached to their letters" "0:-w1" "$status:$out"
run "$ZKL" lock -nE5 --name -w1 $L sh -c '"$ZKL" ls $ZKL_PATH --json'
expect_match "a value that looks like such an option is left alone" '"owner": "-w1"' "$out"
run "$ZKL" lock -e $L -c'echo "$0"'
expect "-e as -x, and -c with its string attached" 0 "$status"
run "$ZKL" lock -- $L -- echo x
expect "-- twice" "0:x" "$status:$out"
run "$ZKL" lock $L -c 'echo "$0 $ZKL_PATH"; exit 3'
expect "-c: status" 3 "$status"
expect_match "-c: by a shell" " $L\$" "$out"
run env SHELL=/bin/echo "$ZKL" lock $L -c 'exit 3'
expect "-c: by \$SHELL" "-c exit 3" "$out"
run env -u SHELL "$ZKL" lock $L -c 'exit 3'
expect "-c: by /bin/sh otherwise" 3 "$status"
expect "stdin goes to the command" "words" "$(echo words | "$ZKL" lock $L cat)"

# The environment.
run env ZKL_TOKEN=old ZKL_PATH=/old ZKL_NODE=/old ZKL_SESSION=old OTHER=kept "$ZKL" lock $L \
    sh -c 'echo "$ZKL_PATH $OTHER"; echo "$ZKL_TOKEN"; echo "$ZKL_NODE"; echo "$ZKL_SESSION"; "$ZKL" ls "$ZKL_PATH" --json'
mapfile -t lines <<<"$out"
expect "ZKL_PATH, and what was there" "$L kept" "${lines[0]}"
expect_match "ZKL_TOKEN is decimal" '^[1-9][0-9]*$' "${lines[1]}"
expect_match "ZKL_NODE" "^$L/_c_[0-9a-f-]+-lock-[0-9]{10}\$" "${lines[2]}"
expect_match "ZKL_SESSION" '^0x[0-9a-f]+$' "${lines[3]}"
expect_match "ls agrees" "\"token\": ${lines[1]},.*\"session\": \"${lines[3]}\".*\"node\": \"${lines[2]##*/}\"" "$out"
of_others=(ZKL_CANDIDATE=old ZKL_SLOT=1 ZKL_LOST=guard ZKL_LOST_BY=expired ZKL_SHARD=1)
expect "nothing of a term, a slot or a loss around it" ZKL_SHARD=1 "$(env "${of_others[@]}" "$ZKL" lock $L env | grep -xF "$(printf '%s\n' "${of_others[@]}")")"
expect "each variable once" 1 "$(ZKL_TOKEN=old "$ZKL" lock $L env | grep -c ^ZKL_TOKEN=)"

# Nested locks.
run "$ZKL" lock $L sh -c 'outer=$ZKL_TOKEN; "$ZKL" lock "$ZKL_PATH-inner" sh -c "echo \$ZKL_PATH; [ \$ZKL_TOKEN -gt $outer ] && exit 9"; echo "$? $ZKL_PATH"'
expect "nested locks" "$L-inner"$'\n'"9 $L" "$out"

# For how long it is sure, and what runs only while it is.
remains() { # STATUS OUTPUT ARG...: of zkl remaining under a lock
    local wanted=$1 output=$2
    shift 2
    run env --ignore-signal=ALRM "$ZKL" --session-timeout 20 lock $L "$ZKL" remaining "$@"
    expect_match "remaining $*" "^$wanted:$output\$" "$status:$out"
}
remains 0 '[1-9][0-9]{3,4}'
remains 0 '[1-9][0-9]{3,4}' --least 3
remains 75 '[1-9][0-9]{3,4}' --least 1h
remains 0 'a  b' --least 3 echo "a  b"
remains 9 '' -- sh -c 'exit 9'
remains 75 '' --least 1h touch "$scratch/late"
remains 75 '' --within 1h touch "$scratch/late"
remains 142 '' --within 50ms sleep 1000
remains 127 '' no-such-command
remains 126 '' "$scratch/plain"
if [ -e "$scratch/late" ]; then fail "what has no time does not run"; else pass "what has no time does not run"; fi
run "$ZKL" --session-timeout 20 lock $L sh -c 'ZKL_TOKEN=1 "$ZKL" remaining || exec "$ZKL" --session-timeout 4 lock "$ZKL_PATH-inner" "$ZKL" remaining'
expect_match "remaining: none of another grant; of two the inner one's" $'^0:0\n[1-3]?[0-9]{1,3}$' "$status:$out"
if [ "$(id -u)" = 0 ] && "${stranger[@]}" "$ZKL" --version >/dev/null 2>&1; then
    run "$ZKL" lock $L "${stranger[@]}" "$ZKL" remaining
    expect "remaining: not for other users" "77:" "$status:$out"
else
    missing "another user who may run zkl"
fi
"$ZKL" lock $L sh -c '(until [ -e "$1.go" ]; do sleep 0.02; done; "$ZKL" remaining >"$1.said" 2>&1; echo $? >"$1.status") &' sh "$scratch/left"
touch "$scratch/left.go"
wait_until "remaining: what the command has left" test -s "$scratch/left.status"
expect "remaining: nothing when the lock was given back" 75 "$(<"$scratch/left.status")"
# It is right while zkl and its guard stand still.
"$ZKL" --session-timeout 4 lock $L sh -c 'echo $$ >"$1.pid"; until [ -e "$1.stopped" ]; do sleep 0.02; done
    while left=$("$ZKL" remaining) || { echo "$left $?" >"$1.over"; false; }; do sleep 0.05; done' sh "$scratch/still" &
holder=$!
remember "$holder"
wait_until "remaining: the command runs" test -s "$scratch/still.pid"
guard=$(guard_of "$holder")
freeze "$holder" "$guard"
touch "$scratch/still.stopped"
if wait_until "remaining: nothing after the deadline" grep -qx '0 75' "$scratch/still.over"; then pass "remaining: nothing after the deadline"; fi
kill -CONT "$holder" "$guard"
status_of "$holder"

# --on-lost of a zkl whose guard is dead finds it, too.
run env scratch="$scratch" "$ZKL" lock $L --on-lost '"$ZKL" remaining >"$scratch/over" 2>&1; echo $? >>"$scratch/over"' -- sh -c 'kill -9 $PPID; exec sleep 1000'
expect "remaining: after a loss, the guard dead" "70:0 75" "$status:$(paste -sd' ' "$scratch/over")"

# Several paths: all or none, one grant, in the order of the line.
run "$ZKL" lock $L-b --and $L-c -n --and=$L-a \
    sh -c 'echo $ZKL_PATH $ZKL_PATHS; echo $ZKL_NODES; echo $ZKL_TOKENS; echo $ZKL_NODE $ZKL_TOKEN; "$ZKL" ls "$1" --json' sh $L-a
mapfile -t lines <<<"$out"
expect "several paths" "0:$L-b $L-b $L-c $L-a" "$status:${lines[0]}"
node='/_c_[0-9a-f-]+-lock-[0-9]{10}'
expect_match "ZKL_NODES" "^$L-b$node $L-c$node $L-a$node\$" "${lines[1]}"
read -ra nodes <<<"${lines[1]}"
read -ra tokens <<<"${lines[2]}"
expect "ZKL_NODE and ZKL_TOKEN are the first" "${nodes[0]} ${tokens[0]}" "${lines[3]}"
expect_match "ls agrees on the last" "\"token\": ${tokens[2]},.*\"node\": \"${nodes[2]##*/}\"" "$out"
for path in $L-a $L-b $L-c; do
    expect_no_node "nothing is left at $path" $path
done
run "$ZKL" lock $L sh -c 'echo "$ZKL_PATHS $ZKL_NODES $ZKL_TOKENS = $ZKL_PATH $ZKL_NODE $ZKL_TOKEN"'
expect "of one path they are the same" "${out##* = }" "${out%% = *}"
refused "the same path twice" 64 "$L" lock $L --and $L true
refused "of a read-write lock" 64 "--and" lock -s $L --and $L-b true
refused "an invalid path" 64 "x" lock $L --and x true
# One of five tries at one moment runs its command, which lasts until the others are refused.
try_of_five() { # ROUND I
    local ends=$scratch/tries.$1 status=0
    # shellcheck disable=SC2016
    "$ZKL" lock -n "$L-$1-a" --and "$L-$1-b" --and "$L-$1-c" sh -c \
        'until set -- "$1" "$1"/*.1; [ $# -ge 5 ] || [ -e "$ZKL_PROGRESS.late" ]; do sleep 0.02; done' sh "$ends" \
        2>/dev/null || status=$?
    : >"$ends/$2.$status"
}
ends=
for round in 1 2 3 4 5 6 7 8; do
    mkdir "$scratch/tries.$round"
    tries=()
    for i in 1 2 3 4 5; do
        try_of_five "$round" "$i" &
        tries+=($!)
    done
    wait "${tries[@]}"
    ends+=" $(cd "$scratch/tries.$round" && printf '%s\n' * | sed 's/.*\.//' | sort | tr -d '\n')"
done
expect "of five tries at one moment one runs" " 01111 01111 01111 01111 01111 01111 01111 01111" "$ends"
hold $L-b
refused "one of them is held: -n" 1 "$L-b: held" lock -n $L-a --and $L-b --and $L-c true
refused "one of them is held: -w" 1 "$L-b: not acquired" lock -w 3 $L-c --and $L-b --and $L-a true
expect_no_node "nothing is left before it" $L-a
expect_no_node "nothing is left behind it" $L-c
let_go

# Tokens rise.
last=0 rising=yes
for _ in 1 2 3 4 5; do
    token=$("$ZKL" lock $L printenv ZKL_TOKEN)
    [ "$token" -gt "$last" ] || rising="no: $last, then $token"
    last=$token
done
expect "tokens rise" yes "$rising"

# The command gets our descriptors and none of the library's; no signal blocked or ignored.
# shellcheck disable=SC2317
fds() { (cd /proc/self/fd && echo *); }
exec 7</dev/null
expect "descriptors" "$(bash -c "$(declare -f fds); fds")" "$("$ZKL" lock $L bash -c "$(declare -f fds); fds")"
exec 7<&-
signals='grep -E "^Sig(Blk|Ign)" /proc/self/status'
expect "signal mask and ignored signals" "$(sh -c "$signals")" "$("$ZKL" lock $L sh -c "$signals")"
expect "an ignored signal stays ignored" "$(env --ignore-signal=CHLD,USR1 sh -c "$signals")" \
    "$(env --ignore-signal=CHLD,USR1 "$ZKL" lock $L sh -c "$signals")"
read -r pid _ _ _ group _ < <("$ZKL" lock $L cat /proc/self/stat)
expect "a process group of its own" "$pid" "$group"

# Others hold it.
hold $L
refused "-n" 1 "$L: " lock -n $L touch "$scratch/ran"
refused "-n -E 99" 99 "$L: " lock -n -E 99 $L touch "$scratch/ran"
refused "-n -E 145" 145 "$L: " lock -n -E 145 $L touch "$scratch/ran" # 128 and SIGCHLD, and no guard is dead
refused "-nE99" 99 "$L: " lock -nE99 $L touch "$scratch/ran"
refused "-w2.5 -E42" 42 "$L: " lock -w2.5 $L -E42 touch "$scratch/ran"
refused "-E 0" 0 "$L: " lock -n -E 0 $L touch "$scratch/ran"
refused "-w 0" 1 "$L: " lock -w 0 $L touch "$scratch/ran"
refused "-w 3" 1 "$L: " lock $L -w 3 touch "$scratch/ran"
refused "-w 2.5 -E 42" 42 "$L: " lock -w 2.5 -E 42 $L touch "$scratch/ran"
if [ -e "$scratch/ran" ]; then fail "none of these ran"; else pass "none of these ran"; fi
expect_soon "one contender is left" 1 contenders $L
let_go
expect "the holder ends well" 0 "$?"
run "$ZKL" lock -n $L true
expect "-n on a free lock" 0 "$status"

# One that retains: what it uses is refused, and what it does not use it yields to a try.
retain $L/kept
retainer lock
refused "-n: it is used" 1 "$L/kept: " lock -n $L/kept touch "$scratch/ran"
retainer unlock
# shellcheck disable=SC2317
yields() { # false also where it was slow, or retains nothing for a while
    retainer lock && retainer unlock && "$ZKL" ls $L/kept | grep -q '^HOLDS.* retain ' &&
        "$ZKL" lock -n $L/kept true
}
if wait_until "-n: it is idle" yields; then pass "-n: it is idle"; fi
retainer_ends
expect_no_node "nothing is retained any more" $L/kept

# A path below an ephemeral node cannot hold contenders.
run "$ZKL" lock $L sh -c 'exec "$ZKL" lock "$ZKL_NODE/below" true'
expect "below an ephemeral node" 65 "$status"
expect_match "below an ephemeral node: named" "^zkl: .*$L/_c_.*/below" "$err"

# Permissions and parents.
if [ -x "$ADMIN" ]; then
    "$ADMIN" create /cli-readonly x && "$ADMIN" readonly /cli-readonly
    refused "no permission on the parent" 77 "^zkl: /cli-readonly/lock: the server refused to create a child of /cli-readonly: the permission create \(c\) is missing\$" lock /cli-readonly/lock true
    refused "no permission on the path" 77 "^zkl: /cli-readonly: the server refused to create a child of it: the permission create \(c\) is missing\$" lock /cli-readonly true
    run "$ZKL" --auth digest:me:secret --acl auth::cdrwa lock /cli-mine true
    expect "nodes with an ACL of one's own" 0 "$status"
    refused "closed to others" 77 "/cli-mine" lock /cli-mine true
    refused "closed to a wrong password" 77 "/cli-mine" --auth digest:me:wrong lock /cli-mine true
    echo digest:me:secret >"$scratch/auth"
    chmod o-rw "$scratch/auth"
    run "$ZKL" --auth-file "$scratch/auth" lock /cli-mine --acl auth::cdrwa true
    expect "--auth-file" 0 "$status"
else
    missing zk-admin "permissions"
fi

# A client cannot see a node's kind (the server's Stat hides it), only that there is one.
for kind in container persistent; do
    run "$ZKL" lock /cli/kinds/$kind/deep --parents $kind true
    expect "--parents $kind" 0 "$status"
done
# The end of the session is the end of the node.
begin_gate
for how in "" -s "-x -v" "--slots 2"; do
    # shellcheck disable=SC2086
    run "$ZKL" --connect "$gate" lock $how $L/end true
    expect "lock $how: status" 0 "$status"
    expect_no_node "lock $how: the node is gone when it ends" $L/end
    if [[ $err = *lost* ]]; then fail "lock $how: nothing is lost" "$err"; else pass "lock $how: nothing is lost"; fi
done
gate undeleted
finish
