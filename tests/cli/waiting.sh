#!/bin/bash
# What is seen of a wait: on a terminal, wide and narrow, with -v, in status lines, and nothing elsewhere; who
# holds, where -n and -w fail. What the command hears of --connect.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/waiting
here=$(uname -n)
who="release 7 on $here \\(pid [1-9][0-9]*, for [0-9]+ s\\)"

hold $L --name "release 7"
refused "-n names the holder" 1 "^zkl: $L: held by somebody else: $who\$" lock -n $L true
refused "-w as well" 1 "^zkl: $L: not acquired within 4 s; held by $who\$" lock -w 4000ms $L true
refused "of several paths, too" 1 "^zkl: $L: held by somebody else: $who\$" lock -n /cli/free --and $L true

# A waiter on a terminal of so many columns. Its screen is what it has written.
on_terminal() { # COLUMNS TERM ARGUMENT...
    screen=$scratch/screen.$1.$2
    env --default-signal=INT,QUIT TERM="$2" script -qefc \
        "stty cols $1; '$ZKL' ${*:3} sh -c 'echo \$((6 * 7))'" /dev/null <"$scratch/.silent" >"$screen" 2>&1 &
    waiter=$!
    remember "$waiter"
}
waits_on() { on_terminal "$1" "$2" lock "${@:3}" $L; } # COLUMNS TERM OPTION...
# shellcheck disable=SC2317
seen() { [[ $(tr -d '\r' <"$screen" | sed 's/\x1b\[K/\n/g') =~ $1 ]]; }
exec 8<>"$scratch/.silent"

"$ZKL" lock $L --name before sleep 1000 &
before=$!
remember "$before"
wait_until "another is before us" has_contenders $L 2
waits_on 100 xterm
third=$waiter third_screen=$screen
wait_until "the line" seen "zkl: $L: waiting, 2nd, behind $who"
kill "$before"
status_of "$before"

# Elsewhere nothing is shown; with -v and --status-fd a line.
run "$ZKL" lock -w 3 $L true
expect "not on a terminal" 1 "$(wc -l <"$scratch/err")"
"$ZKL" -v lock --status-fd 7 $L true 7>"$scratch/lines" 2>"$scratch/verbose" &
verbose=$!
remember "$verbose"
# shellcheck disable=SC2317
line() { grep -qE "$2" "$scratch/$1"; }
if wait_until "-v" line verbose "^zkl: $L: waiting, 2nd, behind $who\$"; then pass "-v"; fi
if wait_until "--status-fd" line lines "^behind 2 [1-9][0-9]* [1-9][0-9]* $here\$"; then pass "--status-fd"; fi
expect "after the first line" waiting "$(head -n 1 "$scratch/lines")"
kill "$verbose"
status_of "$verbose"

# A narrow terminal: the path goes, and what does not fit.
waits_on 44 xterm
wait_until "narrow: the line" seen $'(^|\n)zkl: waiting, 2nd, behind release 7'
expect "narrow: no line is longer" "" "$(tr -d '\r' <"$screen" | sed 's/\x1b\[K/\n/g' | grep -E '.{42}')"
wait_until "narrow: cut" seen '…'
kill "$waiter"
waits_on 100 dumb -w 1.5
status_of "$waiter"
expect "a dumb terminal gets no sequence" 0 "$(grep -c $'\e' "$screen")"

# It is renewed; and when the wait is over, nothing of it is left.
screen=$third_screen
wait_until "the place is renewed" seen "zkl: $L: waiting, 1st, behind $who"
let_go
status_of "$third"
expect "it has run" 0 "$?"
expect_match "and what it writes begins a line" $'\r\e\\[K42\r\n$' "$(<"$third_screen")"$'\n'

# So it is with slots, and with candidates; of several holders a few are named.
S=/cli/waiting-slots E=/cli/waiting-elect
stays() { # ARGUMENT...
    "$ZKL" "$@" sleep 1000 &
    remember $!
}
for _ in 1 2 3 4; do stays lock --slots 4 --name "release 7" $S; done
stays elect $E first
wait_until "all slots are taken" has_contenders $S 4
wait_until "there is a leader" has_contenders $E 1
stays elect $E second
wait_until "a candidate waits" has_contenders $E 2
refused "-n names holders of slots" 1 "^zkl: $S: held by somebody else: $who, $who, $who and 1 more\$" lock -n --slots 4 $S true
refused "-n names the leader" 1 "^zkl: $E: held by somebody else: first \\(for [0-9]+ s\\)\$" elect --once -n $E third true

shows() { # PATH LINE STATUS-LINE VERB OPERAND...
    local path=$1 wanted=$2 told=$3 verb=$4 verbose
    shift 4
    rm -f "$scratch/lines" "$scratch/verbose"
    on_terminal 100 xterm "$verb" "$@"
    wait_until "$verb $path: the line" seen "zkl: $path: $wanted"
    kill "$waiter"
    status_of "$waiter"
    "$ZKL" -v "$verb" --status-fd 7 "$@" true 7>"$scratch/lines" 2>"$scratch/verbose" &
    verbose=$!
    remember "$verbose"
    if wait_until "$verb -v" line verbose "^zkl: $path: $wanted\$"; then pass "$verb $path: -v"; fi
    if wait_until "$verb --status-fd" line lines "^$told\$"; then pass "$verb $path: --status-fd"; fi
    kill "$verbose"
    status_of "$verbose"
}
shows $S "waiting, 1st, behind $who and 3 more" "behind 1 [1-9][0-9]* [1-9][0-9]* $here" lock --slots 4 $S
shows $E "waiting, 2nd, the leader is first \\(for [0-9]+ s\\)" "behind 2 [1-9][0-9]* 0 -" elect $E third
shows $E "waiting, 2nd, the leader is first \\(for [0-9]+ s\\)" "behind 2 [1-9][0-9]* 0 -" elect --once $E third

# The servers of --connect are the command's, too.
run env -u ZKL_CONNECT "$ZKL" --connect "$ZKL_CONNECT/cli" lock /chroot sh -c 'echo "$ZKL_CONNECT"'
expect "--connect reaches the command" "0:$ZKL_CONNECT/cli" "$status:$out"
run "$ZKL" lock $L sh -c 'echo "$ZKL_CONNECT"'
expect "ZKL_CONNECT stays as it is" "0:$ZKL_CONNECT" "$status:$out"
finish
