#!/bin/bash
# Every call that the library makes is in the table that says what happens when it fails.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

listed() { # TABLE
    sed -nE 's/^\| ([^|]*) \|.*/\1/p' "$1" | tr -d '\\ ' | tr ',' '\n' | sort -u
}

# What objects ask others for, but GLib and one another.
called() { # OBJECT…
    $NM --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/defined"
    asked_for "$@" | grep -v '^g_' | comm -23 - "$scratch/defined"
}

objects=("$top_builddir"/lib/*/.libs/lib*_la-*.o "$top_builddir"/recipes/.libs/librecipes_la-*.o)
table=$top_srcdir/tests/torture/CALLS.md
called "${objects[@]}" >"$scratch/called"
expect_some "the library calls something" "$(cat "$scratch/called")"
listed "$table" >"$scratch/listed"
expect_none "every call is in the table" "$(comm -23 "$scratch/called" "$scratch/listed")"
grep -v timerfd_settime "$table" >"$scratch/short.md"
expect_some "sees one that is missing" "$(comm -23 "$scratch/called" <(listed "$scratch/short.md"))"

# What it says is failed, the linker brings to the test.
failed_calls() { # TABLE
    sed -nE 's/^\| ([^|]*) \| failed .*/\1/p' "$1" | tr -d ' ' | tr ',' '\n' | sort -u
}
failed_calls "$table" >"$scratch/failed"
expect_none "what is said to be failed is" "$(
    while read -r name; do
        grep -qw "X($name)" "$top_srcdir/tests/torture/fault.h" &&
            grep -qw -e "--wrap=$name" "$top_srcdir/tests/torture/Makefile.inc" || echo "$name"
    done <"$scratch/failed"
)"
finish
