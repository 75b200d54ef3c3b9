#!/bin/bash
# Signals to zkl, while its command runs and while it waits.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
export scratch
: "${top_srcdir:=$PWD}"
L=/cli/signals
# A shell without job control starts what is in the background with INT and QUIT ignored.
heard=(env "--default-signal=INT,QUIT")

# A command that notes what it hears: $holder, $command.
listen() { # PATH [LAUNCHER...]
    local path=$1
    shift
    rm -f "$scratch"/{ready,heard,quit}
    "${@:-env}" "$ZKL" lock "$path" bash -c '
        for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>$1/heard" $s; done
        trap "echo CONT >>$1/heard" CONT
        echo $$ >"$1/ready.new"; mv "$1/ready.new" "$1/ready"
        until [ -e "$1/quit" ]; do sleep 0.05; done; exit 0' bash "$scratch" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the command runs" test -e "$scratch/ready" || return 1
    command=$(<"$scratch/ready")
}
# shellcheck disable=SC2317
has_heard() { grep -qx "$1" "$scratch/heard"; }

listen $L "${heard[@]}"
for s in CONT INT HUP QUIT USR1 USR2 WINCH; do
    kill -$s "$holder"
    if wait_until "$s is passed on" has_heard $s; then pass "$s is passed on"; fi
done
touch "$scratch/quit"
status_of "$holder"
expect "the command ends by itself" 0 "$?"

# The second request to end is no request.
listen $L
kill -TERM "$holder"
wait_until "TERM is passed on" has_heard TERM
insist "a second TERM" TERM "$holder" gone "$holder"
status_of "$holder"
expect "a second TERM kills" 137 "$?"
expect "a second TERM: the command is dead" yes "$(gone "$command" && echo yes)"
listen $L "${heard[@]}"
kill -INT "$holder"
wait_until "INT is passed on" has_heard INT
insist "a second INT" INT "$holder" gone "$holder"
status_of "$holder"
expect "a second INT kills" 137 "$?"

# Unless it comes with the first, as that of timeout(1), which signals us and then our group.
for i in {1..8}; do
    listen $L timeout 0
    kill -TERM "$holder"
    wait_until "timeout: TERM is passed on" has_heard TERM
    touch "$scratch/quit"
    status_of "$holder"
    expect "timeout ($i): the command ends by itself" 0 "$?"
done
listen $L "${heard[@]}"
freeze "$holder"
kill -TERM "$holder"
kill -INT "$holder"
kill -CONT "$holder"
wait_until "one of both is passed on" grep -Exq "TERM|INT" "$scratch/heard"
touch "$scratch/quit"
status_of "$holder"
expect "TERM and INT together: the command ends by itself" 0 "$?"

# A command that does not care dies, and so does what it started in its group.
hold $L
kill -TERM "$holder"
status_of "$holder"
expect "a command ended by TERM" 143 "$?"
expect_no_node "nothing is left of it" $L

# All of the group hears it, not only its leader.
"$ZKL" lock $L bash -c '
    exec 2>/dev/null # where bash would tell how its sleep ended
    sleep 1000 &
    trap "" TERM
    echo "$$ $!" >"$1/pids.new"; mv "$1/pids.new" "$1/pids"
    while :; do sleep 0.05; done' bash "$scratch" &
holder=$!
remember "$holder"
wait_until "the command and its member run" test -e "$scratch/pids"
read -r command member <"$scratch/pids"
remember "$command" "$member"
kill -TERM "$holder"
if wait_until "TERM reaches a member" gone "$member"; then pass "TERM reaches a member"; fi
insist "a second TERM" TERM "$holder" gone "$holder"
status_of "$holder"
expect "and a second one kills the deaf leader" 137 "$?"

# TSTP at the tool is the command's. In a session of its own: with a terminal we would stop too.
listen $L setsid
kill -TSTP "$holder"
if wait_until "TSTP stops the command" in_state "$command" T; then pass "TSTP stops the command"; fi
touch "$scratch/quit"
kill -CONT "$holder"
status_of "$holder"
expect "CONT continues it to its own end" 0 "$?"

