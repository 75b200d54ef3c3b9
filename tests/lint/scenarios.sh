#!/bin/bash
# tests/live/SCENARIOS.md is true: each scenario has tests, and the tests it names are there. So are those of
# tests/FOUND.md, the faults that were found, and of the pages on security and on upgrades.
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

# What a page of the guide names as tests: cases, scripts and programs.
unknown_of_page() { # PAGE
    local name
    # shellcheck disable=SC2016
    grep -oE '`[a-z0-9_]+\.[a-z0-9_]+`|`(cli|live)/[a-z_]+`' "$1" | tr -d '`' | grep -vx 'jute\.maxbuffer' | sort -u |
        while read -r name; do
            case $name in
            */*) [ -e "$top_srcdir/tests/$name.sh" ] || [ -e "$top_srcdir/tests/$name.c" ] || echo "$name" ;;
            *) grep -qxF "$name" <<<"$known" || echo "$name" ;;
            esac
        done
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
for page in SECURITY.md docs/guide/security.md docs/guide/upgrades.md; do
    expect_none "every test that $page names is there" "$(unknown_of_page "$top_srcdir/$page")"
done

cat >"$scratch/planted.md" <<'PLANTED'
| 1 | named but not there | `scenario_net.s01_planted` | |
| 2 | not named | scenario_net.s02 | |
PLANTED
expect_some "sees a test that is not there" "$(unknown "$scratch/planted.md")"
expect_some "sees a row without a test" "$(untested "$scratch/planted.md" | grep scenario_net.s02)"
expect_some "sees a test of a found fault that is not there" "$(unknown_of_found "$scratch/planted.md")"
# shellcheck disable=SC2016
echo 'by `cli/planted`' >"$scratch/page.md"
expect_some "sees a script that is not there" "$(unknown_of_page "$scratch/page.md")"
expect_some "sees a case that is not there" "$(unknown_of_page "$scratch/planted.md")"
expect_some "sees a number without a row" "$(untested "$scratch/planted.md" | grep -x 27)"
expect_some "sees a test without a row" "$(unnamed "$scratch/planted.md")"
finish
