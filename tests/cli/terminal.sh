#!/bin/bash
# Job control, on a terminal made by script(1).
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    missing script
    finish
fi
need_server
begin
export L=/cli/terminal scratch

# Runs a command line on a new terminal; keys written to descriptor 5 are typed there.
terminal() { # COMMAND-LINE
    rm -f "$scratch"/{keys,screen,ready,ready.new,resumed}
    mkfifo "$scratch/keys"
    # What a shell without job control starts in the background ignores INT, and passes that on. On a dumb terminal
    # zkl does not show that it waits.
    env --default-signal=INT,QUIT TERM=dumb script -qefc "$1" /dev/null <"$scratch/keys" >"$scratch/screen" 2>&1 &
    shell=$!
    remember "$shell"
    exec 5>"$scratch/keys"
}
type_keys() { printf %b "$1" >&5; }
end_terminal() { # its status
    status_of "$shell"
    local status=$?
    exec 5>&-
    return $status
}

# stat(5): field 5 is the process group, field 8 the terminal's foreground group.
in_front='set -- $(cat /proc/self/stat); [ $5 = $8 ] && echo in front || echo behind'
shown() { tr -d '\r' <"$scratch/screen" | tr '\n' ' ' | sed 's/ $//'; }
cat >"$scratch/jobs" <<END
set -m
"\$ZKL" lock \$L sh -c '$in_front'
$in_front
"\$ZKL" lock \$L sh -c '$in_front' | cat
END
terminal "bash $scratch/jobs"
end_terminal
expect "a command is in front that is alone in its job, and we are after it; in a pipe it is not" \
    "in front in front behind" "$(shown)"
terminal "\$ZKL lock \$L sh -c '$in_front'; $in_front"
end_terminal
expect "nor in a script, which may have others to wait for" "behind in front" "$(shown)"
terminal "\$ZKL lock \$L sh -c '$in_front' </dev/null; echo done"
end_terminal
expect "without a terminal as stdin it is let be" "behind done" "$(shown)"
# A standby ends with its terminal; without one HUP is for the command of the one that leads (cli/signals).
terminal "\$ZKL --connect 127.0.0.1:1 --connect-timeout 1000 -v elect /a me true 2>\$scratch/standby & until [ -s \$scratch/standby ]; do sleep 0.05; done; kill -HUP \$!; wait \$!; echo ended \$?"
end_terminal
expect "a standby with a terminal ends at HUP" "ended 129" "$(tr -d '\r' <"$scratch/screen" | grep ended)"
terminal "echo words | \$ZKL lock \$L sh -c 'read x </dev/tty; echo got \$x'"
type_keys 'typed\n'
end_terminal
expect "a command that reads /dev/tty gets it" 0 "$?"
expect_match "and reads it" "got typed" "$(cat "$scratch/screen")"

# A command of several is lent the terminal when it asks for that: it reads, or sets what a terminal does.
cat >"$scratch/script" <<'END'
"$ZKL" lock $L sh -c 'stty -echo; read x; stty echo; echo "got $x"'
read y
echo "then $y"
END
terminal "bash $scratch/script"
type_keys 'one\ntwo\n'
end_terminal
expect_match "a command of a script asks for the terminal and gets it, and the script goes on" "got one.*then two" "$(shown)"

# Others of its group have it while the command does not ask: a pager behind, a parent that reads.
# (A dash that is just executing something by vfork(2) does not stop.)
waits='touch $scratch/ready; until [ -e $scratch/resumed ]; do sleep 0.05; done'
cat >"$scratch/jobs" <<END
set -m
"\$ZKL" lock \$L bash -c '$waits; echo through' | sh -c 'read key </dev/tty; echo "key \$key"; touch \$scratch/resumed; cat'
echo "stopped=\$?"
fg >/dev/null
echo "end=\$?"
END
terminal "bash $scratch/jobs"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0032q\n'
end_terminal
expect_match "a pager behind gets its keys, and after Ctrl-Z and fg, too" "stopped=148.*key q.*through.*end=0" "$(shown)"
cat >"$scratch/script" <<END
exec 3<&0
"\$ZKL" lock \$L bash -c '$waits' <&3 &
until [ -e "\$scratch/ready" ]; do sleep 0.05; done
read line
echo "line \$line"
touch "\$scratch/resumed"
wait
END
terminal "bash $scratch/script"
type_keys 'typed\n'
end_terminal
expect_match "a parent that reads meanwhile gets what is typed" "line typed" "$(shown)"