# A stopped command hears that it is to end.
for s in TERM HUP; do
    hold $L
    freeze "$command"
    kill -$s "$holder"
    status_of "$holder"
    status=$?
    expect "$s ends a stopped command" $((128 + $(kill -l $s))) $status
done

# What was ignored stays so.
listen $L env --ignore-signal=HUP
kill -HUP "$holder"
kill -USR1 "$holder"
wait_until "USR1 comes after HUP" has_heard USR1
expect "nohup means it" USR1 "$(cat "$scratch/heard")"
touch "$scratch/quit"
status_of "$holder"

# Members of the group that outlive the command are left alone.
"$ZKL" lock $L bash -c 'sleep 1000 >/dev/null 2>&1 & echo $!' >"$scratch/member"
member=$(<"$scratch/member")
remember "$member"
if gone "$member"; then fail "a daemon is left alone"; else pass "a daemon is left alone"; fi
expect_no_node "and does not hold" $L
kill -9 "$member"

# kill -9 of the tool is the command's death too. A session ends later.
listen $L
kill -9 "$holder"
status_of "$holder"
if wait_until "kill -9 of the tool kills the command" gone "$command"; then
    pass "kill -9 of the tool kills the command"
fi

# Waiting, for a server or for others: what the page's table says; promptly gone, and no node stays.
W=/cli/signals/wait
wait_with() { # ARG...: $waiter has no terminal
    rm -f "$scratch/err"
    "${heard[@]}" setsid "$ZKL" -v "$@" touch "$scratch/ran" 2>"$scratch/err" &
    waiter=$!
    remember "$waiter"
}
expect_ends() { # WHAT SIGNAL ends|-
    local ends=$2
    kill "-$2" "$waiter"
    [ "$3" = ends ] || { ends=TERM && kill -TERM "$waiter"; }
    status_of "$waiter"
    status=$?
    expect "$2 at $1: $3" "$((128 + $(kill -l "$ends")))" $status
}
expect_row() { # VERB-AND-OPTIONS OPERAND CELL...
    local verb=$1 operand=$2 cells=("${@:3}") i path=$W/${1%% *}
    for i in "${!signals[@]}"; do
        # shellcheck disable=SC2086
        wait_with --connect 127.0.0.1:1 --connect-timeout 1000 $verb /a $operand
        wait_until "$verb has tried to connect" test -s "$scratch/err"
        expect_ends "$verb, without a server" "${signals[i]}" "${cells[i]}"
        has_contenders "$path" 1 || continue
        # shellcheck disable=SC2086
        wait_with $verb "$path" $operand
        wait_until "$verb is in line" has_contenders "$path" 2
        expect_ends "$verb, in line" "${signals[i]}" "${cells[i]}"
        expect_soon "${signals[i]} at $verb: no node stays" 1 contenders "$path"
    done
}
declare -A operands=([member]=me [elect]=me ["elect --once"]=me [shards]=1)
lead $W/elect leader
mkfifo "$scratch/end"
"$ZKL" once $W/once sh -c 'read x <"$1"' sh "$scratch/end" &
runner=$!
remember "$runner"
hold $W/lock
wait_until "each has a line" eval 'has_led leader 1 && has_contenders $W/once 1'
mapfile -t table < <(sed -n '/^\.It verb Ta HUP/,/^\.El/{s/^\.It //; s/ Ta /|/g; /^\./!p}' "$top_srcdir/man/zkl-guard.7")
IFS='|' read -r -a signals <<<"${table[0]#*|}"
for row in "${table[@]:1}"; do
    IFS='|' read -r -a cells <<<"$row"
    expect_row "${cells[0]}" "${operands[${cells[0]}]-}" "${cells[@]:1}"
done
expect "all verbs that run a command" "elect elect--once lock member once shards" \
    "$(printf '%s\n' "${table[@]:1}" | sed 's/|.*//; s/ //' | sort | paste -sd' ')"
