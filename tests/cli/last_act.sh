#!/bin/bash
# The tool is stopped, or killed, again and again: each time the command's last act comes before the
# next holder's first. Rounds run side by side, $ZKL_TEST_SCALE percent of 50 of each kind.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
export scratch tools
L=/cli/last-act
rounds=$((50 * ${ZKL_TEST_SCALE:-100} / 100))
((rounds > 0)) || rounds=1
at_once=10 session=6 # a slow machine must not lose it before it is to be lost
[ -z "${ZKL_INSTRUMENTED-}" ] || at_once=4

# Prints the gap in ns, or what went wrong.
round() { # SIGNAL NUMBER
    local path=$L/$1/$2 mine=$scratch/$1.$2 holder next last first status
    "$ZKL" --session-timeout $session lock "$path" --status-fd 9 sh -c '"$tools/stamp" "$1.member" & exec "$tools/stamp" "$1.leader"' \
        sh "$mine" 9>"$mine.lines" 2>"$mine.err" &
    holder=$!
    wait_until "$path: both act" test -s "$mine.leader" -a -s "$mine.member" || return
    "$ZKL" lock "$path" "$tools/stamp" >"$mine.first" 2>"$mine.next.err" &
    next=$!
    wait_until "$path: the next one queues" has_contenders "$path" 2 || return
    kill -"$1" $holder
    status_of $next || echo "$path: the next one: status $?"
    first=$(<"$mine.first")
    last=$(sort "$mine.leader" "$mine.member" | tail -n 1)
    [ "$1" = STOP ] && kill -CONT $holder
    status_of $holder
    status=$?
    [ "$1:$status" = STOP:75 ] || [ "$1:$status" = KILL:137 ] || echo "$path: the holder: status $status"
    # Nothing was written later, either: the files are as they were.
    [ "$last" = "$(sort "$mine.leader" "$mine.member" | tail -n 1)" ] || echo "$path: it went on"
    echo $((10#$first - 10#$last)) >"$mine.gap"
}

for signal in STOP KILL; do
    for ((i = 0; i < rounds; i += at_once)); do
        batch=()
        for ((j = i; j < i + at_once && j < rounds; j++)); do
            round $signal $j >"$scratch/$signal.$j.trouble" 2>&1 &
            batch+=($!)
            remember $!
        done
        wait "${batch[@]}"
    done
    expect "$signal: no trouble" "" "$(cat "$scratch/$signal".*.trouble)"
    gaps=$(cat "$scratch/$signal".*.gap | sort -n)
    expect "$signal: rounds" $rounds "$(wc -l <<<"$gaps")"
    expect "$signal: overlaps" 0 "$(grep -c -e '^-' <<<"$gaps")"
    echo "$signal: $rounds rounds, smallest gap $(($(head -n 1 <<<"$gaps") / 1000000)) ms"
done
finish
