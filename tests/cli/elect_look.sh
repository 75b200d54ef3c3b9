#!/bin/bash
# zkl elect --listen and --leader tell of leaders, and a candidate tells the service manager.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
E=/cli/look

listen() { # FILE OPTION...
    local file=$1
    shift
    "$ZKL" elect --listen $E "$@" >"$scratch/$file" 2>"$scratch/err" &
    listener=$!
    remember "$listener"
    wait_until "$file: the first line" lines "$file" 1
}
# Leads with that id, until all have been told so, and ends.
reign() { # ID LINES
    "$ZKL" elect $E "$1" bash -c '
        until [ $(wc -l <"$1/text") -ge $2 ] && [ $(wc -l <"$1/json") -ge $2 ]; do sleep 0.05; done' \
        bash "$scratch" "$2"
    wait_until "nobody leads any more" lines text $(($2 + 1))
    wait_until "nobody leads any more, in JSON" lines json $(($2 + 1))
}

run "$ZKL" elect --leader $E
expect "nobody leads, and the path is not there" "1::" "$status:$out:$err"
listen text
text=$listener
listen json --json
json=$listener
strange=$'a "b" \e[31m \\ nobody ☃'
reign one 2
reign "$strange" 4
reign nobody 6
expect_match "changes, one a line" $'^nobody\n[1-9][0-9]* one\nnobody\n[1-9][0-9]* a "b" \\\\x1b\\[31m \\\\ nobody ☃\nnobody\n[1-9][0-9]* nobody\nnobody$' "$(<"$scratch/text")"
if command -v jq >/dev/null; then
    expect "as JSON" "$(printf '%s\n' null one null "$strange" null nobody null)" "$(jq -r '.id' "$scratch/json")"
    expect "the tokens are the same" "$(grep -v '^nobody$' "$scratch/text" | cut -d' ' -f1)" "$(jq -r '.token // empty' "$scratch/json")"
else
    expect_match "as JSON" '^\{"token": null, "id": null\}' "$(<"$scratch/json")"
fi
kill -TERM "$text"
status_of "$text"
expect "TERM ends it" 143 "$?"
kill -TERM "$json"
status_of "$json"

# A reader who has gone, and one who does not read.
mkfifo "$scratch/gone"
"$ZKL" elect --listen $E >"$scratch/gone" 2>"$scratch/err" &
listener=$!
remember "$listener"
head -n 1 "$scratch/gone" >"$scratch/head"
expect "a reader of one line has it" nobody "$(<"$scratch/head")"
lead $E me
status_of "$listener"
expect "and when it is gone, so are we" "141:" "$?:$(<"$scratch/err")"
touch "$scratch/me.quit"
status_of "$candidate"
if [ -x "$ADMIN" ]; then
    # Each leader's line is 16 kB; a pipe has room for 64, and so has the queue before it.
    long=$(head -c 16000 /dev/zero | tr '\0' x)
    for i in {10..29}; do "$ADMIN" create "$E/_c_$i-latch-00000000$i" "$i $long"; done
    stall elect --listen $E
    for i in {10..29}; do
        wait_until "$i leads" grep -q "^[0-9]* $i x" "$scratch/free"
        "$ADMIN" delete "$E/_c_$i-latch-00000000$i"
    done
    wait_until "nobody leads, in the end" lines free 21
    unstall
    wait_until "who does not read is told of the end" grep -qx nobody "$scratch/stalled"
    expect "and not of all that there was" yes "$(lines stalled 14 || echo yes)"
    kill "$stalled" "$free"
    status_of "$stalled"
    status_of "$free"
else
    missing zk-admin "a reader that does not read"
fi

