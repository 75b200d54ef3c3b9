#!/bin/bash
# The demo passes with the lock and fails without it. It brings its own server.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
begin
: "${DEMO:=$top_builddir/tests/demo/demo}"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "the demo is for people: it is not run in instrumented builds"
    finish
fi
run "$DEMO" --quiet --no-color --increments 12 --svg "$scratch/safe.svg"
if [ "$status" -eq 69 ] && [ "${ZKL_REQUIRE_SERVER-}" != 1 ]; then
    skip "no server"
    finish
fi
expect "the demo ends well" 0 "$status"
expect_match "with this verdict" 'increments lost +0 of 72
overlaps +0
tokens +rising \([0-9]+ grants\)
foreign unlocks +3 refused
verdict: PASS$' "$out"
run grep -c '^</svg>' "$scratch/safe.svg"
expect "and a picture" 0:1 "$status:$out"

run "$DEMO" --unsafe --quiet --no-color --increments 12 --svg "$scratch/unsafe.svg"
expect "without the lock it fails" 1 "$status"
expect_match "as it loses increments" 'increments lost +[1-9]' "$out"
expect_match "and says so" 'verdict: FAIL$' "$out"
finish
