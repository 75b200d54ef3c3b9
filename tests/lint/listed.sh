#!/bin/bash
# Every source file is in its folder's Makefile.inc: what is not listed is not built, not tested
# and not in the tarball.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

unlisted() { # ROOT
    local file
    (cd "$1" && find recipes lib include tools examples man bench tests -type f \
        \( -name '*.[ch1-8]' -o -name '*.sh' -o -name '*.map' \) -not -path include/zkl/version.h) |
        sort | while read -r file; do
        grep -qE "(^|[[:space:]=])$file([[:space:]]|\$)" "$1"/*/Makefile.inc "$1"/*/*/Makefile.inc 2>/dev/null || echo "$file"
    done
}

expect_none "every file is listed" "$(unlisted "$top_srcdir")"

mkdir -p "$scratch"/{recipes,lib,include,tools,examples,man,bench,tests}
echo 'SOURCES = lib/listed.c' >"$scratch/lib/Makefile.inc"
touch "$scratch/lib/listed.c" "$scratch/tests/planted.c"
expect_some "sees a planted file" "$(unlisted "$scratch")"
finish
