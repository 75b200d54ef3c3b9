#!/bin/bash
# zkl ls: the queue as a table and as JSON, also when others have written strange things there.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/ls

refused "a missing path" 1 "^zkl: $L/none: no such path\$" ls $L/none
"$ZKL" lock $L true
run "$ZKL" ls $L
expect "nobody there" "0::zkl: $L: no contenders" "$status:$out:$err"
run "$ZKL" ls $L --json
expect "nobody there, as JSON" "0:[]:" "$status:$out:$err"

# Names of children, whatever they are.
N=/cli/names
"$ZKL" lock $N/b true
"$ZKL" lock $N/a true
run "$ZKL" ls --children $N
expect "children" $'0:a\nb:' "$status:$out:$err"
run "$ZKL" ls --children --json $N
expect "children, as JSON" $'0:[\n  "a",\n  "b"\n]:' "$status:$out:$err"
run "$ZKL" ls --children --json $N/a
expect "no children" "0:[]:" "$status:$out:$err"
run "$ZKL" ls / --children
expect_match "children of the root" $'^0:(.*\n)?cli\n(.*\n)?zookeeper$' "$status:$out"
run "$ZKL" --connect "$ZKL_CONNECT/cli/names" ls --children /
expect "children of a chroot" $'0:a\nb:' "$status:$out:$err"
run "$ZKL" --connect "$ZKL_CONNECT/cli" ls --children /names
expect "children below a chroot" $'0:a\nb:' "$status:$out:$err"
refused "children of a missing path" 1 "^zkl: $N/none: no such path\$" ls $N/none --children
refused "children of what is no path" 64 "^zkl: x: " ls x --children
refused "children, and no server" 69 "127.0.0.1:1" --connect 127.0.0.1:1 --connect-timeout 0.5 ls --children /
run "$ZKL" --auth digest:me:secret --acl auth::cdrwa lock $N/mine/lock true
refused "children that may not be seen" 77 "^zkl: $N/mine: the server refused to list the children of it: the permission read \(r\) is missing\$" ls $N/mine --children