# Ctrl-C reaches all of a group, as make's with -j.
cat >"$scratch/script" <<'END'
exec 3<&0
trap : INT
for i in 1 2; do
    env --default-signal=INT "$ZKL" lock $L-$i bash -c 'trap "exit 5" INT; echo >>$scratch/ready; while :; do sleep 0.05; done' <&3 &
done
for job in $(jobs -p); do
    until wait $job; status=$?; [ $status = 5 ]; do :; done
    echo "status=$status"
done
END
terminal "bash $scratch/script"
both() { [ "$(wc -l <"$scratch/ready")" = 2 ]; }
wait_until "both commands run" both
type_keys '\0003'
end_terminal
expect_match "Ctrl-C reaches each command of a group" "status=5.*status=5" "$(shown)"

# A script of the same group reads on, whether the tool dies, or its guard.
tool_of() { # GUARD
    local tool
    read -r _ _ _ tool _ <"/proc/$1/stat"
    echo "$tool"
}
cat >"$scratch/script" <<'END'
in_front() { read -r -a stat <"/proc/$$/stat"; [ "${stat[4]}" = "${stat[7]}" ]; }
"$ZKL" lock $L bash -c "$1"'echo $PPID >$scratch/ready.new; mv $scratch/ready.new $scratch/ready; exec sleep 1000'
until in_front; do sleep 0.05; done
read word
echo "word $word"
END
for asks in "" "read x; "; do
    for dies in zkl "the guard"; do
        terminal "bash $scratch/script '$asks'"
        [ -z "$asks" ] || type_keys 'first\n'
        wait_until "the command runs" test -e "$scratch/ready"
        guard=$(<"$scratch/ready")
        if [ "$dies" = zkl ]; then kill -9 "$(tool_of "$guard")"; else kill -9 "$guard"; fi
        type_keys 'next\n'
        end_terminal
        expect_match "$dies dies${asks:+ while the command has the terminal}: a script reads on" "word next" "$(shown)"
    done
done

# Ctrl-C goes to the command, and what it answers is the status.
ready='touch $scratch/ready; while :; do sleep 0.05; done'
terminal "trap : INT; \$ZKL lock \$L sh -c '$ready'; echo status=\$?"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0003'
end_terminal
expect_match "Ctrl-C" "status=130" "$(cat "$scratch/screen")"
terminal "\$ZKL lock --status-fd 9 \$L bash -c 'trap \"exit 5\" INT; $ready' 9>\$scratch/lines; echo status=\$?"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0003'
end_terminal
ended=$?
expect_match "Ctrl-C caught by the command" "started ended 5 released 0 .*status=5" \
    "$(awk '{printf "%s ", /^ended/ ? $0 : $1}' "$scratch/lines")$ended $(cat "$scratch/screen")"

# When the command has ended, the keys are zkl's, even if what it has left would ignore them.
cat >"$scratch/jobs" <<END
set -m
trap : INT
"\$ZKL" lock --wait-children --status-fd 9 \$L sh -c 'sleep 1000 & echo \$! >\$scratch/left' 9>\$scratch/lines
echo status=\$?
END
terminal "bash $scratch/jobs"
wait_until "the command has ended" grep -qx "ended 0" "$scratch/lines"
left=$(<"$scratch/left")
remember "$left"
# shellcheck disable=SC2317
ends_by_key() { gone "$left" || { type_keys '\0003' && false; }; }
if wait_until "Ctrl-C while zkl waits" ends_by_key; then pass "Ctrl-C while zkl waits ends what is left"; fi
end_terminal
expect_match "Ctrl-C while zkl waits: the status is the command's" "status=0" "$(cat "$scratch/screen")"

