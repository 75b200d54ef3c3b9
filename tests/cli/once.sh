#!/bin/bash
# zkl once: who runs the command, what is recorded, and what scripts see of it.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/once

for bad in x 0 9ms; do
    refused "--every $bad" 64 "^zkl: " once --every $bad $L true
done
refused "--slack without --every" 64 "^zkl: --slack: is for --every" once --slack 1 $L true
refused "half the period of slack" 64 "^zkl: --slack must be less than half of --every\$" once --every 2 --slack 1 $L true
refused "--status and --reset" 64 "exclude each other" once $L --status --reset
refused "--status with a command" 64 "^zkl: --status: runs no command" once $L --status true
refused "no command" 64 "no command to run" once $L
refused "--at and --every" 64 "^zkl: --at and --every exclude each other\$" once --at '5 * * * *' --every 1h $L true
refused "--zone without --at" 64 "^zkl: --zone: is for --at\$" once --every 1h --zone UTC $L true
refused "--late without --at" 64 "^zkl: --late: is for --at and --status\$" once --every 1h --late 1h $L true
refused "--late 0" 64 "^zkl: --late: must be more than 0\$" once --at '5 * * * *' --late 0 $L true
refused "--json without --status" 64 "^zkl: --json: is for --status\$" once --json $L true
refused "no calendar" 64 "^zkl: --at: the second field must have hours, 0 to 23\$" once --at '30 24 * * *' $L true
refused "no zone" 64 "^zkl: --zone is none that this host's tzdata has\$" once --at '5 * * * *' --zone Europe/Nowhere $L true
refused "too much slack" 64 "^zkl: --slack must be 1h at most\$" once --at '5 * * * *' --slack 2h $L true
refused "too late" 64 "^zkl: --late must be 366 days at most\$" once --at '5 * * * *' --late 9000h $L true

# Once for all.
refused "nothing is recorded" 1 "^zkl: $L: no run is recorded" once $L --status
run "$ZKL" once $L -- sh -c 'echo ran; exit 3'
expect "a command that fails gives its status" "3:ran" "$status:$out"
refused "and is not recorded" 1 "no run is recorded" once $L --status
run "$ZKL" once --name web1 $L -- echo ran
expect "the next one runs it" "0:ran:" "$status:$out:$err"
run "$ZKL" once $L -- echo ran
expect "nobody runs it again" "0::" "$status:$out:$err"
run "$ZKL" once -E 9 $L -- echo ran
expect "-E tells" "9:" "$status:$out"
run "$ZKL" once --verbose $L -- echo ran
expect_match "--verbose says whose run" "^0:.*$L: run by web1 .* at 20[0-9-]*T[0-9:]*Z" "$status:$out${err//$'\n'/ }"
run "$ZKL" once $L --status
expect_match "--status shows it" "^0:run by web1 [^,]* at 20[0-9-]*T[0-9:]*Z\$" "$status:$out"
run "$ZKL" ls $L
expect_match "zkl ls shows it" "run by web1 [^,]* at 20[0-9-]*T[0-9:]*Z\$" "$out"
run "$ZKL" once $L --reset
expect "--reset" "0:" "$status:$err"
run "$ZKL" once $L -- echo ran
expect "behind a reset it is run" "0:ran" "$status:$out"
run "$ZKL" once $L-reset -- "$ZKL" once $L-reset --reset
expect "a reset of nothing, while the first run goes on" "0:" "$status:$err"
run "$ZKL" once $L-reset --status
expect "leaves that run to be recorded" "0:" "$status:$err"
"$ZKL" once $L-again --every 10ms -- true
refused "a reset of a record, while the next run goes on" 70 "^zkl: $L-again/record: the record was reset in between\$" \
    once $L-again --every 10ms -- "$ZKL" once $L-again --reset
refused "leaves none" 1 "no run is recorded" once $L-again --status
expect_no_node "nobody is left in line" $L

# Once a period.
run "$ZKL" once --every 1h $L-hourly -- echo ran
expect "a first run" "0:ran" "$status:$out"
run "$ZKL" once --every 1h $L-hourly -- echo ran
expect "none in the same period" "0:" "$status:$out"
run "$ZKL" once $L-hourly --status
expect_match "when it is due again" "^0:run by .* at .*Z, due again at 20[0-9-]*T[0-9:]*Z\$" "$status:$out"
ran() { [ "$("$ZKL" once --every 300ms $L-often -- echo ran)" = ran ]; }
wait_until "a run" ran
wait_until "a run in the next period" ran

# For each instant of a calendar, of which the last one was two hours ago.
at=$(date -u -d '-2 hours' '+%-M %-H * * *')
by_calendar() { # [OPTION...]
    run "$ZKL" once --at "$at" "$@" $L-at -- echo ran
}
by_calendar
expect_match "no run is recorded, and it is late" \
    "^79::zkl: .*/record: overdue: the last instant of .* UTC has no run, and it is too late for one\$" "$status:$out:$err"
