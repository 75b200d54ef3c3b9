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

# shellcheck disable=SC2016
read -r -a programs < <(printf 'include Makefile\nprograms:\n\t@echo $(bin_PROGRAMS) $(check_PROGRAMS)\n' |
    MAKEFLAGS='' make -s -C "$top_builddir" -f - programs | tail -n 1)
expect_some "there are programs" "${programs[*]}"

if command -v git >/dev/null; then
    git init -q "$scratch/git"
    cp "$top_srcdir/.gitignore" "$scratch/git"
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
        HACKING.md README.md NEWS.md docs/*.md docs/design/*.md tests/*.md bench/*.md 2>/dev/null | tr -d '`'
        cd "$1" && grep -rohE 'docs/design/[a-z-]+\.md' recipes lib tools tests HACKING.md README.md 2>/dev/null) | sort -u |
        while read -r file; do
            [ -e "$1/$file" ] || [ -e "$1/$file.c" ] || [ -e "$top_builddir/$file" ] || in_list "${programs[*]}" "$file" || echo "$file"
        done
}
expect_none "every file that a page names is there, and every page that code names" "$(lost "$top_srcdir")"

# The files that mutants are made of, and those whose mutants a program is tried with.
never_changed() { # ROOT
    local file
    grep -ohE '(^|[ (|])(recipes|lib)/[a-z_/]+[.a-z]*' "$1/tests/mutants/run.sh" 2>/dev/null | tr -d ' (|' | sort -u |
        while read -r file; do
            compgen -G "$1/$file*" >/dev/null || echo "$file"
        done
}
expect_none "every file that run.sh of the mutants names is there" "$(never_changed "$top_srcdir")"

# A mutant whose patch no longer fits is none.
misfits() { # ROOT PATCH...
    local root=$1 file
    for file in "${@:2}"; do
        patch -s -f -p1 --dry-run -d "$root" <"$file" >/dev/null 2>&1 || echo "$file"
    done
}
if command -v patch >/dev/null; then
    mutants=("$top_srcdir"/tests/live/faults/mutants/*.patch)
    expect_none "each mutant's patch fits" "$(misfits "$top_srcdir" "${mutants[@]}")"
    sed 's/^-/-planted/' "${mutants[0]}" >"$scratch/misfit"
    expect_some "sees a planted patch" "$(misfits "$top_srcdir" "$scratch/misfit")"
else
    missing patch
fi

# A design fault that no longer fits is none, and a table that names what is gone says nothing.
strangers() { # ROOT
    python3 -B "$top_srcdir/tests/mutants/faults.py" --check "$1" 2>&1
}
expect_none "what the tables of mutants and FOUND.md name is there" "$(strangers "$top_srcdir")"

# A version that is pretended is this one where its edits change nothing.
fits_nowhere() { # ROOT
    local file edit
    sed -nE 's/^    ([^ ]+) (.+)/\1 \2/p' "$1/tests/interop/versions.txt" | while read -r file edit; do
        sed "$edit" "$1/$file" | cmp -s - "$1/$file" && echo "$file: $edit"
    done
}
expect_none "each edit of versions.txt changes something" "$(fits_nowhere "$top_srcdir")"

# A suite registers itself, and the linker leaves out of a library what nothing names.
never_run() { # ROOT
    (cd "$1" && find tests -name '*.c' -exec grep -l '^TEST_SUITE(' {} +) | sort |
        comm -12 - <(find "$1/tests" -name Makefile.inc -exec awk '/_la_SOURCES/ { library = 1 }
            library { for (i = 1; i <= NF; i++) print $i } !/\\$/ { library = 0 }' {} + | sort -u)
}
expect_none "no suite is in a library" "$(never_run "$top_srcdir")"

mkdir -p "$scratch"/{recipes,lib,include,tools,examples,man,bench,python,tests}
echo 'SOURCES = lib/listed.c' >"$scratch/lib/Makefile.inc"
touch "$scratch/lib/listed.c" "$scratch/tests/planted.c" "$scratch/python/planted.py" "$scratch/include/planted.hpp"
expect_some "sees a planted file" "$(unlisted "$scratch" | grep -F .c)"
expect_some "sees a planted C++ header" "$(unlisted "$scratch" | grep -F .hpp)"
expect_some "sees a planted module" "$(unlisted "$scratch" | grep -F .py)"
echo '`lib/planted.c`' >"$scratch/HACKING.md"
expect_some "sees a planted name" "$(lost "$scratch")"
mkdir "$scratch/tests/planted" "$scratch/tests/mutants"
echo 'files=(lib/planted.c)' >"$scratch/tests/mutants/run.sh"
expect_some "sees a planted file of mutants" "$(never_changed "$scratch")"
echo 'int planted(void) { return 1; }' >"$scratch/lib/listed.c"
printf '* 1 a planted fault\nlib/listed.c planted\n- return 2;\n' >"$scratch/tests/mutants/faults.txt"
printf 'lib/listed.c planted\n- return 3;\n+ ;\n= survived\n' | tee "$scratch/tests/mutants/matrix.txt" >"$scratch/tests/mutants/equivalent.txt"
printf '| a | `lib/listed.c`: `gone` | `a.b` |\n' >"$scratch/tests/FOUND.md"
for table in faults.txt matrix.txt equivalent.txt FOUND.md; do
    expect_some "sees what is gone of $table" "$(strangers "$scratch" | grep -F "$table: ")"
done
mkdir "$scratch/tests/interop"
printf 'planted:\n    lib/listed.c s/gone/none/\n    lib/listed.c\n' >"$scratch/tests/interop/versions.txt"
expect_some "sees an edit that changes nothing" "$(fits_nowhere "$scratch")"
printf 'tests_planted_la_SOURCES = \\\n\ttests/planted/suite.c\n' >"$scratch/tests/planted/Makefile.inc"
echo 'TEST_SUITE(planted);' >"$scratch/tests/planted/suite.c"
expect_some "sees a suite in a library" "$(never_run "$scratch")"
finish
