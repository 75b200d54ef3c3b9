#!/bin/bash
# zkl revoke and zkl break: who is asked to give way, who hears it, who is removed.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
export L=/cli/giving-way scratch

node_at() { # PATH LINE
    "$ZKL" ls "$1" | sed -n "$(($2 + 1))s/.* //p"
}
state_of() { # PATH: the columns STATE and OWNER of the first
    "$ZKL" ls "$1" | awk 'NR == 2 { print $1, $8, $9, $10 }'
}

refused "revoke without PATH" 64 "no PATH given" revoke
refused "revoke with too much" 64 "^zkl: c: only one NODE can be given\$" revoke /a b c
refused "revoke of a bad path" 64 'path "a"' revoke a
refused "nobody ever held it" 1 "^zkl: $L/none: no such node\$" revoke $L/none
"$ZKL" lock $L true
refused "nobody holds it" 1 "^zkl: $L: nobody holds it\$" revoke $L
refused "no such contender" 1 "^zkl: $L: no contender me\$" revoke $L me
refused "--on-revoke=what" 64 "^zkl: --on-revoke: must be ignore or term, not what\$" lock $L --on-revoke=what true

# A holder that does not want to know.
hold $L --name first
run "$ZKL" revoke $L
mapfile -t lines <<<"$out"
expect "the holder is asked" "0:2" "$status:${#lines[@]}"
expect_match "and shown as it was" "^HOLDS +[1-9][0-9]* +[0-9]+s  lock  zkl     $(uname -n) +0x[0-9a-f]+ +first +_c_[0-9a-f-]+-lock-[0-9]{10}\$" "${lines[1]}"
expect "its node says so" "HOLDS (asked to revoke)" "$(state_of $L)"
run "$ZKL" revoke $L
expect_match "asked again, that is what was there" '\(asked to revoke\) +_c_' "$out"
let_go
expect "it was not ended" 0 "$?"

# One that does; and one that is asked while it waits.
trapped='trap "echo >>$scratch/termed; exit 7" TERM; touch $scratch/ready; while :; do sleep 0.02; done'
rm -f "$scratch/ready"
"$ZKL" lock $L --on-revoke=term --status-fd 9 bash -c "$trapped" 9>"$scratch/lines" 2>"$scratch/err" &
first=$!
remember "$first"
wait_until "it runs" test -e "$scratch/ready"
rm -f "$scratch/ready"
"$ZKL" lock $L --on-revoke=term bash -c 'touch $scratch/ready; exec sleep 1000' 2>/dev/null &
second=$!
remember "$second"
wait_until "the second waits" has_contenders $L 2
run "$ZKL" revoke $L "$(node_at $L 2)"
expect_match "one that waits can be asked" '^waiting +[1-9]' "$(tail -n 1 <<<"$out")"
expect "which is nothing to the holder" no "$(test -e "$scratch/termed" && echo yes || echo no)"
run "$ZKL" revoke $L
expect "asked: $L" 0 "$status"
status_of "$first"
expect "the command's own status" 7 "$?"
expect "it got TERM once" 1 "$(wc -l <"$scratch/termed")"
expect "and was told of" "waiting,held,started,asked,ended,released" "$(cut -d' ' -f1 "$scratch/lines" | paste -sd,)"
expect "in words, too" "zkl: $L: asked to give way; the command is ended" "$(head -n 1 "$scratch/err")"
status_of "$second"
expect "the other one hears it when it holds" 143 "$?"
expect_no_node "nothing is left" $L

# Nothing is forced: a command that ignores TERM goes on, and keeps the lock.
rm -f "$scratch/ready"
"$ZKL" lock $L --on-revoke=term bash -c 'trap "touch \$scratch/heard" TERM; touch $scratch/ready
    until [ -e $scratch/enough ]; do sleep 0.02; done; exit 0' 2>/dev/null &
stubborn=$!
remember "$stubborn"
wait_until "it runs" test -e "$scratch/ready"
"$ZKL" revoke $L >/dev/null
wait_until "it has heard" test -e "$scratch/heard"
refused "and holds" 1 "held by somebody else" lock -n $L true
rm "$scratch/heard"
kill -TERM "$stubborn"
if wait_until "a TERM after that is the first" test -e "$scratch/heard"; then pass "a TERM after that is the first"; fi
touch "$scratch/enough"
status_of "$stubborn"
expect "until it ends" 0 "$?"

# A leader steps down, and is in line again.
lead $L/elect a
a=$candidate
wait_until "a leads" has_led a 1
lead $L/elect b
b=$candidate
wait_until "b waits" has_contenders $L/elect 2
run "$ZKL" revoke $L/elect
expect_match "the leader is asked" ' a +_c_[0-9a-f-]+-latch-[0-9]{10}$' "$out"
wait_until "b leads" has_led b 1
expect "a was asked to end" yes "$(test -e "$scratch/a.termed" && echo yes)"
wait_until "a is in line again" has_contenders $L/elect 2
for id in a b; do touch "$scratch/$id.quit"; done
status_of "$b"
status_of "$a"
expect_no_node "both have ended" $L/elect

