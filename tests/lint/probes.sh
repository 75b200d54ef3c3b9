#!/bin/bash
# The library has each static probe of zkl-probes(7), with as many arguments, and no other.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

library=$top_builddir/lib/.libs/libzkl.so
page=$top_srcdir/man/zkl-probes.7

if ! grep -q '^PROBES_CPPFLAGS = .' "$top_builddir/Makefile"; then
    skip "configured without probes"
    finish
elif [ ! -e "$library" ]; then
    skip "no libzkl.so: --disable-shared"
    finish
fi
command -v readelf >/dev/null || {
    missing readelf
    finish
}

# "name arguments", one a line.
built() { # FILE
    readelf -nW "$1" | awk '
        /Provider: / { provider = $NF }
        $1 == "Name:" { name = $2 }
        $1 == "Arguments:" && provider == "zkl" { print name, NF - 1 }' | sort -u
}

# The same by the page: lines like .It Fn name "argument" "argument"
listed() { # PAGE
    sed -n 's/^\.It Fn //p' "$1" | awk '{ print $1, NF - 1 }' | sort -u
}

# Each probe has a line of bpftrace and one of perf.
without_line() { # PAGE
    local name
    built "$library" | while read -r name _; do
        grep -q "^bpftrace .*:zkl:$name " "$1" || echo "$name: bpftrace"
        grep -q "^perf .*sdt_zkl:$name\$" "$1" || echo "$name: perf"
    done
}

differing() { # PAGE
    diff <(built "$library") <(listed "$1")
}

expect_some "the library has probes" "$(built "$library")"
expect_none "they are those of zkl-probes(7)" "$(differing "$page")"
expect_none "each has its lines there" "$(without_line "$page")"
sed '/^\.It Fn lost /s/ "reason"//' "$page" >"$scratch/fewer.7"
expect_some "sees an argument that is not told" "$(differing "$scratch/fewer.7")"
grep -v '^\.It Fn queued ' "$page" >"$scratch/none.7"
expect_some "sees a probe that is not told" "$(differing "$scratch/none.7")"
grep -v '^perf .*:held$' "$page" >"$scratch/lines.7"
expect_some "sees a line that is missing" "$(without_line "$scratch/lines.7")"
finish
