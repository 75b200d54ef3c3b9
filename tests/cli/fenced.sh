#!/bin/bash
# The fenced store of examples/: stale tokens are refused, whatever crashes and whoever writes at
# the same time.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${FENCED:=$top_builddir/examples/fenced-store}" "${CRASH_AT:=$top_builddir/tests/cli/crash-at}"
export FENCED
begin
unset ZKL_TOKEN
D=$scratch/store
mkdir "$D"

expect_value() { # WHAT KEY VALUE
    run "$FENCED" "$D" get "$2"
    expect "$1" "0:$3" "$status:$out"
}

# Tokens.
run "$FENCED" "$D" get k
expect_match "no value yet" '^66:fenced-store: .*/k: ' "$status:$err"
run "$FENCED" "$D" put k 33 first
expect "a first write" "0::" "$status:$out:$err"
run "$FENCED" "$D" put k 34 second
expect "a later holder" 0 "$status"
run "$FENCED" "$D" put k 33 stale
expect_match "a stale write is refused" \
    '^1::fenced-store: k: token 33 is stale: token 34 has been here; nothing was changed$' "$status:$out:$err"
expect_value "and changed nothing" k second
run "$FENCED" "$D" put k 34 third
expect "an equal token is accepted" 0 "$status"
expect_value "and has written" k third
run "$FENCED" "$D" get k 40
expect "a holder reads" "0:third" "$status:$out"
run "$FENCED" "$D" put k 34 stale
expect "from then on older ones are refused" 1 "$status"
run "$FENCED" "$D" get k 39
expect "as readers, too" "1:" "$status:$out"
run "$FENCED" "$D" get empty 7
expect "a holder finds no value" 66 "$status"
run "$FENCED" "$D" put empty 6 stale
expect "and may rely on that" 1 "$status"
run "$FENCED" "$D" put k 18446744073709551615 "two
lines, 100 %"
expect_value "the highest token, any text" k "two
lines, 100 %"
run "$FENCED" "$D" put empty 8 ""
expect_value "the empty value is a value" empty ""

# Turns of one token, as a lock that is retained gives them.
run "$FENCED" "$D" put turns 33/9 ninth
expect "a turn writes" 0 "$status"
run "$FENCED" "$D" put turns 33/10 tenth
expect "a later turn of the same token" 0 "$status"
for stale in 33/9 33/0 33 32/11; do
    run "$FENCED" "$D" put turns $stale late
    expect "a late write of $stale is refused" \
        "1::fenced-store: turns: token ${stale%/0} is stale: token 33/10 has been here; nothing was changed" "$status:$out:$err"
done
expect_value "and changed nothing" turns tenth
run "$FENCED" "$D" put turns 33/10 again
expect "an equal turn is accepted" 0 "$status"
run "$FENCED" "$D" get turns 33/11
expect "a turn reads" "0:again" "$status:$out"
run "$FENCED" "$D" put turns 33/10 late
expect "from then on earlier ones are refused" 1 "$status"
run "$FENCED" "$D" put turns 34 next
expect "the next token, whatever its turn" 0 "$status"
run "$FENCED" "$D" put turns 18446744073709551615/18446744073709551615 highest
expect_value "the highest turn of all" turns highest

# Bad input.
for key in "" . .. .new ../k a/b "a b" $'a\n' "$(printf '%0201d' 0)"; do
    run "$FENCED" "$D" put "$key" 99 x
    expect "the key ${key:0:20} is refused" 64 "$status"
done
for token in "" 0 0/1 1/ /1 1/-1 1/x 1/1/1 1/18446744073709551616 -1 +1 " 1" 1x 0x10 18446744073709551616; do
    run "$FENCED" "$D" put k "$token" x
    expect "the token \"$token\" is refused" 64 "$status"
done
run "$FENCED" "$D" put k x
expect "no token at all" 64 "$status"
run "$FENCED" "$D/none" put k 1 x
expect_match "no store" '^66:.*/none/k: No such file' "$status:$err"
for damaged in "" "fenced 1 1" $'fenced 1 1 4\nabc' $'fenced 1 1 2\nabc' $'fenced 1 1 -2\n' \
    $'fenced 2 1 1\na' $'fenced 1 +1 1\na' $'fenced 1 01 1\na' \
    $'fenced 1 1/0 1\na' $'fenced 1 1/01 1\na' $'fenced 1 1/ 1\na'; do
    printf '%s' "$damaged" >"$D/damaged"
    run "$FENCED" "$D" put damaged 99 x
    expect "not over something damaged: ${damaged@Q}" "74:$damaged." "$status:$(cat "$D/damaged")${damaged##*[!$'\n']}."
done
mkdir "$D/folder"
run "$FENCED" "$D" put folder 99 x
expect "nor over a folder" 74 "$status"
ln -s "$D/k" "$D/link"
run "$FENCED" "$D" get link
expect "nor through a link" 74 "$status"
run bash -c '"$FENCED" "$1" get k >/dev/full' bash "$D"
expect "a reader that cannot be told" 74 "$status"

