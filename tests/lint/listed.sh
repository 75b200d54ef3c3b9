#!/bin/bash
# Every source file is in its folder's Makefile.inc: what is not listed is not built, not tested
# and not in the tarball. And no program is seen by git.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

unlisted() { # ROOT
    (cd "$1" && find recipes lib include tools examples man bench python tests -type f \
        \( -name '*.[ch1-8]' -o -name '*.[ch]pp' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' \) -not -path include/zkl/version.h) | sort |
        comm -23 - <(cat "$1"/*/Makefile.inc "$1"/*/*/Makefile.inc 2>/dev/null | tr -s '[:space:]=' '\n' | sort -u)
}

expect_none "every file is listed" "$(unlisted "$top_srcdir")"

# A program that git does not ignore would be committed one day by whoever builds in the source tree.
seen_by_git() { # PROGRAM...
    git -C "$scratch/git" check-ignore --no-index -v -n "$@" >"$scratch/answers" || [ $? = 1 ] || echo "git failed"
    sed -n 's/^::\t//p; /:!/s/.*\t//p' "$scratch/answers"
}

if command -v git >/dev/null; then
    git init -q "$scratch/git"
    cp "$top_srcdir/.gitignore" "$scratch/git"
    # shellcheck disable=SC2016
    read -r -a programs < <(printf 'include Makefile\nprograms:\n\t@echo $(bin_PROGRAMS) $(check_PROGRAMS)\n' |
        MAKEFLAGS='' make -s -C "$top_builddir" -f - programs | tail -n 1)
    expect_some "there are programs" "${programs[*]}"
    expect_none "git sees no program" "$(seen_by_git "${programs[@]}")"
    expect_some "sees a planted program" "$(seen_by_git recipes/planted)"
    expect_some "git sees sources" "$(seen_by_git tools/zkl.c)"
else
    missing git
fi

# What pages name, and pages that code names.
lost() { # ROOT
    local file
    (cd "$1" && grep -ohE '`(recipes|lib|tools|tests|docs|bench|man|examples|include|python)/[A-Za-z0-9_./-]+`' \
        HACKING.md README.md NEWS.md docs/design/*.md tests/*.md bench/*.md 2>/dev/null | tr -d '`'
        cd "$1" && grep -rohE 'docs/design/[a-z-]+\.md' recipes lib tools tests HACKING.md README.md 2>/dev/null) | sort -u |
        while read -r file; do
            [ -e "$1/$file" ] || [ -e "$1/$file.c" ] || [ -e "$top_builddir/$file" ] || echo "$file"
        done
}
expect_none "every file that a page names is there, and every page that code names" "$(lost "$top_srcdir")"

# Each suite that is declared is run, once: the runner looks no further than NULL.
suites_amiss() { # ROOT
    local folder declared
    for folder in "$1"/tests/*/; do
        [ -e "$folder/suites.h" ] || continue
        declared=$(sed -n 's/^extern .*test_suite \([a-z0-9_]*\);/\1/p' "$folder/suites.h" | sort)
        diff <(echo "$declared") <(grep -ohE '&[a-z0-9_]+_suite\b' "$folder"/*.c | tr -d '&' | grep -Fxf <(echo "$declared") | sort)
        awk 'FNR == 1 || /};/ { end = 0 } end && /&[a-z0-9_]+_suite/ { print FILENAME ": behind NULL: " $0 } /^ *NULL,/ { end = 1 }' "$folder"/*.c
    done
}
expect_none "every suite is run, once" "$(suites_amiss "$top_srcdir")"

mkdir -p "$scratch"/{recipes,lib,include,tools,examples,man,bench,python,tests}
echo 'SOURCES = lib/listed.c' >"$scratch/lib/Makefile.inc"
touch "$scratch/lib/listed.c" "$scratch/tests/planted.c" "$scratch/python/planted.py" "$scratch/include/planted.hpp"
expect_some "sees a planted file" "$(unlisted "$scratch" | grep -F .c)"
expect_some "sees a planted C++ header" "$(unlisted "$scratch" | grep -F .hpp)"
expect_some "sees a planted module" "$(unlisted "$scratch" | grep -F .py)"
echo '`lib/planted.c`' >"$scratch/HACKING.md"
expect_some "sees a planted name" "$(lost "$scratch")"
mkdir "$scratch/tests/planted"
echo 'extern const struct test_suite planted_suite;' >"$scratch/tests/planted/suites.h"
touch "$scratch/tests/planted/main.c"
expect_some "sees a suite that is not run" "$(suites_amiss "$scratch")"
printf '        NULL,\n        &planted_suite,\n' >"$scratch/tests/planted/main.c"
expect_some "sees a suite that is never reached" "$(suites_amiss "$scratch")"
finish
