#!/bin/bash
# Several commands that read, increment and write under one lock.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
L=/cli/contend
processes=6 rounds=6

cat >"$scratch/increment" <<'END'
# mkdir is atomic: it sees an overlap even where the sum does not.
mkdir "$1/inside" || echo "$ZKL_TOKEN" >>"$1/overlaps"
n=$(cat "$1/number")
sleep 0.01
echo $((n + 1)) >"$1/number"
echo "$ZKL_TOKEN" >>"$1/tokens"
rmdir "$1/inside"
END
worker() {
    for ((i = 0; i < rounds; i++)); do
        "$ZKL" lock $L sh "$scratch/increment" "$scratch" || echo "status $?" >>"$scratch/trouble"
    done
}

echo 0 >"$scratch/number"
workers=()
for ((w = 0; w < processes; w++)); do
    worker &
    workers+=($!)
    remember $!
done
for w in "${workers[@]}"; do status_of "$w"; done
expect "no command failed" "" "$(cat "$scratch/trouble" 2>/dev/null)"
expect "increments" $((processes * rounds)) "$(cat "$scratch/number")"
expect "overlaps" "" "$(cat "$scratch/overlaps" 2>/dev/null)"
expect "tokens rise from holder to holder" "$(sort -n -u "$scratch/tokens")" "$(cat "$scratch/tokens")"
expect_no_node "nothing is left" $L

# Waiters are served in the order in which they came.
hold $L
for w in 1 2 3; do
    "$ZKL" lock $L sh -c 'echo $1 >>"$2/order"' sh $w "$scratch" &
    remember $!
    waiters[w]=$!
    wait_until "waiter $w queues" has_contenders $L $((w + 1))
done
let_go
for w in 1 2 3; do status_of "${waiters[w]}"; done
expect "first come, first served" "1 2 3" "$(tr '\n' ' ' <"$scratch/order" | sed 's/ $//')"

# A waiter that dies in the middle does not let the next one overtake the holder.
hold $L
"$ZKL" lock $L true &
middle=$!
wait_until "the middle waiter queues" has_contenders $L 2
"$ZKL" lock $L touch "$scratch/overtook" &
last=$!
remember "$middle" "$last"
wait_until "the last waiter queues" has_contenders $L 3
kill -TERM "$middle"
wait_until "the middle waiter leaves" has_contenders $L 2
if [ -e "$scratch/overtook" ]; then fail "the last one waits on"; else pass "the last one waits on"; fi
let_go
status_of "$last"
expect "and is served" 0 "$?"
expect_no_node "nothing is left at the end" $L
finish
