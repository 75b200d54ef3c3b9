#!/bin/bash
# zkl member: the command runs while it is a member; --list, --listen, and the manual's loop; zkl ls.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
G=/cli/group

# shellcheck disable=SC2317
listed() { # TEXT: the ids, on one line
    [ "$("$ZKL" member --list $G | awk 'NR > 1 { print $1 }' | paste -sd' ')" = "$1" ]
}
# shellcheck disable=SC2317
heard() { # FILE LINE
    grep -qx "$2" "$scratch/$1"
}
# shellcheck disable=SC2317
ran_last() { # LINE
    [ "$(tail -n 1 "$scratch/ran")" = "$1" ]
}
# A member until $scratch/ID.quit is there.
join() { # ID OPTION...
    local id=$1
    shift
    "$ZKL" member $G "$id" "$@" -- bash -c 'echo "$ZKL_NODE $ZKL_TOKEN" >"$1"
        until [ -e "$2" ]; do sleep 0.05; done' bash "$scratch/$id.node" "$scratch/$id.quit" \
        2>"$scratch/$id.err" &
    member=$!
    remember "$member"
}

run "$ZKL" member --list $G
expect "nobody is there, nor the path" "1::" "$status:$out:$err"
run "$ZKL" member $G one --data 'a b' -- sh -c 'echo "$ZKL_NODE"; exit 7'
expect "the command's status" "7:$G/one:" "$status:$out:$err"
run "$ZKL" member --list $G
expect "and it has left" "1:" "$status:$out"

"$ZKL" member --listen $G >"$scratch/text" 2>"$scratch/listen.err" &
text=$!
"$ZKL" member --listen --json $G >"$scratch/json" 2>>"$scratch/listen.err" &
json=$!
remember "$text" "$json"
# The loop of zkl-member(1), as it is there.
loop=$(sed -n 's/\\-/-/g; /^zkl member --listen .*| while read/,/^done$/p' "${top_srcdir:=$PWD}/man/zkl-member.1")
expect "zkl-member(1) has a loop of four lines" 4 "$(wc -l <<<"$loop")"
setsid bash -c 'zkl() { "$ZKL" "$@"; }; set-backends() { echo "$*" >>"$0/ran"; }
'"${loop//\/services\/web/$G}" "$scratch" 2>"$scratch/loop.err" &
loop=$!
remember "$loop"
join b --data $'10.0.0.2:80\e'
b=$member
wait_until "b is there" listed b
join a
a=$member
wait_until "a is there" listed "a b"
wait_until "b's command runs" test -s "$scratch/b.node"
token=$(cut -d' ' -f2 "$scratch/b.node")
run "$ZKL" member --list --json $G
expect_match "--list --json" "^\{\"token\": [0-9]+, \"id\": \"a\", \"data\": \"\", \"session\": \"0x[0-9a-f]+\"\}"$'\n'"\{\"token\": $token, \"id\": \"b\", \"data\": \"10.0.0.2:80\\\\u001b\", " "$out"
run "$ZKL" ls $G
expect_match "zkl ls shows members" "^ID +TOKEN +SESSION +DATA"$'\n'"a .*-"$'\n'"b +$token +0x[0-9a-f]+ +10.0.0.2:80\\\\x1b$" "$out"
run "$ZKL" ls --json $G
expect_match "and as JSON" '^\['$'\n''  \{"kind": "member", "token": [0-9]+, "id": "a".*\]$' "$out"
wait_until "--listen: joined" heard text "joined $token b 10.0.0.2:80.x1b"
wait_until "the loop: both" ran_last "a b"
# shellcheck disable=SC2046
remember $(pgrep -g "$loop")

# A process that wants an id is told which session has it.
run "$ZKL" member $G b -n -- true
expect_match "-n: another has the id, and who" "^1:zkl: $G: session 0x[0-9a-f]+ has the id b: 10.0.0.2:80[?]"$'\n' "$status:$err"
run "$ZKL" member $G b -w 3 -- true
expect "-w" 1 "$status"