by_calendar --late 3h
expect "not too late, by hand" "0:ran:" "$status:$out:$err"
by_calendar --late 3h
expect "the instant has its run" "0::" "$status:$out:$err"
by_calendar
expect "so it is not overdue" "0::" "$status:$out:$err"
run "$ZKL" once $L-at --status
expect_match "the instant is shown" \
    "^0:run by .* at .*Z for 20[0-9-]*T$(date -u -d '-2 hours' +%H):[0-9]* of .* \* UTC, due again at 20[0-9-]*T.*Z\$" "$status:$out"
run "$ZKL" once $L-at --status --json
expect_match "as JSON" "^0:[{]\"state\": \"done\", .*\"due_ms\": [0-9]*, .*\"calendar\": \".* UTC\", \"instant_ms\": [0-9]*[}]\$" \
    "$status:$out"
run "$ZKL" once $L-at --status --metrics-file "$scratch/once.prom"
expect_match "as metrics" "^zkl_once_due_timestamp_seconds[{]path=\"$L-at\"[}] [0-9]*[.]000\$" \
    "$(grep '^zkl_once_due' "$scratch/once.prom")"
for other in "--zone Europe/Berlin" "--every 1h"; do
    calendar=(--at "$at")
    [ "$other" = "--every 1h" ] && calendar=()
    # shellcheck disable=SC2086
    refused "hosts disagree: $other" 65 "its series is of .* UTC, and not of " once "${calendar[@]}" $other $L-at echo ran
done
refused "hosts disagree: another calendar" 65 "its series is of .* UTC, and not of 7 7 \* \* \* UTC\$" \
    once --at '7 7 * * *' $L-at echo ran
refused "hosts disagree: none" 65 "its series is of .* UTC, and not of no calendar\$" once $L-at echo ran
refused "a calendar, and the series has none" 65 "its series is of no calendar, and not of " once --at "$at" $L-hourly echo ran
run "$ZKL" once $L-at --reset
by_calendar --late 3h
expect "another series" "0:ran" "$status:$out"
"$ADMIN" set $L-at/record 'zkl once 2 1000 2000 1 0 60000 120000 13\n5 * * * * UTC'
refused "tzdata differs" 65 "recorded with another time of the zone than this host's tzdata has for it\$" \
    once --at '5 * * * *' $L-at echo ran
"$ADMIN" set $L-at/record 'zkl once 3 1000 2000 1 0\n'
refused "a record of a version to come" 65 "its data are no record of a run\$" once --at '5 * * * *' $L-at echo ran

# What the pages and the example say to crontabs runs, and their own times are those of the crontab.
: "${top_srcdir:=$PWD}"
lines=0
while IFS= read -r line; do
    lines=$((lines + 1))
    eval "set -- ${line##*zkl once}"
    while [ "$1" != -- ]; do
        [ "$1" != --at ] || fields=$2
        [ "${1#/}" = "$1" ] || path=$1
        options+=("$1")
        shift
    done
    "$ZKL" once "$path" --reset
    run "$ZKL" once "${options[@]}" --late 8000h -- echo ran
    expect "${line#*zkl }" "0:ran:" "$status:$out:$err"
    case $line in [0-9]*)
        read -r minute hour days month weekdays _ <<<"$line"
        expect "the crontab's times are those of --at" "$minute $hour $days $month $weekdays" "$fields"
        ;;
    esac
    options=()
done < <(sed 's/\\-/-/g; s/^[| ]*//; s/.*| `zkl once/zkl once/; s/`.*//' "$top_srcdir"/docs/guide/operations.md \
    "$top_srcdir/README.md" "$top_srcdir/man/zkl-once.1" "$top_srcdir/examples/nightly.cron" | grep 'zkl once --at .* -- /')
expect "lines for crontabs" 8 $lines

# When it is overdue.
run "$ZKL" once --every 10ms $L-overdue -- echo ran
overdue() {
    run "$ZKL" once $L-overdue --status --late 1ms
    [ $status != 0 ]
}
wait_until "it is overdue" overdue
expect_match "--status: overdue" "^79:run by .*:zkl: $L-overdue: overdue: no run is recorded since it was due\$" "$status:$out:$err"
run "$ZKL" once $L-overdue --status --late 1ms --json
expect_match "overdue, as JSON" "^79:[{]\"state\": \"overdue\", " "$status:$out"
run "$ZKL" once $L-nothing --status --json
expect_match "nothing, as JSON" "^1:[{]\"state\": \"none\", \"token\": 0, \"begun_ms\": null, " "$status:$out"