# While the lock ends, the key makes no difference: lost is lost.
begin_gate
export gate
terminal "trap : INT; \$ZKL --connect \$gate --session-timeout 20 lock \$L --on-suspect=term --status-fd 9 \
    bash -c 'trap \"\" TERM; $ready' 9>\$scratch/lines; echo status=\$?"
wait_until "the command runs" test -e "$scratch/ready"
gate cut
wait_until "it is being ended" grep -q "ending TERM" "$scratch/lines"
type_keys '\0003'
wait_until "it is lost" grep -q lost "$scratch/lines"
gate heal
end_terminal
expect_match "Ctrl-C while the lock ends" "status=75" "$(cat "$scratch/screen")"

# A key that ends the command ends the script around it, after the release. (A command that is a
# bash goes on if the key comes while a child of it is just ending by itself.)
cat >"$scratch/loop" <<'END'
for i in 1 2 3; do
    "$ZKL" lock $L bash -c '[ -e $scratch/ready ] && exit; : >$scratch/ready; exec sleep 1000'
    echo "after $i"
done
END
terminal "exec bash $scratch/loop"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0003'
end_terminal
expect "Ctrl-C ends a script" 130 "$?"
expect "Ctrl-C ends it at once" "" "$(grep after "$scratch/screen")"
expect_no_node "Ctrl-C: the lock is given back" $L

# A key ends a script while zkl waits, too.
hold $L
cat >"$scratch/loop" <<'END'
for i in 1 2 3; do
    "$ZKL" lock $L true
    echo "after $i"
done
END
terminal "exec bash $scratch/loop"
wait_until "it waits" has_contenders $L 2
type_keys '\0003'
end_terminal
expect "Ctrl-C while it waits ends a script" "130:" "$?:$(grep after "$scratch/screen")"
let_go

# Ctrl-Z, and fg, under a shell with job control.
expect_to_stop_and_go_on() { # WHOSE WORD…: zkl's, before the command
    cat >"$scratch/jobs" <<'END'
set -m
"$ZKL" "$@" bash -c 'touch $scratch/ready; until [ -e $scratch/resumed ]; do sleep 0.05; done; exit 6'
echo "stopped=$?"
jobs
touch "$scratch/resumed"
fg >/dev/null
echo "status=$?"
END
    terminal "bash $scratch/jobs ${*:2}"
    wait_until "the command runs" test -e "$scratch/ready"
    type_keys '\0032'
    end_terminal
    screen=$(cat "$scratch/screen")
    expect_match "$1Ctrl-Z: the shell sees a stopped job" "stopped=148.*Stopped" "${screen//[$'\r\n']/ }"
    expect_match "$1fg: it goes on to its own end" "status=6" "$screen"
}
expect_to_stop_and_go_on "" lock $L
expect_match "Ctrl-Z: said before" "zkl: $L: stopped" "$screen"

# Nobody says fg: the guard, which no key stops, ends the group before the deadline, the deaf member
# too. The tool is still stopped then, and says so when it is continued.
declare -f gone >"$scratch/gone" # not exported: a plain sh on the way would drop it
cat >"$scratch/jobs" <<'END'
set -m
"$ZKL" --session-timeout 8 lock $L bash -c '
    (trap "" TERM; exec sleep 1000) &
    echo "$$ $!" >$scratch/pids
    touch $scratch/ready
    while :; do sleep 0.05; done'
echo "stopped=$?"
"$ZKL" lock $L bash -c '. $scratch/gone; for pid in $(cat $scratch/pids); do gone $pid && echo dead; done'
jobs
fg >/dev/null
echo "end=$?"
END
terminal "bash $scratch/jobs"
wait_until "the command runs" test -e "$scratch/ready"
read -r -a pids <"$scratch/pids"
remember "${pids[@]}"
type_keys '\0032'
end_terminal
screen=$(cat "$scratch/screen")
expect_match "Ctrl-Z and no fg: all is dead when the next one is served, we still stopped" "stopped=148.*dead.*dead.*Stopped" "${screen//[$'\r\n']/ }"
expect_match "Ctrl-Z and a late fg: the lock was lost" "end=75" "$screen"