# A user that may not write can neither ask nor remove.
mine=(--auth digest:me:secret --acl world:anyone:r,auth::cdrwa)
hold $L/mine "${mine[@]}"
refused "no permission to ask" 77 "^zkl: $L/mine" revoke $L/mine
run "$ZKL" break --yes $L/mine
expect "no permission to remove" "77:2" "$status:$(wc -l <"$scratch/out")"
expect "it holds" HOLDS "$(state_of $L/mine | cut -d' ' -f1)"
let_go

# ---- break ----

refused "break without a terminal" 64 "^zkl: $L: there is no terminal.*--yes" break $L
refused "nobody to break" 1 "^zkl: $L: nobody holds it\$" break --yes $L
refused "no such path to break" 1 "^zkl: $L/none: no such path\$" break --yes $L/none
hold $L --name dead
"$ZKL" lock $L --name next touch "$scratch/next" &
next=$!
remember "$next"
wait_until "the next waits" has_contenders $L 2
refused "no such contender to break" 1 "^zkl: $L: no contender me\$" break --yes $L me
run "$ZKL" break $L --yes
expect_match "shown before it is removed" "^0:STATE .*HOLDS +[1-9][0-9]* +[0-9]+s  lock  zkl     $(uname -n) +0x[0-9a-f]+ +dead +_c_" "$status:$out"
status_of "$next"
expect "the next one holds" "0 yes" "$? $(test -e "$scratch/next" && echo yes)"
status_of "$holder"
expect "the one removed has lost it" 75 "$?"

# A waiter of several; readers, of whom one must be named.
hold $L
"$ZKL" lock $L true 2>"$scratch/err" &
waiter=$!
remember "$waiter"
wait_until "one waits" has_contenders $L 2
node=$(node_at $L 2)
run "$ZKL" break --yes $L "$node"
expect_match "a waiter is removed" "^0:.*waiting #1 .*$node\$" "$status:$out"
expect "the holder is not" "HOLDS" "$(state_of $L | cut -d' ' -f1)"
let_go
status_of "$waiter"
expect "which enters again when its turn comes" 0 "$?"
if [ -x "$ADMIN" ]; then
    uuid=0d1c6a4e-58c8-4b51-b04e-1d4d0a3b0c8e
    "$ADMIN" create $L/shared x
    for number in 1 2; do "$ADMIN" create $L/shared/_c_$uuid-__READ__000000000$number "reader $number"; done
    refused "two hold it" 64 "several contenders hold it; name one" break --yes $L/shared
    run "$ZKL" revoke $L/shared
    expect "both are asked" "0 reader 1 reader 2" "$status $(awk 'NR > 1 { print $8, $9 }' <<<"$out" | paste -sd' ')"
    "$ZKL" break --yes $L/shared _c_$uuid-__READ__0000000001 >/dev/null
    expect "one is removed" "_c_$uuid-__READ__0000000002" "$(node_at $L/shared 1)"
    "$ADMIN" create $L/shared/other x
    refused "nothing but contenders" 1 "no contender other" break --yes $L/shared other
    refused "nor revoked" 1 "no contender other" revoke $L/shared other
    refused "nor below another path" 1 "no contender ../mine" break --yes $L/shared ../mine
    "$ADMIN" create "$L/shared/_c_$uuid-__READ__0000000002/child" x
    run "$ZKL" break --yes $L/shared _c_$uuid-__READ__0000000002
    expect_match "with children it stays" "^70:zkl: $L/shared: the node has children" "$status:$err"
fi

# On a terminal it asks.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    answer() { # TEXT: what break says to it
        mkfifo "$scratch/keys"
        script -qefc "\$ZKL break \$L; echo status=\$?" /dev/null <"$scratch/keys" >"$scratch/screen" 2>&1 &
        local shell=$!
        remember "$shell"
        exec 5>"$scratch/keys"
        wait_until "it asks" grep -q 'Remove this node' "$scratch/screen"
        printf '%s\n' "$1" >&5
        status_of "$shell"
        exec 5>&-
        rm -f "$scratch/keys"
        tr -d '\r' <"$scratch/screen"
    }
    hold $L --name asked
    for no in n "" maybe; do
        expect_match "no: \"$no\"" "not removed.*status=1" "$(answer "$no")"
        expect "it stays" 1 "$(contenders $L)"
    done
    expect_match "what it means is said" "HOLDS .* asked .*only.*the token protects" "$(<"$scratch/screen")"
    expect_match "yes" "status=0" "$(answer Yes)"
    status_of "$holder"
    expect "removed" 75 "$?"
else
    missing script "a terminal"
fi

finish