# The others wait, and leave when it is recorded.
mkfifo "$scratch/end"
"$ZKL" once $L-long -- sh -c ': >"$1/begun"; read x <"$1/end"' sh "$scratch" &
runner=$!
remember "$runner"
wait_until "it runs" test -e "$scratch/begun"
run "$ZKL" once -n $L-long -- echo ran
expect "-n: somebody else runs it" "1:" "$status:$out"
waiters=()
for i in 1 2 3; do
    "$ZKL" once $L-long -- touch "$scratch/second" &
    waiters+=($!)
    remember "$!"
done
wait_until "three wait" has_contenders $L-long 4
echo >"$scratch/end"
status_of "$runner"
expect "the runner" 0 $?
for waiter in "${waiters[@]}"; do
    status_of "$waiter"
    expect "one that waited" 0 $?
done
expect "nobody ran it a second time" "" "$(ls "$scratch/second" 2>/dev/null)"

# What was asked to end may have left half of the work.
for signal in TERM HUP USR1; do
    rm -f "$scratch/begun"
    "$ZKL" once $L-$signal -- sh -c 'trap "echo told; exit 0" TERM HUP USR1; : >"$1/begun"; while :; do sleep 0.1; done' \
        sh "$scratch" >"$scratch/told" 2>"$scratch/err" &
    runner=$!
    remember "$runner"
    wait_until "it runs" test -e "$scratch/begun"
    kill -$signal "$runner"
    status_of "$runner"
    status=$?
    expect "$signal: nor is that success" "$([ $signal = USR1 ] && echo 0 || echo $((128 + $(kill -l $signal))))" $status
    run "$ZKL" once $L-$signal -- echo again
    expect "$signal: a run of a command that was asked to end does not count" \
        "told:$([ $signal = USR1 ] || echo again)" "$(<"$scratch/told"):$out"
done

# While zkl records the run, the answers of the server are lost. zkl hears signals while it waits for an answer.
begin_gate
# shellcheck disable=SC2317
recorded() { [ "$("$ZKL" once "$1" --status)" ]; }
for signal in TERM INT HUP USR1; do
    rm -f "$scratch/begun"
    env --default-signal=INT "$ZKL" --connect "$gate" once $L-deaf-$signal -- sh -c ': >"$1/begun"; read x <"$1/end"' \
        sh "$scratch" 2>"$scratch/err" &
    runner=$!
    remember "$runner"
    wait_until "it runs" test -e "$scratch/begun"
    gate deafen
    echo >"$scratch/end"
    wait_until "it is recorded" recorded $L-deaf-$signal
    kill -$signal "$runner"
    status_of "$runner"
    status=$?
    expect "$signal: heard while the run is recorded" \
        "$((128 + $(kill -l $signal))):zkl: $L-deaf-$signal: asked to end before the servers had said whether the run is recorded" \
        "$status:$(without_outages "$scratch/err")"
    gate heal
done

# The same where the thread that records has not begun when zkl is asked to end: it still has the grant then. glibc
# overwrites what is freed.
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "nothing can be loaded before a sanitizer: a thread that begins late"
else
    LATE_THREAD=$scratch/late LD_PRELOAD="$tools/.libs/libslowproc.so${LD_PRELOAD:+:$LD_PRELOAD}" MALLOC_PERTURB_=165 \
        "$ZKL" once --metrics-file "$scratch/late.prom" $L-late -- touch "$scratch/late.from" 2>"$scratch/err" &
    runner=$!
    remember "$runner"
    wait_until "a thread begins late: it waits" test -e "$scratch/late.late"
    kill -TERM "$runner"
    expect_no_node "a thread begins late: the lock is given back" $L-late
    touch "$scratch/late"
    status_of "$runner"
    expect "a thread begins late: the grant is there" 143 "$?"
    refused "a thread that begins late records nothing" 1 "no run is recorded" once $L-late --status
fi

# A killed runner's work is begun again.
"$ZKL" once $L-killed -- sh -c ': >"$1/first"; exec sleep 1000' sh "$scratch" &
runner=$!
remember "$runner"
wait_until "it runs" test -e "$scratch/first"
"$ZKL" once $L-killed -- touch "$scratch/again" &
waiter=$!
remember "$waiter"
wait_until "the next one waits" has_contenders $L-killed 2
kill -KILL "$runner"
status_of "$waiter"
expect "the next one's status" 0 $?
wait_until "the next one has run it" test -e "$scratch/again"

# A server that does not answer is no answer.
if [ -x "$tools/gate" ]; then
    begin_gate
    for look in --status --reset; do
        gate mute
        refused "$look: no answer" 69 "" --connect "$gate" --connect-timeout 1 once $look $L
        gate heal
    done
else
    missing gate "a server that does not answer"
fi
finish
