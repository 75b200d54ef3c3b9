#!/bin/bash
# The export map, the headers' ZKL_API declarations and the symbols of the library, shared and as an
# archive, are one list.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# Functions declared with ZKL_API: comments away, one statement a line, the first name before "(".
declared() { # HEADER…
    cat "$@" | tr '\n' ' ' | sed -E 's,/\*([^*]|\*+[^*/])*\*+/,,g' | tr ';' '\n' |
        grep -E '\bZKL_API\b' | grep -oE '\bzkl_[a-z0-9_]+ *\(' | tr -d ' (' | sort
}

mapped() { # MAP
    grep -oE '^[[:space:]]*[A-Za-z0-9_*]+;' "$1" | tr -d " \t;" | grep -vxF "*" | sort
}

# Versioned names only: the version nodes themselves are listed as absolute symbols (A).
exported() { # LIBRARY
    $NM -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

globals() { # ARCHIVE
    $NM -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort
}

difference() { # LEFT RIGHT: "<" only in the left, ">" only in the right list
    diff <(echo "$1") <(echo "$2") | grep '^[<>]'
}

headers=("$top_srcdir"/include/*.h "$top_srcdir"/include/zkl/*.h "$top_srcdir"/include/zkl/version.h.in)
declarations=$(declared "${headers[@]}")
map=$(mapped "$top_srcdir/lib/libzkl.map")
expect_some "headers declare something" "$declarations"
expect_none "headers (<) and map (>) agree" "$(difference "$declarations" "$map")"

library=$top_builddir/lib/.libs/libzkl.so
archive=$top_builddir/lib/.libs/libzkl.a
if [ ! -e "$library" ] && [ -e "$archive" ]; then
    skip "no libzkl.so: --disable-shared"
elif [ -e "$library" ]; then
    symbols=$(exported "$library")
    expect_none "map (<) and libzkl.so (>) agree" "$(difference "$map" "$symbols")"
    expect_none "libzkl.so exports zkl_* only" "$(grep -v '^zkl_' <<<"$symbols")"
else
    fail "libzkl.so was not built" "$library"
fi

# The one that is installed, if configured so, and one that is made in the same way anyway.
for made in "$archive" "$top_builddir/tests/lint/.libs/libarchive.a"; do
    [ -e "$made" ] || [ "$made" != "$archive" ] || continue
    expect_none "map (<) and ${made#"$top_builddir"/} (>) agree" "$(difference "$map" "$(globals "$made")")"
done
inside=$(globals "$top_builddir/lib/.libs/libzklcore.a")
expect_some "sees a symbol that is in the archive only" "$(difference "$map" "$inside")"
own=$(sed -n 's/^OWN(\(.*\))$/\1/p' "$top_srcdir/tests/lint/own_names.c" | sort)
expect_some "a program has names of its own" "$own"
expect_none "which are the library's too" "$(comm -23 <(echo "$own") <(echo "$inside"))"
if said=$("$top_builddir/tests/lint/own_names" 2>&1); then
    pass "both go by their own: $said"
else
    fail "a program with names of the library's inside" "$said"
fi

# Each is called by a thread that is cancelled.
cancelled=$(sed -nE 's/^ +X\((zkl_[a-z_]+),.*/\1/p' "$top_srcdir/tests/live/cancel_calls.c" | sort)
expect_none "map (<) and the table of cancelled calls (>) agree" "$(difference "$map" "$cancelled")"
expect_some "sees a symbol that is in the map only" "$(difference "$declarations" "$map"$'\nzkl_planted')"
finish