# No room: a file size limit is what a full disk looks like, and the signal is a crash in a write.
big=$(printf '%05000d' 0)
run "$FENCED" "$D" put small 5 old
run env --ignore-signal=XFSZ GCOV_ERROR_FILE=/dev/null bash -c 'ulimit -f 1; "$FENCED" "$1" put small 6 "$2"' bash "$D" "$big"
expect_match "no room for it" '^74:.*File too large$' "$status:$err"
expect_value "leaves the old value" small old
expect "and nothing else" "" "$(find "$D" -name '.*' -type f)"
run bash -c 'ulimit -c 0 -f 1; "$FENCED" "$1" put small 6 "$2"' bash "$D" "$big"
expect_value "a crash in the middle of a write leaves the old value" small old
expect "with half a file beside it" "$D/.new" "$(find "$D" -name '.new' -size -3)"
run "$FENCED" "$D" put small 5 new
expect "which is in nobody's way" 0 "$status"
expect "and then gone" "" "$(find "$D" -name '.*' -type f)"

# kill -9 before each system call in turn.
crashes() {
    local n value later
    calls='' mix='' old=0 new=0 status=137
    for ((n = 1; n < 2000 && status == 137; n++)); do
        "$FENCED" "$D" put crash$n 5 old
        calls+=" $("$CRASH_AT" $n "$FENCED" "$D" put crash$n 6 new)"
        status=$?
        value=$("$FENCED" "$D" get crash$n)
        later=refused
        "$FENCED" "$D" put crash$n 5 later 2>/dev/null && later=accepted
        case $value:$later in
        old:accepted) old=$((old + 1)) ;;
        new:refused) new=$((new + 1)) ;;
        *) mix+=" $n:$value:$later" ;;
        esac
    done
}
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "crashes: a sanitizer makes hundreds of system calls of its own"
elif [ ! -x "$CRASH_AT" ] || ! "$CRASH_AT" 0 true; then
    skip "nothing can be traced here"
else
    crashes
    expect "without a crash it writes" 0 "$status"
    expect "a crash leaves the old or the new, never a mix" "" "$mix"
    expect "($old crashes left the old, $((new - 1)) the new)" yes "$( ((old > 0 && new > 1)) && echo yes)"
    expect_match "on the disk before it is seen, and seen on the disk before it is told" \
        'write.* fsync.* rename.* fsync' "$calls"
fi

# One step: a writer first waits for those before it, and then compares.
"$FENCED" "$D" put queued 5 five
exec 8<"$D"
flock 8
"$FENCED" "$D" put queued 6 six 2>/dev/null 8<&- &
writer=$!
remember "$writer"
wait_until "a writer waits for its turn" grep -qE -- "-> FLOCK .*:$(stat -c %i "$D") " /proc/locks
printf 'fenced 1 7 5\nseven' >"$D/queued"
exec 8<&-
status_of "$writer"
expect "and is refused for what has come before it" 1 $?
expect_value "which stays" queued seven

# Many writers with tokens of their own order: the highest wins, and so do all that were first.
writer() { # NUMBER
    local i token
    for ((i = 0; i < ${ZKL_TEST_SCALE-100} / 4 + 1; i++)); do
        token=$((RANDOM * 32768 + RANDOM + 1))
        echo $token
        "$FENCED" "$D" put many $token "value of $token" 2>/dev/null
        (($? < 2)) || echo broken
    done >"$scratch/tokens.$1"
}
for w in 1 2 3 4 5 6 7 8; do
    RANDOM=$w
    writer $w &
    remember "$!"
    writers[w]=$!
done
wait "${writers[@]}"
expect "nothing failed" 0 "$(cat "$scratch"/tokens.* | grep -c broken)"
highest=$(sort -n "$scratch"/tokens.* | tail -n 1)
expect_value "of many at once the highest token wins" many "value of $highest"
run "$FENCED" "$D" put many $((highest - 1)) late
expect "and goes on winning" 1 "$status"

# As the command of zkl lock.
run env ZKL_TOKEN=50 "$FENCED" "$D" put env x
expect "the token is taken from the environment" 0 "$status"
run env ZKL_TOKEN=49 "$FENCED" "$D" get env
expect "by readers, too" 1 "$status"
run env ZKL_TOKEN= "$FENCED" "$D" put env x
expect "an empty one is none" 64 "$status"
run "$ZKL_SERVER" -- sh -c '
    "$ZKL" lock /fenced "$FENCED" "$1" put job mine || exit
    "$ZKL" lock /fenced sh -c "\"\$FENCED\" \"\$1\" get job && echo \$ZKL_TOKEN" sh "$1"' sh "$D"
[ "$status" -ne 69 ] || no_server
expect_match "under zkl lock" $'^0:.*\nmine\n[1-9][0-9]*$' "$status:$out"
run "$FENCED" "$D" put job $((${out##*$'\n'} - 1)) stale
expect "the reader's token counts" 1 "$status"
finish
