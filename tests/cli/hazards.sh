#!/bin/bash
# The hazard gallery: the program passes, the page zkl-hazards(7) lists the same, and the tests
# that both name are there. The program brings its own servers.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
begin
: "${HAZARDS:=$top_builddir/tests/hazards/hazards}" "${top_srcdir:=$PWD}"
page=$top_srcdir/man/zkl-hazards.7

# As the program lists it: "N. name: title (guards)".
listed_in_page() {
    sed -nE -e 's/^\.Ss ([0-9]+\. [a-z_]+: .*)$/\1/p' -e '/^Guarded by$/{n;s/^\.Em (.*) \.$/(\1)/p;}' "$page" |
        paste -d ' ' - -
}
run "$HAZARDS" -l
listed=$out
expect "the page lists what the program runs" "$listed" "$(listed_in_page)"
expect "there are many" yes "$( (($(wc -l <<<"$listed") >= 18)) && echo yes)"

# Each name is a test, or a file of tests/.
{
    "$top_builddir/tests/live/live" -l
    "$top_builddir/tests/live/scenarios" -l
    "$top_builddir/tests/unit/unit" -l
    (cd "$top_srcdir/tests" && printf '%s\n' cli/*.sh lint/*.sh)
} | sort >"$scratch/known"
sed -E 's/.* \((.*)\)$/\1/' <<<"$listed" | tr ' ' '\n' | sort -u >"$scratch/named"
expect "every test that is named is there" "" "$(comm -23 "$scratch/named" "$scratch/known")"

run "$HAZARDS" -x
expect "a wrong option" 64 "$status"
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "the gallery is for people: it is not run in instrumented builds"
    finish
fi
run "$HAZARDS" 'two_steps' no_such_hazard
[ "$status" -ne 77 ] || no_server
expect_match "a selection" '^0:.*two_steps.*1 passed, 0 failed, 0 skipped$' "$status:$out"
run "$HAZARDS"
count=$(wc -l <<<"$listed")
expect "the gallery ends well" "0:$count passed, 0 failed, 0 skipped" "$status:$(tail -n 1 <<<"$out")"
[ "$status" -eq 0 ] || echo "$out"
expect "with two halves each" "$count:$count" "$(grep -c '^    usual design:' <<<"$out"):$(grep -c '^    zkl:' <<<"$out")"
finish
