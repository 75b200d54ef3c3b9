#!/bin/bash
# zkl elect as a shell script sees it: statuses, environment, signals, one term with --once.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
E=/cli/elect
heard=(env "--default-signal=INT,QUIT") # see signals.sh

# The command's own status ends it, once or not.
for once in "" --once; do
    for code in 0 1 69 70 75 255; do
        # shellcheck disable=SC2086
        run "$ZKL" elect $E me $once sh -c "exit $code"
        expect "${once:-again and again}: status $code" "$code:" "$status:$err"
    done
    # shellcheck disable=SC2086
    run "$ZKL" elect $E me $once -c 'kill -9 $$'
    expect "${once:-again and again}: killed by a signal" 137 "$status"
    # shellcheck disable=SC2086
    refused "${once:-again and again}: not found" 127 "no-such-command" elect $E me $once no-such-command
done
expect_no_node "nothing is left" $E

# Operands and options: before PATH, before ID, before the command.
run "$ZKL" elect --once $E --layout selector me -w 20 -- printf '<%s>' --once -- -n
expect "options go before each operand" "0:<--once><--><-n>" "$status:$out"
run "$ZKL" elect $E - printenv ZKL_CANDIDATE
expect "- is an id as any" "0:-" "$status:$out"
run "$ZKL" elect $E -- -id printenv ZKL_CANDIDATE
expect "an id that looks like an option" "0:-id" "$status:$out"

# The environment.
run env ZKL_CANDIDATE=old ZKL_TOKEN=old NOTIFY_SOCKET=@nobody-listens-here "$ZKL" elect $E "a b" sh -c '
    echo "$ZKL_PATH $ZKL_CANDIDATE ${NOTIFY_SOCKET-none}"; echo "$ZKL_TOKEN $ZKL_NODE $ZKL_SESSION"
    "$ZKL" ls "$ZKL_PATH" --json; "$ZKL" elect --leader -v $ZKL_PATH'
mapfile -t lines <<<"$out"
expect "ZKL_PATH and ZKL_CANDIDATE" "$E a b none" "${lines[0]}"
expect_match "ZKL_TOKEN, ZKL_NODE and ZKL_SESSION" "^[1-9][0-9]* $E/_c_[0-9a-f-]+-latch-[0-9]{10} 0x[0-9a-f]+\$" "${lines[1]}"
expect_match "ls shows the candidate by its id" '"owner": "a b"' "$out"
expect "the leader is that one" "${lines[1]%% *} a b" "${lines[-1]}"
# shellcheck disable=SC2317
fds() { (cd /proc/self/fd && echo *); }
expect "descriptors" "$(bash -c "$(declare -f fds); fds")" "$("$ZKL" elect $E me bash -c "$(declare -f fds); fds")"
signals='grep -E "^Sig(Blk|Ign)" /proc/self/status'
expect "signal mask and ignored signals" "$(env --ignore-signal=CHLD,USR1 sh -c "$signals")" \
    "$(env --ignore-signal=CHLD,USR1 "$ZKL" elect $E me sh -c "$signals")"

# One term, as of a lock.
lead $E first
leader=$candidate
wait_until "the first one leads" has_led first 1
refused "--once -n" 1 "$E: " elect --once -n $E me touch "$scratch/ran"
refused "--once -n -E 99" 99 "$E: " elect --once -nE99 $E me touch "$scratch/ran"
refused "--once -w" 1 "$E: .* 2\.5 s" elect --once -w 2.5 $E me touch "$scratch/ran"
if [ -e "$scratch/ran" ]; then fail "none of these ran"; else pass "none of these ran"; fi
expect_soon "one candidate is left" 1 contenders $E

# Signals to one who leads are passed on, once each, also those that all of the service gets.
touch "$scratch/first.quit"
status_of "$leader"
expect "a leader ends with its command" 3 "$?"
rm -f "$scratch/heard"
"${heard[@]}" "$ZKL" elect $E me bash -c '
    for s in INT TERM HUP QUIT USR1 USR2 WINCH CONT; do trap "echo $s >>$1/heard" $s; done
    echo $$ >"$1/ready.new"; mv "$1/ready.new" "$1/ready"
    until [ -e "$1/quit" ]; do sleep 0.05; done' bash "$scratch" 2>/dev/null &
leader=$!
remember "$leader"
wait_until "the command runs" test -e "$scratch/ready"
command=$(<"$scratch/ready")
child=$(child_of "$leader")
# shellcheck disable=SC2317
has_heard() { grep -qx "$1" "$scratch/heard"; }
kill -TERM "$child"
for s in HUP QUIT USR1 USR2 WINCH CONT; do
    kill -$s "$leader"
    if wait_until "$s is passed on" has_heard $s; then pass "$s is passed on"; fi
done
expect "what we did not send is not" "" "$(grep -x TERM "$scratch/heard")"
kill -TERM "$leader"
wait_until "TERM is passed on" has_heard TERM
insist "a second request" INT "$leader" gone "$leader"
status_of "$leader"
expect "a second request to end is none" "137:yes" "$?:$(gone "$command" && echo yes)"
expect_no_node "nothing is left of it" $E

# A selector's candidates and a lock exclude each other; a latch's is refused beside them.
lead $E chosen --layout selector
leader=$candidate
wait_until "the selector's candidate leads" has_led chosen 1
refused "a lock waits for it" 1 "$E: " lock -n $E touch "$scratch/ran"
refused "a latch's candidate is refused" 65 "^zkl: $E: .*-lock-.* selector" elect --once -n $E me touch "$scratch/ran"
expect "one leads" "chosen:" "$("$ZKL" elect --leader --layout selector $E):$("$ZKL" elect --leader $E)"
touch "$scratch/chosen.quit"
status_of "$leader"
hold $E
refused "and it waits for a lock" 1 "$E: " elect --once -n --layout selector $E me touch "$scratch/ran"

# Without --once it waits for what is not to be there, with pauses, and says so once.
lead $E me
stray=$candidate
# shellcheck disable=SC2317
tried() { [ "$(grep -c '^waiting' "$scratch/me.lines")" -ge "$1" ]; }
wait_until "a stray lock on its path: it has tried three times" tried 3
expect "a stray lock on its path: it waits" no "$(gone "$stray" && echo yes || echo no)"
let_go
wait_until "a stray lock on its path: it leads when that is gone" has_led me 1
touch "$scratch/me.quit"
status_of "$stray"
expect "a stray lock on its path: it ends with its command" 3 "$?"
expect "a stray lock on its path: what was said" $'is of a lock or of a selector\'s election: use one of that kind, or another path\nnot in line; tried again at least every 30 s' \
    "$(sed -E "s,^zkl: $E: (\"_c_[^ ]*-lock-[0-9]*\" )?,," "$scratch/me.err")"

# What cannot go on ends, also in the process of a term.
if [ -x "$ADMIN" ]; then
    "$ADMIN" create /cli-readonly x && "$ADMIN" readonly /cli-readonly
    refused "no permission" 77 "/cli-readonly" elect /cli-readonly me true
else
    missing zk-admin "permissions"
fi
expect_no_node "nothing is left" $E
finish
