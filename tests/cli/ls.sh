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

hold $L --name "first, Zoë"
"$ZKL" lock $L --name second true &
second=$!
remember "$second"
wait_until "the second queues" has_contenders $L 2
run "$ZKL" ls $L
mapfile -t lines <<<"$out"
expect "one line each" 3 "${#lines[@]}"
expect_match "heads" '^STATE +TOKEN +AGE +SESSION +OWNER +NODE$' "${lines[0]}"
expect_match "the holder first" '^HOLDS +[1-9][0-9]* +[0-9]+s  0x[0-9a-f]+ +first, Zoë  +_c_[0-9a-f-]+-lock-[0-9]{10}$' "${lines[1]}"
expect_match "then the waiter" '^waiting #1  +[1-9][0-9]* +[0-9]+s  0x[0-9a-f]+ +second  +_c_[0-9a-f-]+-lock-[0-9]{10}$' "${lines[2]}"
column() { # LINE WORD: where the word begins
    local before=${1%%"$2"*}
    echo ${#before}
}
expect "columns line up" "$(column "${lines[0]}" NODE)" "$(column "${lines[1]}" _c_)"
expect "in each line" "$(column "${lines[0]}" NODE)" "$(column "${lines[2]}" _c_)"

# One contender a line, so that a pattern can judge it.
json_line() { # POSITION STATE OWNER
    printf '  \{"position": %d, "state": "%s", "token": [1-9][0-9]*, "age_ms": [0-9]+, ' "$1" "$2"
    printf '"created_ms": 1[0-9]{12}, "session": "0x[0-9a-f]+", "owner": "%s", ' "$3"
    printf '"node": "_c_[0-9a-f-]+-lock-[0-9]{10}", "number": [0-9]+\}'
}
run "$ZKL" ls --json $L
newline=$'\n'
expect_match "JSON" "^\[$newline$(json_line 0 holds 'first, Zo\\u00eb'),$newline$(json_line 1 waiting second)$newline\]\$" "$out"
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
    one='\{S:N,S:S,S:N,S:N,S:N,S:S,S:S,S:S,S:N\}'
    expect_match "JSON is well-formed" "^\[$one,$one,$one\]\$" "$rest"
    expect_match "no session owns a node that stays" '"session": "0x0"' "$out"
    refused "what they hold is held" 1 "$L: " lock -n $L true
    for node in $("$ZKL" ls $L | sed -n '2,$s/.* //p'); do "$ADMIN" delete "$L/$node"; done
    run "$ZKL" lock -n $L true
    expect "foreign children hold nothing" 0 "$status"
else
    skip "zk-admin is not built: foreign payloads"
fi

if [ -e /dev/full ]; then
    "$ZKL" ls --json $L >/dev/full 2>"$scratch/err"
    expect "output that cannot be written" "74:zkl: standard output: No space left on device" "$?:$(<"$scratch/err")"
fi
finish