let_go
echo >"$scratch/end"
status_of "$runner"

# A process of a term that is stopped is to end, too.
freeze "$(child_of "$candidate")"
kill -TERM "$candidate"
status_of "$candidate"
status=$?
expect "TERM while the candidate is stopped" "0 1" "$status $(wc -l <"$scratch/leader.termed")"

# A string for --on-lost that runs until a signal comes, and writes both to the file.
until_told() { # SIGNAL FILE
    echo "trap 'echo $1 >>$2; exit' $1; echo begun >>$2; while :; do sleep 0.05; done"
}

# What does not end a standby reaches --on-lost.
lead $W/lost me --on-lost "$(until_told USR1 "$scratch/lost")"
wait_until "it leads" has_led me 1
"$ZKL" break --yes $W/lost >"$scratch/out" 2>&1
wait_until "--on-lost runs" test -s "$scratch/lost"
kill -USR1 "$candidate"
if wait_until "USR1 is passed on to --on-lost" grep -qx USR1 "$scratch/lost"; then pass "USR1 is passed on to --on-lost"; fi
kill -TERM "$candidate"
status_of "$candidate"

# One that stands still when --on-lost begins does not know of it yet.
"$ZKL" --session-timeout 4 lock $W/late --on-lost "$(until_told USR1 "$scratch/late")" \
    sh -c ': >"$scratch/late.ready"; exec sleep 1000' 2>/dev/null &
late=$!
remember "$late"
wait_until "it holds" test -e "$scratch/late.ready"
freeze "$late"
wait_until "--on-lost runs without zkl" test -s "$scratch/late"
kill -USR1 "$late"
kill -CONT "$late"
if wait_until "USR1 reaches --on-lost all the same" grep -qx USR1 "$scratch/late"; then pass "USR1 reaches --on-lost all the same"; fi
status_of "$late"
expect "and ends as one that was lost" 75 "$?"

# What ends a standby ends zkl between two terms as well. (A second term would end with 4.)
between_terms() { # WHAT STATUS COMMAND...: that ends the term of $candidate
    rm -f "$scratch"/{lost,led}
    "${heard[@]}" "$ZKL" elect $W/lost me --on-lost "$(until_told QUIT "$scratch/lost")" -- \
        sh -c '[ ! -e "$scratch/led" ] || exit 4; echo >"$scratch/led"; exec sleep 1000' 2>/dev/null &
    candidate=$!
    remember "$candidate"
    wait_until "it leads" test -s "$scratch/led"
    "${@:3}" >"$scratch/out" 2>&1
    wait_until "--on-lost runs" test -s "$scratch/lost"
    kill -QUIT "$candidate"
    status_of "$candidate"
    status=$?
    expect "QUIT between two terms, $1" "$2 begun,QUIT" "$status $(paste -sd, "$scratch/lost")"
}
# shellcheck disable=SC2317
kill_child() { kill -9 "$(child_of "$candidate")"; }
between_terms "the first one lost" 75 "$ZKL" break --yes $W/lost
between_terms "the candidate killed" 70 kill_child

hold $W
"$ZKL" lock $W touch "$scratch/ran" &
waiter=$!
remember "$waiter"
wait_until "the last waiter queues" has_contenders $W 2
kill -WINCH "$waiter"
kill -CONT "$waiter"
let_go
status_of "$waiter"
expect "WINCH and CONT do not end a waiter" 0 "$?"

# Waiting for a server.
for s in INT TERM; do
    rm -f "$scratch/err"
    "${heard[@]}" "$ZKL" --connect 127.0.0.1:1 --connect-timeout 1000 -v lock /a true 2>"$scratch/err" &
    waiter=$!
    remember "$waiter"
    wait_until "it has tried to connect" test -s "$scratch/err"
    kill -$s "$waiter"
    status_of "$waiter"
    status=$?
    expect "$s while connecting" $((128 + $(kill -l $s))) $status
done
finish
