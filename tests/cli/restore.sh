#!/bin/bash
# The server's data is emptied while commands wait: they go on by themselves.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
L=/cli/restore/lock
E=/cli/restore/election

# Kills the server, empties its data and starts it again as it was.
empty_server() {
    local server folder
    local -a command
    server=$(server_pid)
    folder=$(readlink "/proc/$server/cwd")
    mapfile -d '' -t command <"/proc/$server/cmdline"
    kill -9 "$server"
    wait_until "the server is gone" gone "$server"
    rm -rf "$folder/data/version-2"
    (cd "$folder" && exec "${command[@]}" >>log 2>&1) &
    remember $!
    disown $!
}

if [ -z "$(server_pid)" ]; then
    skip "the server is not ours"
    finish
fi

# One holds the lock and leads, one waits and stands by, of each.
"$ZKL" --session-timeout 6 lock $L sh -c 'echo $ZKL_TOKEN >$1/held; exec sleep 1000' sh "$scratch" 2>"$scratch/holder.err" &
holder=$!
remember "$holder"
wait_until "the lock is held" test -s "$scratch/held"
"$ZKL" --session-timeout 6 -v lock $L sh -c 'echo $ZKL_TOKEN >$1/passed' sh "$scratch" 2>"$scratch/waiter.err" &
waiter=$!
remember "$waiter"
wait_until "the next one queues" has_contenders $L 2
lead $E first --session-timeout 6
first=$candidate
wait_until "the first one leads" has_led first 1
lead $E second --session-timeout 6 -v
second=$candidate
wait_until "the second one stands by" has_contenders $E 2

empty_server
status_of "$holder"
expect "the holder loses the lock" 75 "$?"
status_of "$waiter"
expect "who waited gets it" 0 "$?"
expect "with a token" yes "$(test -s "$scratch/passed" && echo yes)"
# The last of them may find that the others have counted past what it has seen.
why="do not accept it any more|expired"
expect_match "and says why" "$why" "$(<"$scratch/waiter.err")"
both_led() { [ -s "$scratch/second.terms" ] && has_led first 2; }
somebody_leads() { [ -s "$scratch/second.terms" ] || has_led first 2; }
wait_until "somebody leads again" somebody_leads
wait_until "both are candidates again" has_contenders $E 2
if has_led first 2; then leader=$first; else leader=$second; fi
kill -TERM "$leader"
status_of "$leader"
wait_until "the other one leads after it" both_led
expect "both have led again" yes "$(both_led && echo yes)"
expect_match "the candidate says why" "$why" "$(<"$scratch/second.err")"
kill -TERM "$first" "$second" 2>/dev/null
finish
