#!/bin/bash
# tests/live/SCENARIOS.md is true: each scenario has tests, and the tests it names are there. So are those of
# tests/FOUND.md, the faults that were found.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

known=$(for program in live/live live/scenarios live/faults/scenarios live/faults/netlab unit/unit; do
    "$top_builddir/tests/$program" -l || echo "$program is missing"
done)

rows() { # MAP
    grep -E '^\| *([0-9]+|[a-z]) *\|' "$1"
}

named() { # MAP: the third column's tests
    # shellcheck disable=SC2016
    rows "$1" | cut -d'|' -f4 | grep -oE '`[^`]*`' | tr -d '`' | sort -u
}

unknown() { # MAP
    named "$1" | comm -23 - <(sort -u <<<"$known")
}

unnamed() { # MAP
    grep '^scenario_' <<<"$known" | sort -u | comm -23 - <(named "$1")
}

# Scripts and options of programs are named there too.
# shellcheck disable=SC2016
unknown_of_found() { # MAP
    grep '^|' "$1" | cut -d'|' -f4 | grep -oE '`[a-z0-9_]+\.[a-z0-9_]+`' | tr -d '`' | sort -u |
        comm -23 - <(sort -u <<<"$known")
}

untested() { # MAP: numbers without a row, rows without a test
    local number
    for number in {1..27}; do
        rows "$1" | grep -qE "^\| *$number *\|" || echo "$number"
    done
    # shellcheck disable=SC2016
    rows "$1" | cut -d'|' -f2,4 | grep -vE '`[a-z0-9_]+\.[a-z0-9_]+`'
}

map=$top_srcdir/tests/live/SCENARIOS.md
expect_some "the programs list their tests" "$known"
expect_none "every scenario has a test" "$(untested "$map")"
expect_none "every test named is there" "$(unknown "$map")"
expect_none "every test of a scenario is named" "$(unnamed "$map")"
expect_none "every test of a found fault is there" "$(unknown_of_found "$top_srcdir/tests/FOUND.md")"

cat >"$scratch/planted.md" <<'PLANTED'
| 1 | named but not there | `scenario_net.s01_planted` | |
| 2 | not named | scenario_net.s02 | |
PLANTED
expect_some "sees a test that is not there" "$(unknown "$scratch/planted.md")"
expect_some "sees a row without a test" "$(untested "$scratch/planted.md" | grep scenario_net.s02)"
expect_some "sees a test of a found fault that is not there" "$(unknown_of_found "$scratch/planted.md")"
expect_some "sees a number without a row" "$(untested "$scratch/planted.md" | grep -x 27)"
expect_some "sees a test without a row" "$(unnamed "$scratch/planted.md")"
finish
