#!/bin/bash
# zkl watch: changes as lines and as JSON, across a lost server, and on a terminal made by script(1).
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
export L=/cli/watch scratch

watch_into() { # FILE [OPTION...]
    local file=$1
    shift
    "$ZKL" watch $L "$@" >"$scratch/$file" 2>"$scratch/$file.err" &
    watcher=$!
    remember "$watcher"
}
# shellcheck disable=SC2317
says() { grep -qE "$2" "$scratch/$1"; }
says_last() { tail -n 1 "$scratch/$1" | grep -qE "$2"; }
stamp='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z '
# Without the times, and with nodes, tokens and hosts told apart by their owners alone.
here=$(uname -n)
story() { # FILE
    sed -E "s/$stamp//; s/^([a-z]+) [1-9][0-9]* ([^ ]+ [^ ]+ [^ ]+) [^ ]+ /\1 \2 /" "$scratch/$1"
}

refused "a bad path" 64 "a" watch a
refused "--once: no such path" 1 "^zkl: $L: no such path\$" watch --once $L
refused "no server" 69 "127.0.0.1:1" --connect 127.0.0.1:1 --connect-timeout 0.3 watch $L

# Each change is waited for, so that each is seen.
watch_into lines
lines=$watcher
watch_into json --json
json=$watcher
wait_until "it is not there" says lines 'missing$'
wait_until "it is not there, in JSON" says json '"exists": false'
hold $L --name one
one=$holder
wait_until "one holds" says lines ' holds .* one$'
wait_until "one holds, in JSON" says json '"holding": 1, "waiting": 0'
"$ZKL" lock $L --name "second, 2" sh -c 'until [ -e "$1/go" ]; do sleep 0.05; done' sh "$scratch" &
second=$!
remember "$second"
wait_until "the second waits" says lines ' waits .* second, 2$'
wait_until "the second waits, in JSON" says json '"holding": 1, "waiting": 1'
"$ZKL" lock $L --name third true 2>/dev/null &
third=$!
remember "$third"
wait_until "the third waits" says lines ' waits .* third$'
wait_until "in JSON too" says json '"waiting": 2.*third'
kill -TERM $third
status_of $third
wait_until "the third leaves" says lines ' left .* third$'
wait_until "in JSON too" says_last json '"waiting": 1'
echo >"$scratch/letgo"
status_of "$one"
wait_until "the second is granted" says lines ' holds .* second, 2$'
touch "$scratch/go"
status_of $second
wait_until "the second leaves" says lines ' left .* second, 2$'
expect "each has its time" "" "$(grep -vE "$stamp" "$scratch/lines")"
expect "changes, one a line" "missing
exists
holds lock zkl $here one
waits lock zkl $here second, 2
waits lock zkl $here third
left lock zkl $here third
left lock zkl $here one
holds lock zkl $here second, 2
left lock zkl $here second, 2" "$(story lines)"
if command -v jq >/dev/null; then
    # It may look between the making of the path and that of the first node.
    expect "JSON: what there was" 'false 0 0 
true 1 0 one
true 1 1 one+second, 2
true 1 2 one+second, 2+third
true 1 1 one+second, 2' "$(jq -r '"\(.exists) \(.holding) \(.waiting) \([.contenders[].owner] | join("+"))"' "$scratch/json" | uniq | sed '2{/^true 0 0 $/d}' | head -n 5)"
    expect "JSON: times, path, connection" "$L true" "$(jq -r 'select(.time | test("^[0-9]{4}-.*Z$")) | "\(.path) \(.connected)"' "$scratch/json" | uniq)"
    expect "JSON: a line each" "$(wc -l <"$scratch/json")" "$(jq -c . "$scratch/json" | wc -l)"
fi
kill -TERM "$lines" "$json"
status_of "$lines"
expect "TERM ends it" 143 "$?"
status_of "$json"

# Once.
hold $L --name "me"
run "$ZKL" watch --once $L
expect_match "--once" '^0:STATE .*NODE'$'\n''HOLDS .* me +_c_[^ ]*$' "$status:$out"
run "$ZKL" watch --json $L --once
expect_match "--once --json" "^0:\{\"time\": \".*Z\", \"path\": \"$L\", \"connected\": true, \"exists\": true, \"holding\": 1, \"waiting\": 0, \"contenders\": \[\{.*\"me\".*\}\]\}\$" "$status:$out"
if [ -e /dev/full ]; then
    for args in "" --json --once; do
        # shellcheck disable=SC2086
        "$ZKL" watch $args $L >/dev/full 2>"$scratch/err"
        expect "output that cannot be written: $args" "74:zkl: standard output: No space left on device" "$?:$(<"$scratch/err")"
    done