# A member that is killed goes with its command, and can be back at once.
kill -9 "$b"
status_of "$b" 2>"$scratch/killed"
rm "$scratch/b.node"
join b --data again
b=$member
wait_until "b is back long before its session would have ended" test -s "$scratch/b.node"
wait_until "told as left and joined" heard text "left $token b 10.0.0.2:80.x1b"
expect_match "with a higher token" "^$G/b [0-9]+$" "$(<"$scratch/b.node")"
again=$(cut -d' ' -f2 "$scratch/b.node")
if ((again > token)); then pass "higher"; else fail "higher" "$again, $token"; fi
wait_until "joined again" heard text "joined $again b again"

# A member that loses its node loses its command.
if [ -x "$ADMIN" ]; then
    "$ADMIN" delete $G/a
    status_of "$a"
    expect "deleted: the command is ended" 75 "$?"
    wait_until "a has left" listed b
fi
touch "$scratch/b.quit" "$scratch/a.quit"
status_of "$b"
expect "b has left by itself" 0 "$?"
wait_until "told" heard text "left $again b again"
wait_until "the loop: nobody" ran_last ""
join c
wait_until "c is there" heard text "joined .* c"
kill -TERM "$member"
status_of "$member"
expect "TERM" 143 "$?"
wait_until "c has left" heard text "left .* c"
kill -TERM "$text" "$json" "-$loop"
status_of "$text"
expect "TERM ends --listen" 143 "$?"
status_of "$json"
expect "nothing is told twice" "$(sort "$scratch/text" | uniq | wc -l)" "$(wc -l <"$scratch/text")"

# What changes while a listener does not read is gathered. Each line is 16 kB; a pipe has room for 64,
# and so has the queue before it.
if [ -x "$ADMIN" ]; then
    long=$(head -c 16000 /dev/zero | tr '\0' x)
    stall member --listen $G
    for i in {10..25}; do
        "$ADMIN" create "$G/$i$long" ""
        wait_until "$i is told as joined" grep -q "^joined [0-9]* $i" "$scratch/free"
        "$ADMIN" delete "$G/$i$long"
        wait_until "$i is told as left" grep -q "^left [0-9]* $i" "$scratch/free"
    done
    "$ADMIN" create $G/last ""
    unstall
    wait_until "who does not read is told of the end" grep -q "^joined [0-9]* last" "$scratch/stalled"
    expect "and not of all that there was" yes "$(lines stalled 16 || echo yes)"
    expect "but who is told as joined and is gone is told as left" "$(sed -n 's/^joined \([0-9]* [0-9]\).*/\1/p' "$scratch/stalled")" \
        "$(sed -n 's/^left \([0-9]* [0-9]\).*/\1/p' "$scratch/stalled")"
    kill "$stalled" "$free"
    status_of "$stalled"
    status_of "$free"
    "$ADMIN" delete $G/last
else
    missing zk-admin "a reader that does not read"
fi

run "$ZKL" member --layout party $G/p me -- "$ZKL" member --list --layout party $G/p
expect_match "a party" '^0:ID.*'$'\n''me ' "$status:$out"

refused "no command" 64 'no command to run' member $G a
refused "no ID" 64 'no ID given' member $G
refused "--json without a look" 64 '--json needs' member --json $G a true
refused "--data in a look" 64 '--data' member --data x --list $G
refused "--data of a party" 64 '--data' member --data x --layout party $G a true
refused "an unknown layout" 64 'must be group or party' member --layout x $G a true
refused "an operand too many" 64 'take one PATH' member --list $G x
expect_no_node "nothing is left" $G
refused "an ID that is no name" 64 "^zkl: $G: ID is no name of a node\$" member $G a/b true
refused "too many data" 64 "^zkl: $G: --data has more than [0-9]+ bytes\$" member $G x --data "$(head -c 70000 /dev/zero | tr '\0' d)" true
finish