# Ctrl-Z with a command in front of others in a pipe, and put in the background then.
cat >"$scratch/jobs" <<'END'
set -m
"$ZKL" lock $L bash -c 'touch $scratch/ready; until [ -e $scratch/resumed ]; do sleep 0.05; done; echo through' | cat
echo "stopped=$?"
bg >/dev/null
touch "$scratch/resumed"
wait
echo "end=$?"
END
terminal "bash $scratch/jobs"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0032'
end_terminal
screen=$(cat "$scratch/screen")
expect_match "a pipe: all of it stops, bg continues it" "stopped=148.*through.*end=0" "${screen//[$'\r\n']/ }"

# One in the background that sets what a terminal does stops with its command, as the shell must see.
for verb in "lock $L" "elect $L me"; do
    cat >"$scratch/jobs" <<END
set -m
"\$ZKL" $verb bash -c 'stty sane; exit 6' &
until jobs >"\$scratch/seen"; grep -q Stopped "\$scratch/seen"; do sleep 0.05; done
fg >/dev/null
echo "end=\$?"
END
    terminal "bash $scratch/jobs"
    end_terminal
    expect_match "${verb%% *}: a command in the background that needs the terminal stops the job, and fg continues it" "end=6" "$(shown)"
done

# A terminal that goes away takes the command with it, as it would without us.
terminal "\$ZKL lock \$L sh -c 'echo \$\$ >\$scratch/ready.new; mv \$scratch/ready.new \$scratch/ready; while :; do sleep 0.05; done'"
wait_until "the command runs" test -e "$scratch/ready"
command=$(<"$scratch/ready")
kill -9 "$shell"
status_of "$shell"
exec 5>&-
if wait_until "a lost terminal ends the command" gone "$command"; then
    pass "a lost terminal ends the command"
fi
expect_no_node "nothing is left" $L
# zkl elect: its command is one process further away.
cat >"$scratch/jobs" <<END
set -m
"\$ZKL" elect \$L me sh -c '$in_front'
$in_front
"\$ZKL" elect \$L me sh -c '$in_front' | cat
END
terminal "bash $scratch/jobs"
end_terminal
expect "elect: the command is in front, and we are after it; not in a pipe" "in front in front behind" "$(shown)"
cat >"$scratch/loop" <<'END'
for i in 1 2 3; do
    "$ZKL" elect $L me bash -c '[ -e $scratch/ready ] && exit; : >$scratch/ready; exec sleep 1000'
    echo "after $i"
done
END
terminal "exec bash $scratch/loop"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0003'
end_terminal
expect "elect: Ctrl-C ends a script" "130:" "$?:$(grep after "$scratch/screen")"
# Nor does a script go on if what waits for servers is ended.
while read -r said verb words; do
    echo "\"\$ZKL\" --connect 127.0.0.1:1 --connect-timeout 0.3 $verb $words; echo after" >"$scratch/waits"
    terminal "exec bash $scratch/waits"
    wait_until "$verb: it waits" grep -q "$said" "$scratch/screen"
    type_keys '\0003'
    end_terminal
    expect "$verb: Ctrl-C while it waits ends a script" "130:" "$?:$(grep after "$scratch/screen")"
done <<END
line; elect $L me true
answers shards $L 1 true
END
# The keys reach all of us when the command has no terminal from us: that is one request to end.
terminal "trap : INT; \$ZKL elect \$L me bash -c 'trap \"echo heard >>\$scratch/resumed\" INT; touch \$scratch/ready; until [ -s \$scratch/quit ]; do sleep 0.05; done; exit 5' </dev/null; echo status=\$?"
wait_until "the command runs" test -e "$scratch/ready"
type_keys '\0003'
wait_until "it heard" test -s "$scratch/resumed"
echo quit >"$scratch/quit"
end_terminal
expect_match "elect: Ctrl-C without a terminal as stdin" "status=5" "$(cat "$scratch/screen")"
expect "elect: it is heard once" heard "$(<"$scratch/resumed")"
expect_to_stop_and_go_on "elect: " elect $L me
expect_no_node "elect: nothing is left" $L
finish
