#!/bin/bash
# The export map, the headers' ZKL_API declarations and the library's symbols are one list.
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

difference() { # LEFT RIGHT: "<" only in the left, ">" only in the right list
    diff <(echo "$1") <(echo "$2") | grep '^[<>]'
}

headers=("$top_srcdir"/include/*.h "$top_srcdir"/include/zkl/*.h)
declarations=$(declared "${headers[@]}")
map=$(mapped "$top_srcdir/lib/libzkl.map")
expect_some "headers declare something" "$declarations"
expect_none "headers (<) and map (>) agree" "$(difference "$declarations" "$map")"

library=$top_builddir/lib/.libs/libzkl.so
if [ -e "$library" ]; then
    symbols=$(exported "$library")
    expect_none "map (<) and libzkl.so (>) agree" "$(difference "$map" "$symbols")"
    expect_none "libzkl.so exports zkl_* only" "$(grep -v '^zkl_' <<<"$symbols")"
else
    fail "libzkl.so was not built" "$library"
fi

expect_some "sees a symbol that is in the map only" "$(difference "$declarations" "$map"$'\nzkl_planted')"
finish