# --leader.
lead $E "$strange"
wait_until "it leads" has_led "$strange" 1
run "$ZKL" elect --leader $E
expect "--leader" '0:a "b" \x1b[31m \ nobody ☃' "$status:$out"
run "$ZKL" elect --leader --json $E
expect "--leader --json" "0:{\"token\": $(cut -d' ' -f2 "$scratch/$strange.terms"), \"id\": \"a \\\"b\\\" \\u001b[31m \\\\ nobody \\u2603\"}" "$status:$out"
kill -TERM "$candidate"
status_of "$candidate"
expect_no_node "it has resigned" $E
run "$ZKL" elect --leader --json $E
expect "--leader --json: nobody" '1:{"token": null, "id": null}' "$status:$out"
if [ -x "$ADMIN" ]; then
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    "$ADMIN" sequence "$E/_c_0-latch-" "$long"
    run "$ZKL" elect --leader $E
    expect "an id of 100 kB" "0:100000" "$status:${#out}"
    "$ADMIN" delete "$E/$("$ZKL" ls $E --json | sed -n 's/.*"node": "\([^"]*\)".*/\1/p')"
else
    missing zk-admin "a long id"
fi
if [ -e /dev/full ]; then
    "$ZKL" elect --leader --json $E >/dev/full 2>"$scratch/err"
    expect "--leader: output that cannot be written" 74 "$?"
fi

# The service manager hears where we are in line, and from the main process.
# shellcheck disable=SC2317
notified() { grep -qE "^$2\$" "$scratch/told.$1"; }
managers=()
# shellcheck disable=SC2317
connected_twice() { [ "$(grep -c connecting "$scratch/told.c")" = 2 ]; }
manager() { # ID ADDRESS
    "$tools/notified" "$2" >"$scratch/told.$1" &
    managers+=($!)
    remember $!
    wait_until "the manager of $1 listens" notified "$1" listening
}
time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z'
manager a "$scratch/socket"
NOTIFY_SOCKET=$scratch/socket lead $E a
a=$candidate
if wait_until "a is told of as leader" notified a "STATUS=leader since $time"; then pass "a is told of as leader"; fi
manager b "@zkl-test-$$-b"
NOTIFY_SOCKET=@zkl-test-$$-b lead $E b
b=$candidate
if wait_until "b is 1st in line" notified b "STATUS=waiting, 1st in line"; then pass "b is 1st in line"; fi
manager c "@zkl-test-$$-c"
NOTIFY_SOCKET=@zkl-test-$$-c lead $E c
c=$candidate
if wait_until "c is 2nd in line" notified c "STATUS=waiting, 2nd in line"; then pass "c is 2nd in line"; fi
# Unless it is in line before it has looked for the first time, it connects.
expect "ready is who is in line" "listening,READY=1" "$(grep -v connecting "$scratch/told.b" | head -n 2 | paste -sd,)"
kill -TERM "$a"
status_of "$a"
wait_until "a is told of as ending" notified a STOPPING=1
expect "a is told of as ending, once" "1:STOPPING=1" "$(grep -c STOPPING "$scratch/told.a"):$(tail -n 1 "$scratch/told.a")"
if wait_until "then b is leader" notified b "STATUS=leader since $time"; then pass "then b is leader"; fi
touch "$scratch/b.quit"
status_of "$b"
wait_until "b is told of as ending" notified b STOPPING=1
wait_until "c leads" has_led c 1
if [ -x "$ADMIN" ]; then
    "$ADMIN" delete "$E/$("$ZKL" ls $E | sed -n '2s/.* //p')"
    wait_until "c leads again" has_led c 2
    wait_until "c is told of as connecting again" connected_twice
fi
touch "$scratch/c.quit"
status_of "$c"

# A term that is over before the main process looks: it was ready, too, or systemd calls it failed.
# shellcheck disable=SC2317
all_dead() { [ -z "$(ps -o stat= --ppid "$1" | grep -v ^Z)" ]; }
if [ -x "$tools/gate" ]; then
    begin_gate
    gate silence
    manager d "$scratch/socket.d"
    NOTIFY_SOCKET=$scratch/socket.d lead $E d --connect "$gate" --connect-timeout 1000 # a second candidate would not come
    d=$candidate
    wait_until "d has a candidate" pgrep -P "$d"
    kill -STOP "$d"
    touch "$scratch/d.quit"
    gate heal
    wait_until "d has led" has_led d 1
    wait_until "its candidate has ended" all_dead "$d"
    kill -CONT "$d"
    status_of "$d"
    wait_until "d is told of as ending" notified d STOPPING=1
    expect "ready is told of a term that was over" "READY=1" "$(grep READY "$scratch/told.d")"
else
    missing gate "a term that is over before the main process looks"
fi
expect "READY is told once" 1 "$(grep -c READY "$scratch/told.c")"
kill "${managers[@]}"
for manager in "${managers[@]}"; do status_of "$manager"; done
run env NOTIFY_SOCKET=nonsense "$ZKL" elect $E me true
expect_match "an address that is none is said, and no more" '^0:zkl: NOTIFY_SOCKET: .*nonsense$' "$status:$err"
expect_no_node "nothing is left" $E
finish
