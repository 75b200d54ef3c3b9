#!/bin/bash
# A hostile server and hostile clients: whatever they put into names and data, nothing that zkl shows
# drives a terminal, and a node that pretends to be another's takes and frees nothing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}"
command -v python3 >/dev/null || { missing python3; finish; }
need_server
[ -x "$ADMIN" ] || { missing zk-admin; finish; }
begin
uuid=0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e
H=/hostile words='HOSTILEA \033[31m \302\233 \342\200\256 \377\376 \r\n\tHOSTILEB HOSTILEC'

node() { # DIRECTORY NODE [DATA]
    "$ADMIN" create "$H" x 2>/dev/null
    "$ADMIN" create "$H/$1" x 2>/dev/null
    "$ADMIN" create "$H/$1/$2" "${3-$words}"
}
turn=$'\342\200\256' # right to left: a character that servers let into names
node lock "x$turn-lock-0000000001"
node lock _c_$uuid-lock-0000000003
node latch _c_$uuid-latch-0000000001
node group "a$turn"
node party ${uuid//-/}__party__0000000001
node layout "x$turn-__READ__0000000001"
node names HOSTILEA-lock-0000000001
node names HOSTILEB
node names HOSTILEC

# The same servers, seen through the hostile one.
coproc python3 -B "$top_srcdir/tests/cli/mangle.py" "$ZKL_CONNECT"
read -r ZKL_CONNECT <&"${COPROC[0]}"

# Text in UTF-8 without what moves a cursor, a direction or a line: C0, DEL, C1, bidi, separators.
clean() { # FILE
    iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1 &&
        ! LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -qaP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c'
}

# Where hostile text is due it is there, in an escaped form.
escaped='\\x1b|\\x9b|\\u|\?|�'
shown() { # WHAT
    cat "$scratch/out" "$scratch/err" >"$scratch/both"
    if clean "$scratch/both" && grep -qE "$escaped" "$scratch/both"; then
        pass "$1: shown, and clean"
    else
        fail "$1: shown, and clean" "$(head -c 2000 "$scratch/both" | cat -v)"
    fi
}

while read -r args; do
    # shellcheck disable=SC2086
    run "$ZKL" $args
    shown "$args"
done <<LIST
ls $H/lock
ls --json $H/lock
ls --children $H/lock
ls --children $H/names
ls --children --json $H/names
watch --once $H/lock
watch --once --json $H/lock
break --yes $H/lock
elect --leader $H/latch
elect --leader -v $H/latch
elect --leader --json $H/latch
member --list $H/group
member --list --json $H/group
member --list --layout party $H/party
member --list --layout party --json $H/party
lock -n $H/layout true
LIST

# libzookeeper asks for no node of such a name.
run "$ZKL" ls $H/names
expect "names that cannot be" "69:zkl: $H/names: the server gave an invalid answer" "$status:$err"
node lock "y$turn-lock-0000000001"

# As it comes: what is there first, and one more.
listen() { # FILE ARG...
    local file=$1
    shift
    "$ZKL" "$@" >"$scratch/$file.out" 2>"$scratch/$file.err" &
    remember $!
    listeners+=("$!")
}
# The first line need not be one in which hostile text is due.
has_shown() { # FILE
    [ -s "$scratch/$1.out" ] && grep -qE "$escaped" "$scratch/$1".{out,err}
}
listeners=()
listen watch watch $H/lock
listen watch-json watch --json $H/lock
listen elect elect --listen $H/latch
listen elect-json elect --listen --json $H/latch
listen member member --listen $H/group
listen member-json member --listen --json $H/group
listen party member --listen --layout party $H/party
for file in watch watch-json elect elect-json member member-json party; do
    wait_until "$file: something is shown" has_shown "$file"
    cp "$scratch/$file.out" "$scratch/out"
    cp "$scratch/$file.err" "$scratch/err"
    shown "$file, as it changes"
done
expect "one member is one line" 1 "$(wc -l <"$scratch/party.out")"
kill "${listeners[@]}"
for listener in "${listeners[@]}"; do status_of "$listener"; done

# Nodes with the id of a contender of ours, made by somebody else, before it and behind it.
P=$H/own
"$ZKL" lock $P true
"$ZKL" lock $P true
hold $P --name holder
forge() { # NODE NUMBER
    "$ADMIN" create "$P/${1%??????????}$2" "$words"
}
own=$("$ZKL" ls --children $P)
forge "$own" 0000000000
forge "$own" 0000009999
"$ZKL" lock $P --name waiter touch "$scratch/waited" &
waiter=$!
remember "$waiter"
waiters_node() { "$ZKL" ls --json $P | sed -nE 's/.*"owner": "waiter", "node": "([^"]*)".*/\1/p'; }
waits() { [ -n "$(waiters_node)" ]; }
wait_until "a waiter is in line" waits
queued=$(waiters_node)
forge "$queued" 0000000001
expect "who holds goes on" "" "$(gone "$holder" && echo it has ended)"
let_go
expect "who holds ends in peace" 0 "$?"
expect "its own node is gone" 0 "$("$ZKL" ls --children $P | grep -c "^$own\$")"
expect "those that pretend to be it are not" 2 "$("$ZKL" ls --children $P | grep -c "^${own%??????????}")"
expect "who waits does not hold in another's place" no "$([ -e "$scratch/waited" ] && echo yes || echo no)"
"$ADMIN" delete "$P/${own%??????????}0000000000"
"$ADMIN" delete "$P/${queued%??????????}0000000001" 2>/dev/null # unless who waits has removed it
status_of "$waiter"
expect "it holds when those before it are gone" 0 "$?"
expect "it has run" yes "$([ -e "$scratch/waited" ] && echo yes || echo no)"
finish