fi

# Somebody asks the holder to give it up, as Curator does. That is seen at the next change.
if [ -x "$ADMIN" ]; then
    watch_into asked
    wait_until "me holds" says asked ' holds .* me$'
    "$ADMIN" set "$L/$("$ZKL" ls $L | sed -n '2s/.* //p')" __REVOKE__
    "$ADMIN" create $L/lock-2147483000 'by \033[31mhand'
    wait_until "it is asked" says asked ' asked '
    wait_until "somebody came" says asked ' waits .*hand$'
    expect "asked, once" "holds lock zkl $here me
asked lock zkl - (asked to revoke)
waits lock ? - by ?[31mhand" "$(story asked)"
    "$ADMIN" create "$L/x 9 lock-2147483001" $'\u202eevil pid 1 thread 1'
    wait_until "a forger came" says asked ' evil pid 1 thread 1$|u202eevil pid 1 thread 1$'
    expect_match "nobody's blank is a column, nothing is invisible" \
        ' lock \? \\u202eevil x\\x209\\x20lock-2147483001 \\u202eevil pid 1 thread 1$' "$(tail -n 1 "$scratch/asked")"
    "$ADMIN" delete "$L/x 9 lock-2147483001"
    "$ADMIN" delete $L/lock-2147483000
    wait_until "it left" says asked ' left .*hand$'
    expect "no second time" 1 "$(grep -c ' asked ' "$scratch/asked")"
    kill -TERM "$watcher"
    status_of "$watcher"
else
    missing zk-admin "a request to revoke"
fi
let_go

# What its holder retains.
watch_into kept
retain $L
retainer lock
wait_until "it retains" says kept ' retains '
"$ZKL" lock $L --name next sh -c 'until [ -e "$1/next" ]; do sleep 0.05; done' sh "$scratch" &
next=$!
remember "$next"
wait_until "the next waits" says kept ' waits .* next$'
retainer unlock
wait_until "the next holds" says kept ' holds .* next$'
touch "$scratch/next"
status_of $next
retainer_ends
wait_until "it is over" says kept ' left .* next$'
expect "who retains, where it holds" "holds lock zkl - retain
retains lock zkl - retain
waits lock zkl $here next
left lock zkl - retain
holds lock zkl $here next
left lock zkl $here next" "$(story kept | grep -v '^missing\|^exists')"
kill -TERM "$watcher"
status_of "$watcher"

# A reader that is gone is noticed without a word to it.
hold $L
mkfifo "$scratch/pipe"
"$ZKL" watch $L >"$scratch/pipe" 2>"$scratch/err" &
watcher=$!
remember "$watcher"
exec 6<"$scratch/pipe"
read -r line <&6
expect_match "a pipe has each line at once" "$stamp" "$line"
exec 6<&-
status_of "$watcher"
expect "and when its reader is gone, so are we" "141:" "$?:$(<"$scratch/err")"
let_go

# The server goes and comes back: what became different meanwhile is told.
begin_gate
export gate
watch_into cut --connect "$gate"
watch_into cutjson --connect "$gate" --json
cutjson=$watcher
hold $L --name before
wait_until "before holds" says cut ' holds .* before$'
wait_until "before holds, in JSON" says cutjson '"owner": "before"'
gate cut
wait_until "disconnected" says cut ' disconnected$'
wait_until "disconnected, in JSON" says cutjson '"connected": false, "exists": true, "holding": 1'
let_go
hold $L --name after
gate heal
wait_until "after holds" says cut ' holds .* after$'
expect "the story goes on" "holds lock zkl $here before
disconnected
connected
left lock zkl $here before
holds lock zkl $here after" "$(story cut | tail -n 5)"
wait_until "connected, in JSON" says cutjson '"connected": true.*after'
kill -TERM "$cutjson"
status_of "$cutjson"
let_go

# What may not be read, from the beginning or from another connection on (servers keep changes from
# those who may not read them): those who look on say so.
if [ -x "$ADMIN" ]; then
    "$ADMIN" create /cli/closed x
    "$ADMIN" hide /cli/closed
    for look in watch "elect --listen" "member --listen"; do
        "$ADMIN" create /cli/closing x
        "$ADMIN" create /cli/closing/_c_0-latch-0000000000 "me"
        rm -f "$scratch/closing" # the last one's
        # shellcheck disable=SC2086
        "$ZKL" --connect "$gate" --connect-timeout 1000 $look /cli/closing >"$scratch/closing" 2>"$scratch/closing.err" &
        looker=$!
        remember "$looker"
        wait_until "$look: it looks" test -s "$scratch/closing"
        gate cut
        "$ADMIN" hide /cli/closing
        gate heal
        status_of "$looker"
        expect_match "$look: no permission any more" "^77:zkl: /cli/closing: .* read \(r\) is missing\$" "$?:$(<"$scratch/closing.err")"
        "$ADMIN" delete /cli/closing/_c_0-latch-0000000000
        "$ADMIN" delete /cli/closing
        # shellcheck disable=SC2086
        refused "$look: no permission" 77 "/cli/closed" $look /cli/closed
    done
fi

# ---- a terminal ----
if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    missing script "a terminal"
    finish
fi

# Watches on a new terminal; keys are written to descriptor 5. What it looked like before and after,
# its name and how it ended are in files. By sh, since bash mends the terminal after each job.
cat >"$scratch/session" <<'END'
stty rows 8 cols 60
stty -g >"$scratch/before"
tty >"$scratch/tty"
"$ZKL" --connect "$1" watch $L &
echo $! >"$scratch/pid"
fg >/dev/null
echo $? >"$scratch/status"
stty -g >"$scratch/after"
END
terminal() { # [CONNECT]
    rm -f "$scratch"/{keys,screen,before,after,pid,status}
    mkfifo "$scratch/keys"
    env --default-signal=INT,QUIT TERM="${term-xterm}" script -qfc "sh -m $scratch/session ${1-$ZKL_CONNECT}" /dev/null \
        <"$scratch/keys" >"$scratch/screen" 2>&1 &
    shell=$!
    remember "$shell"
    exec 5>"$scratch/keys"
    wait_until "the watch runs" test -s "$scratch/pid"
    remember "$(<"$scratch/pid")"
}
type_keys() { printf %b "$1" >&5; }
ended() { # WHAT STATUS
    wait_until "$1: it ends" test -s "$scratch/after"
    status_of "$shell"
    exec 5>&-
    expect "$1: its status" "$2" "$(<"$scratch/status")"
    expect "$1: the terminal is as it was" "$(<"$scratch/before")" "$(<"$scratch/after")"
    expect_match "$1: the page and the cursor too" $'\e\\[\\?25h\e\\[\\?7h\e\\[\\?1049l[^\e]*$' "$(<"$scratch/screen")"
}
# The newest frame, without sequences.
frame() {
    tr -d '\r' <"$scratch/screen" | awk 'BEGIN { RS = "\033\\[H" } { last = $0 } END { printf "%s", last }' | sed 's/\x1b\[[?0-9]*[A-Za-z]//g'
}
# shellcheck disable=SC2317
shows() { [[ $(frame) =~ $1 ]]; }

hold $L --name holder
for i in 1 2 3 4 5 6 7; do
    "$ZKL" lock $L --name "w$i" true &
    remember $!
    waiters[i]=$!
    wait_until "$i queue" has_contenders $L $((i + 1))
done
terminal
wait_until "the screen" shows "1 holds, 7 wait"
# The last line of a whole frame: another one may be half drawn by the next look.
# shellcheck disable=SC2317
shows_whole() {
    text=$(frame)
    [[ $text =~ '… 3 more'$ ]]
}
wait_until "all that fits" shows_whole
mapfile -t lines <<<"$text"
expect_match "the title" "^$L  1 holds, 7 wait  connected  [0-9]{2}:[0-9]{2}:[0-9]{2}\$" "${lines[0]}"
expect_match "the heads" '^STATE +TOKEN +AGE +KIND +CLIENT +HOST +OWNER +NODE$' "${lines[1]}"
expect_match "the holder" "^HOLDS .* lock  zkl     $here +holder  _c_" "${lines[2]}"
expect_match "a waiter" '^waiting #4 .* w4  ' "${lines[6]}"
expect "as many lines as there are rows" 8 "${#lines[@]}"
expect_match "a line that is too long is cut" '…$' "${lines[2]}"
expect "no line is longer than the terminal" 60 "$(wc -L <<<"$text")"
expect "the screen is never cleared" 0 "$(grep -c $'\e\\[2J' "$scratch/screen")"
age() { frame | sed -n '3s/^HOLDS *[0-9]* *\([0-9ms]*\) .*/\1/p'; }
frames() { grep -o $'\e\\[H' "$scratch/screen" | wc -l; }
then=$(age) drawn=$(frames)
# shellcheck disable=SC2317
older() { [ "$(age)" != "$then" ] && [ "$(frames)" -gt $((drawn + 3)) ]; }
if wait_until "ages change by themselves" older; then pass "ages change by themselves"; fi
stty -F "$(<"$scratch/tty")" rows 20 cols 100
if wait_until "it grows with the terminal" shows "waiting #7 .* w7 "; then pass "it grows with the terminal"; fi
# stty sets the one after the other.
if wait_until "to its width" shows '_c_[0-9a-f-]+-lo'; then pass "to its width"; fi
let_go
for i in 1 2 3 4 5 6 7; do status_of "${waiters[i]}"; done
if wait_until "all left" shows '  0 hold, 0 wait  connected  '; then pass "changes are drawn"; fi
type_keys q
ended "q" 0

# Other ends, and a stop between.
terminal
wait_until "the screen" shows "connected"
type_keys '\0003'
ended "Ctrl-C" 130
terminal
wait_until "the screen" shows "connected"
kill -TERM "$(<"$scratch/pid")"
ended "TERM" 143
cp "$scratch/session" "$scratch/session.plain"
sed -i 's/^echo $? >"$scratch\/status"/stty -g >"$scratch\/stopped"\nfg >\/dev\/null\n&/' "$scratch/session"
terminal
wait_until "the screen" shows "connected"
type_keys '\0032'
wait_until "Ctrl-Z: it stops" test -s "$scratch/stopped"
expect "Ctrl-Z: the terminal is as it was" "$(<"$scratch/before")" "$(<"$scratch/stopped")"
wait_until "fg: it draws again" shows "connected"
type_keys q
ended "Ctrl-Z, fg and q" 0
cp "$scratch/session.plain" "$scratch/session"

# A server that goes, and a path.
terminal "$gate"
wait_until "the screen" shows "  connected"
gate cut
if wait_until "disconnected" shows '  disconnected, as of [0-9:]{8}  '; then pass "a lost connection is shown"; fi
gate heal
if wait_until "connected again" shows '  connected'; then pass "and that it is back"; fi
type_keys q
ended "q after that" 0
if [ -x "$ADMIN" ]; then
    "$ADMIN" delete $L
    terminal
    if wait_until "no such path" shows '  no such path, waiting for it  '; then pass "a path that is not there is waited for"; fi
    "$ADMIN" create $L x
    if wait_until "now there is" shows '  0 hold, 0 wait  connected'; then pass "and seen when it comes"; fi
    type_keys q
    ended "q on an empty path" 0
fi

# A terminal that is another session's: nobody could put us in front there. Its keys are ours all the
# same; and without them, it is noticed when it goes.
bare_terminal() {
    rm -f "$scratch"/{keys,screen,tty,after}
    mkfifo "$scratch/keys"
    script -qfc "tty >$scratch/tty; exec sleep 1000" /dev/null <"$scratch/keys" >"$scratch/screen" 2>&1 &
    shell=$!
    remember "$shell"
    exec 5>"$scratch/keys"
    wait_until "the terminal" test -s "$scratch/tty"
}
end_terminal() {
    kill -9 "$shell"
    status_of "$shell"
    exec 5>&-
}
watch_beside() { # INPUT
    TERM=xterm setsid -w "$ZKL" watch $L <"$1" >"$(<"$scratch/tty")" 2>"$scratch/err" &
    watcher=$!
    remember "$watcher"
    wait_until "the screen" shows "connected"
}
bare_terminal
watch_beside "$(<"$scratch/tty")"
type_keys q
status_of "$watcher"
expect "q on another session's terminal" "0:" "$?:$(<"$scratch/err")"
end_terminal
bare_terminal
watch_beside /dev/null
end_terminal
status_of "$watcher"
expect "a terminal without keys goes" 129 "$?"

# A terminal that cannot be drawn upon has lines.
term=dumb terminal
hold $L --name plain
wait_until "lines" grep -q 'holds .* plain' "$scratch/screen"
expect "a dumb terminal gets no sequence" 0 "$(grep -c $'\e' "$scratch/screen")"
type_keys '\0003'
status_of "$shell"
exec 5>&-
let_go
finish
