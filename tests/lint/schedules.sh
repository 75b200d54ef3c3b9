#!/bin/bash
# A schedule of the simulator that is kept since it sees a fault still sees it. What schedules do changes with the code,
# and one that sees nothing any more looks like one that passes.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

stale() { # FAULTS
    python3 -B "$top_srcdir/tests/mutants/faults.py" --stale --build "$top_builddir" --faults "$1" 2>&1
}

table=$top_srcdir/tests/mutants/faults.txt
expect_some "schedules are kept" "$(grep '^@ ' "$table")"
expect_none "each schedule that faults.txt names sees its fault" "$(stale "$table")"

# The fault that its own schedule sees, and what changes nothing.
cat >"$scratch/planted" <<'END'
* 1 nothing is wrong
@ --seed 1
recipes/proofs.c instant_reached
- return now.boot >= deadline.boot || now.raw >= deadline.raw;
+ return now.raw >= deadline.raw || now.boot >= deadline.boot;
END
expect_some "sees a planted schedule that sees nothing" "$(stale "$scratch/planted")"
finish
