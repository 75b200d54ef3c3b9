#!/bin/bash
# The export map, which the headers' declarations make, what the compiler was told to export, and the symbols of the
# library, shared and as an archive, are one list.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# A map of planted declarations.
map_of() { # LINE...
    printf '%s\n' "$@" >"$scratch/zkl.h"
    awk -f "$top_srcdir/lib/functions.awk" "$scratch/zkl.h" 2>&1 >"$scratch/functions.txt" &&
        awk -f "$top_srcdir/lib/map.awk" "$scratch/functions.txt"
}

# What objects have that -fvisibility=hidden does not hide: what ZKL_API is before.
visible() { # ARCHIVE
    readelf -sW "$1" | awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sort
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

map=$(mapped "$top_builddir/lib/libzkl.map")
expect_some "the map has functions" "$map"
core=$top_builddir/lib/.libs/libzklcore.a
if command -v readelf >/dev/null; then
    expect_none "map (<) and what the compiler exports (>) agree" "$(difference "$map" "$(visible "$core")")"
    expect_some "sees a symbol that is in the map only" "$(difference "$map"$'\nzkl_planted' "$(visible "$core")")"
else
    missing readelf
fi
expect_some "sees functions without a version" "$(map_of '/* Of no version. */' 'ZKL_API int zkl_f(void);' | grep 'since when')"
expect_none "a later version has a node behind the older one's" "$(
    map_of '/* Since 0.10. */' 'ZKL_API int zkl_f(void);' 'ZKL_API zkl_t *zkl_g(int a,' '   int b);' \
        '/* In two lines.' ' * Since 0.9. */' 'ZKL_API void zkl_h(void);' '/* As old as all. */' 'ZKL_API int zkl_i(void);' \
        '/* All is there since 0.8. */' | tr -s ' \n' ' ' |
        diff - <(printf '%s ' ZKL_0.8 { global: 'zkl_i;' local: '*;' '};' ZKL_0.9 { global: 'zkl_h;' } 'ZKL_0.8;' \
            ZKL_0.10 { global: 'zkl_f;' 'zkl_g;' } 'ZKL_0.9;'))"

# What zkl.h says once, and other headers again.
again() { # FOLDER
    grep -rn "Since $(sed -nE 's/.* since ([0-9]+)\.([0-9]+).*/\1\\.\2/p' "$top_srcdir/include/zkl.h")\b" "$1"
}
expect_none "no comment says again what zkl.h says of all" "$(again "$top_srcdir/include")"
expect_some "sees one that does" "$(echo '/* Since 0.1. */' >"$scratch/again.h"; again "$scratch")"

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
inside=$(globals "$core")
expect_some "sees a symbol that is in the archive only" "$(difference "$map" "$inside")"
own=$(sed -n 's/^OWN(\(.*\))$/\1/p' "$top_srcdir/tests/lint/own_names.c" | sort)
expect_some "a program has names of its own" "$own"
expect_none "which are the library's too" "$(comm -23 <(echo "$own") <(echo "$inside"))"
if said=$("$top_builddir/tests/lint/own_names" 2>&1); then
    pass "both go by their own: $said"
else
    fail "a program with names of the library's inside" "$said"
fi

# Each is called in every plight, and by a thread that is cancelled.
called=$(sed -nE 's/^(CALL|BEGIN|WAIT|OTHER)\((zkl_[a-z_]+),.*/\2/p' "$top_srcdir/tests/support/every_call.inc" | sort)
expect_none "map (<) and the table of calls (>) agree" "$(difference "$map" "$called")"
guarded=$(sed -nE 's/^    X\((zkl_[a-z_]+), \1_free\).*/\1_free/p' "$top_srcdir/include/zkl/cleanup.h" | sort)
expect_none "cleanup.h has each function that frees, but for (<)" "$(comm -23 <(grep '_free$' <<<"$map") <(echo "$guarded") | sed 's/^/< /')"
expect_some "sees one that is not" "$(comm -23 <(echo zkl_planted_free) <(echo "$guarded"))"
finish