hold $L --name "first, Zoë"
"$ZKL" lock $L --name second true &
second=$!
remember "$second"
wait_until "the second queues" has_contenders $L 2
run "$ZKL" ls $L
mapfile -t lines <<<"$out"
expect "one line each" 3 "${#lines[@]}"
expect_match "heads" '^STATE +TOKEN +AGE +KIND +CLIENT +HOST +SESSION +OWNER +NODE$' "${lines[0]}"
expect_match "the holder first" "^HOLDS +[1-9][0-9]* +[0-9]+s  lock  zkl     $(uname -n) +0x[0-9a-f]+ +first, Zoë  +_c_[0-9a-f-]+-lock-[0-9]{10}\$" "${lines[1]}"
expect_match "then the waiter" "^waiting #1  +[1-9][0-9]* +[0-9]+s  lock  zkl     $(uname -n) +0x[0-9a-f]+ +second  +_c_[0-9a-f-]+-lock-[0-9]{10}\$" "${lines[2]}"
column() { # LINE WORD: where the word begins
    local before=${1%%"$2"*}
    echo ${#before}
}
expect "columns line up" "$(column "${lines[0]}" NODE)" "$(column "${lines[1]}" _c_)"
expect "in each line" "$(column "${lines[0]}" NODE)" "$(column "${lines[2]}" _c_)"

# One contender a line, so that a pattern can judge it.
json_line() { # POSITION STATE OWNER
    printf '  \{"position": %d, "state": "%s", "token": [1-9][0-9]*, "age_ms": [0-9]+, ' "$1" "$2"
    printf '"created_ms": 1[0-9]{12}, "kind": "lock", "client": "zkl", "host": "%s", "session": "0x[0-9a-f]+", "owner": "%s", ' "$(uname -n)" "$3"
    printf '"node": "_c_[0-9a-f-]+-lock-[0-9]{10}", "number": [0-9]+, "retains": false, "pid": [1-9][0-9]*\}'
}
run "$ZKL" ls --json $L
newline=$'\n'
expect_match "JSON" "^\[$newline$(json_line 0 holds 'first, Zo\\u00eb'),$newline$(json_line 1 waiting second)$newline\]\$" "$out"

# A tree: who holds, and how many wait.
"$ZKL" lock $L/deep/er --slots 2 --name slot sleep 1000 &
deep=$!
remember "$deep"
wait_until "the deep one holds" has_contenders $L/deep/er 1
run "$ZKL" ls -r $L
expect_match "-r" "^PATH +HOLDS +WAIT${newline}$L +first, Zoë on $(uname -n) \(pid [1-9][0-9]*, for [0-9]+ s\) +1${newline}$L/deep/er +slot on [^ ]+ \(pid $deep, for [0-9]+ s\) +0\$" "$out"
for shard in 10 9 1; do "$ZKL" lock $L/sorted/s-$shard true; done
run "$ZKL" ls --children $L/sorted
expect "numbers in their order" "0:s-1${newline}s-9${newline}s-10" "$status:$out"
run "$ZKL" ls -r /
expect_match "-r of the root" "${newline}$L/deep/er +slot " "$out"
run "$ZKL" --connect "$ZKL_CONNECT/cli" ls --recursive "${L#/cli}"
expect_match "-r in a chroot" "${newline}${L#/cli}/deep/er +slot " "$out"
run "$ZKL" ls -r --json $L
expect_match "-r as JSON" "^\[${newline}  \{\"path\": \"$L\", \"holding\": 1, \"waiting\": 1, \"holder\": \{\"position\": 0, .*\"owner\": \"slot\".*\}\}${newline}\]\$" "$out"
# A look that failed is none that found nobody; the others are shown.
"$ZKL" lock $L/deep/private true
in_private=("$ZKL" --auth digest:me:secret --acl auth::cdrwa lock $L/deep/private)
unread="zkl: $L/deep/private: the server refused to read the data of [^$newline]*"
run "${in_private[@]}" "$ZKL" ls -r $L/deep
expect_match "-r: a contender that may not be read" "^77:PATH [^$newline]*$newline$L/deep/er +slot [^$newline]*:$unread\$" "$status:$out:$err"
run "${in_private[@]}" "$ZKL" ls -r $L/deep/private
expect_match "-r: that one alone" "^77::$unread\$" "$status:$out:$err"
run "${in_private[@]}" "$ZKL" ls -r --json $L/deep/private
expect_match "-r: as JSON" "^77::$unread\$" "$status:$out:$err"
run "${in_private[@]}" "$ZKL" ls $L/deep
expect "members are looked for in readable nodes" "0::zkl: $L/deep: no contenders" "$status:$out:$err"
"$ZKL" --auth digest:me:secret --acl auth::cdrwa lock $L/deep/closed true
refused "a member that may not be read" 77 "refused to read the data of $L/deep/closed: " ls $L/deep
if [ -x "$ADMIN" ]; then
    "$ZKL" once $L/deep/once true
    "$ADMIN" hide $L/deep/once/record
    run "$ZKL" lock $L/deep/once "$ZKL" ls $L/deep/once
    expect_match "a record that may not be read" "^77:STATE .*${newline}HOLDS [^$newline]*:zkl: $L/deep/once/record: the server refused to read the data of it: [^$newline]*\$" "$status:$out:$err"
else
    missing zk-admin "a record that may not be read"
fi
# Paths whose names look like contenders'.
run "$ZKL" lock $L/jobs/1234567890 "$ZKL" lock $L/jobs/order-0000000001/part-0000000002 "$ZKL" ls -r $L/jobs
expect_match "-r: paths that end in ten digits" "^0:PATH [^$newline]*$newline$L/jobs/1234567890 [^$newline]*$newline$L/jobs/order-0000000001/part-0000000002 [^$newline]*:\$" "$status:$out:$err"
# The servers' own paths have no queues, whatever is named there. In a chroot none is theirs.
if [ -x "$ADMIN" ]; then
    "$ADMIN" create /zookeeper/quota/order-0000000001 x
    run "$ZKL" ls -r /zookeeper
    expect "-r: a name of the servers that ends in ten digits" "0::zkl: /zookeeper: no contenders" "$status:$out:$err"
    "$ADMIN" delete /zookeeper/quota/order-0000000001
else
    missing zk-admin "a name of the servers"
fi
run "$ZKL" lock $L/chroot/zookeeper/inner "$ZKL" --connect "$ZKL_CONNECT$L/chroot" ls -r /
expect_match "-r: /zookeeper in a chroot" "^0:PATH [^$newline]*$newline/zookeeper/inner [^$newline]*:\$" "$status:$out:$err"
refused "-r of a missing path" 1 "^zkl: $N/none: no such path\$" ls -r $N/none
refused "-r of a missing path, as JSON" 1 "^zkl: $N/none: no such path\$" ls -r --json $N/none
refused "-r and --children" 64 "-r and --children" ls -r --children $L
kill "$deep"
status_of "$deep"
let_go
status_of $second

# Other programs' payloads. The names rank before any of ours that come later.
if [ -x "$ADMIN" ]; then
    "$ADMIN" create $L/foreign x
    "$ADMIN" create $L/lock- x
    "$ADMIN" create $L/lock-abc x
    "$ADMIN" sequence $L/lock- 'red \033[31m \"quote\" back\\\\slash\nline\ttab \302\233 bell\a'
    "$ADMIN" sequence $L/x-lock- '\377\376 not UTF-8'
    "$ADMIN" sequence $L/y-lock- 'right to left \342\200\256 override'
    run "$ZKL" ls $L
    expect "foreign children are no contenders" 4 "$(wc -l <"$scratch/out")"
    expect "no control character reaches the terminal" "" "$(tr -d '[:print:]\n' <"$scratch/out" | LC_ALL=C tr -d '\200-\377')"
    expect "nor one of C1 or of direction" 0 "$(LC_ALL=C grep -c $'\302\233\|\342\200\256' "$scratch/out")"
    run "$ZKL" ls $L --json
    expect "JSON is ASCII" "" "$(LC_ALL=C tr -d '\40-\176\n' <"$scratch/out")"
    # Every string between its quotes holds no bare quote and only known escapes.
    rest=$(sed -E 's/"([^"\\]|\\(["\\\/bfnrt]|u[0-9a-f]{4}))*"/S/g; s/-?[0-9]+/N/g' "$scratch/out" | tr -d ' \n')
    one='\{S:N,S:S,S:N,S:N,S:N,S:S,S:null,S:null,S:S,S:S,S:S,S:N,S:false,S:null\}'
    expect_match "JSON is well-formed" "^\[$one,$one,$one\]\$" "$rest"
    expect "the owner is complete, but for control characters" 1 "$(grep -cF '"owner": "red ?[31m \"quote\" back\\\\slash?line?tab ?? bella",' "$scratch/out")"
    expect_match "no session owns a node that stays" '"session": "0x0"' "$out"
    refused "what they hold is held" 1 "$L: " lock -n $L true
    for node in $("$ZKL" ls $L | sed -n '2,$s/.* //p'); do "$ADMIN" delete "$L/$node"; done
    run "$ZKL" lock -n $L true
    expect "foreign children hold nothing" 0 "$status"

    # A node's name tells which client made it, and what it is; its data tell where the client is.
    foreign_node() { # DIRECTORY NODE PAYLOAD
        "$ADMIN" create "$L/$1" x 2>/dev/null
        "$ADMIN" create "$L/$1/$2" "$3"
    }
    uuid=0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e hex=0d1c6a4e58c84b51b04e1d4d0a3b0c8e
    ours=${uuid/-4b51-/-8b51-}
    foreign_node locks _c_$uuid-lock-0000000001 10.1.2.3
    foreign_node locks _c_$hex-lock-0000000002 ''
    foreign_node locks ${hex}__lock__0000000003 'worker 7'
    foreign_node locks x-72057594037927936-0000000004 fe80:0:0:0:0:0:0:1%eth0
    foreign_node locks _c_$ours-lock-0000000005 'build-3 pid 77 thread 1'
    foreign_node locks lock-0000000006 'no pid 77 thread 1 host'
    foreign_node locks _c_$uuid-lock-0000000007 __REVOKE__
    foreign_node locks _c_$uuid-lock-0000000008 "$(head -c 5000 /dev/zero | tr '\0' x)"
    foreign_node ruby sh0000000001 ''
    foreign_node ruby sh0000000002 ''
    foreign_node ruby ex0000000003 ''
    foreign_node latches _c_$uuid-latch-0000000001 300.1.2.3
    foreign_node shared _c_$uuid-__READ__0000000001 ''
    foreign_node shared _c_$uuid-__READ__0000000002 ''
    foreign_node shared _c_$uuid-__WRIT__0000000003 ''
    foreign_node leases _c_$uuid-lease-0000000001 ''
    table() { # COLUMNS PATH: without the heads
        "$ZKL" ls "$L/$2" | tail -n +2 | sed 's/waiting #/waiting#/' | awk "{ print $1 }"
    }
    expect "kinds, clients and hosts" "lock curator 10.1.2.3 persistent 10.1.2.3
lock go-zk - persistent -
lock kazoo - persistent worker
lock apache fe80:0:0:0:0:0:0:1%eth0 persistent fe80:0:0:0:0:0:0:1%eth0
lock zkl build-3 persistent build-3
lock ? - persistent no
lock curator - persistent (asked
lock curator - persistent xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" "$(table '$4, $5, $6, $7, $8' locks)"
    expect "zk-ruby's" "HOLDS read zk-ruby
HOLDS read zk-ruby
waiting#2 lock zk-ruby" "$(table '$1, $4, $5' ruby)"
    expect "latches" "HOLDS latch curator -" "$(table '$1, $4, $5, $6' latches)"
    expect "readers and writers" "HOLDS read
HOLDS read
waiting#2 write" "$(table '$1, $4' shared)"
    expect "leases" "HOLDS lease" "$(table '$1, $4' leases)"
    if command -v jq >/dev/null; then
        run "$ZKL" ls $L/locks --json
        expect "the same as JSON" '["lock","curator","10.1.2.3","10.1.2.3"]
["lock","go-zk",null,""]
["lock","kazoo",null,"worker 7"]
["lock","apache","fe80:0:0:0:0:0:0:1%eth0","fe80:0:0:0:0:0:0:1%eth0"]
["lock","zkl","build-3","build-3 pid 77 thread 1"]
["lock",null,null,"no pid 77 thread 1 host"]
["lock","curator",null,"__REVOKE__"]' "$(jq -c '.[0:7][] | [.kind, .client, .host, .owner]' "$scratch/out")"
        expect "a long payload whole" 5000 "$(jq -r '.[7].owner | length' "$scratch/out")"
    fi

    # A holder that retains may be idle. That a waiter retains says nothing new.
    ours=${uuid/-4b51-/-8e7a-}
    foreign_node kept _c_$ours-lock-0000000001 first
    foreign_node kept _c_$ours-lock-0000000002 second
    run "$ZKL" ls $L/kept
    expect_match "one that retains" $'\n''HOLDS \(retains\) .* first .*'$'\n''waiting #1 .* second ' "$out"
    run "$ZKL" ls $L/kept --json
    expect "as JSON" 2 "$(grep -c '"number": [12], "retains": true, "pid": null}' "$scratch/out")"

    # A node that a later version may have made: nobody may hold beside it.
    foreign_node later _c_${uuid/-4b51-/-8b51-}-lamp-0000000000 first
    run "$ZKL" ls $L/later
    expect_match "one of a later version" $'\n''HOLDS .* later .* first ' "$out"
    refused "a lock beside it" 65 "^zkl: $L/later: \"_c_.*\" is of a later version of zkl\$" lock -n $L/later true
else
    missing zk-admin "foreign payloads"
fi

if [ -e /dev/full ]; then
    "$ZKL" ls --json $L >/dev/full 2>"$scratch/err"
    expect "output that cannot be written" "74:zkl: standard output: No space left on device" "$?:$(<"$scratch/err")"
fi
finish
