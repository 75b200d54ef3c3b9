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
run "$DEMO" --no-color --increments 12 --svg "$scratch/safe.svg"
[ "$status" -ne 69 ] || no_server
if [ "$status" = 0 ]; then pass "the demo ends well"; else fail "the demo ends well" "$status: $out"; fi
expect_match "with this verdict" 'increments lost +0 of 72
overlaps +0
tokens +rising \([0-9]+ grants\)
foreign unlocks +3 refused
verdict: PASS$' "$out"
if python3 -c 'import matplotlib' 2>/dev/null || /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    run grep -c '^</svg>' "$scratch/safe.svg"
    expect "and a picture" 0:1 "$status:$out"
    run grep -c '>PASS: increments lost 0, overlaps 0, tokens rising, foreign unlocks refused 3 of 3<' "$scratch/safe.svg"
    expect "with the verdict" 0:1 "$status:$out"
else
    missing matplotlib "a picture"
fi

mkdir "$scratch/none"
echo 'raise ImportError("none here")' >"$scratch/none/matplotlib.py"
PYTHONPATH=$scratch/none run "$DEMO" --unsafe --quiet --no-color --increments 12 --svg "$scratch/unsafe.svg"
expect "without the lock it fails" 1 "$status"
expect_match "as it loses increments" 'increments lost +[1-9]' "$out"
expect_match "and says so" 'verdict: FAIL$' "$out"
expect "without matplotlib a line tells it" "demo: no picture (it needs python3 and matplotlib): ImportError: none here" \
    "$(grep picture <<<"$err")"
finish
