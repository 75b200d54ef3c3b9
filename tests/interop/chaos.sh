#!/bin/bash
# Curator, kazoo and zkl at one lock while their processes are killed and stopped and zkl's cut off:
# see chaos.c. ZKL_CHAOS_SECONDS is for how long, ZKL_CHAOS_SEED what is drawn. With ZKL_CHAOS_MUTANT=unfenced
# the register does not look at tokens, with careless the careful holders not at their grants: the
# judge must see what comes of that.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
need_curator
need_kazoo
begin
build_peer
export PEER_SESSION_MS=4000

java=(java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData
    -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$class_path" Peer)
chaos=("$top_builddir/tests/interop/chaos" --seed "${ZKL_CHAOS_SEED:-1}" --seconds "${ZKL_CHAOS_SECONDS:-25}"
    --curator "${java[*]}" --kazoo "$python -B $here/peer.py"
    --zkl "$top_builddir/tests/interop/zkl-peer")
declare -A harm=(
    [unfenced]="the register accepts nothing below a higher token"
    [careless]="careful zkl holders lose no increment of a plain counter")

# Its output is in $out, its end in $status; it does not outlive us.
play() { # OPTION...
    "${chaos[@]}" "$@" >"$scratch/out" 2>&1 </dev/null &
    remember $!
    wait $!
    status=$?
    out=$(<"$scratch/out")
    [ "$status" -ne 77 ] || no_server
}

# Its promises are ours.
show() {
    local line
    while IFS= read -r line; do
        case $line in
        "ok: "*) pass "${line#ok: }" ;;
        "FAILED: "*) fail "${line#FAILED: }" ;;
        *) echo "$line" ;;
        esac
    done <<<"$out"
}

if [ -n "${ZKL_CHAOS_MUTANT-}" ]; then
    play "--$ZKL_CHAOS_MUTANT"
    echo "${out//FAILED/seen}"
    expect_match "the harm of being $ZKL_CHAOS_MUTANT is seen" "FAILED: ${harm[$ZKL_CHAOS_MUTANT]}" "$out"
else
    play
    show
    expect "the chaos comes to its end" 0 "$status"
fi
finish
