#!/bin/bash
# Each public header compiles alone, twice in a row, as strict C99 and as C++17; those of C++ with more
# warnings, and zkl.hpp with each compiler that is there.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

warnings='-Wall -Wextra -Wpedantic -Werror'
# Other people's headers are not ours to judge.
system_flags="${GLIB_CFLAGS-} ${ZOOKEEPER_CPPFLAGS-}"
system_flags=${system_flags//-I/-isystem }

complaints() { # HEADER COMPILER-AND-FLAGS…
    local header=$1
    shift
    # The flags are words by design: CC, too, may hold several.
    # shellcheck disable=SC2086,SC2048
    printf '#include <%s>\n#include <%s>\nint zkl_unit;\n' "$header" "$header" |
        $* $warnings -I"$scratch" -I"$top_srcdir/include" -I"$top_builddir/include" $system_flags \
            -fsyntax-only - 2>&1
}

check_all() { # LANGUAGE COMPILER-AND-FLAGS…
    local language=$1 header
    shift
    for header in "${headers[@]}"; do
        expect_none "$header alone as $language" "$(complaints "$header" "$@")"
    done
    expect_some "$language sees a header that needs another" "$(complaints planted.h "$@")"
}

mapfile -t headers < <(cd "$top_srcdir/include" && find . -name '*.h' -not -path ./zkl/version.h |
    sed 's,^\./,,' | sort)
headers+=(zkl/version.h)
echo 'uint64_t zkl_planted(void);' >"$scratch/planted.h"

check_all C99 "$CC" -std=c99 -x c
mapfile -t compilers < <(command -v g++ clang++)
if [ "${#compilers[@]}" -gt 0 ]; then
    check_all C++17 "${compilers[0]}" -std=c++17 -x c++
    mapfile -t headers < <(cd "$top_srcdir/include" && printf '%s\n' zkl.hpp zkl/*.hpp)
    warnings+=' -Wshadow -Wconversion'
    for cxx in "${compilers[@]}"; do
        check_all "C++17 by ${cxx##*/}" "$cxx" -std=c++17 -x c++
        headers=(zkl.hpp)
    done
else
    missing "a C++ compiler"
fi
finish
