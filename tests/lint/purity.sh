#!/bin/bash
# The recipes are pure: their objects may ask for mem*, str* and each other, nothing else.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# Names that begin like the harmless ones but allocate, remember or depend on the locale.
impure_str='str(n?dup|tok|error|signal|coll|xfrm|ftime|ptime|fmon).*'
pure="(mem|str)[a-z]+|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_"

impurities() { # OBJECT…
    $NM --defined-only "$@" | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/defined"
    asked_for "$@" | comm -23 - "$scratch/defined" |
        awk -v pure="^($pure)\$" -v impure="^($impure_str)\$" '$0 !~ pure || $0 ~ impure'
}

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

objects=("$top_builddir"/recipes/.libs/librecipes_la-*.o)
sources=("$top_srcdir"/recipes/*.c)
if [ "${#objects[@]}" -ge "${#sources[@]}" ] && [ -e "${objects[0]}" ]; then
    pass "every recipes/*.c has its object"
else
    fail "every recipes/*.c has its object" "${#sources[@]} sources, objects: ${objects[*]}"
fi
expect_none "recipes call nothing outside" "$(impurities "${objects[@]}")"

# Recipes alone have assertions.
expect_none "without assertions no line of theirs is for nothing" \
    "$($CC -std=gnu11 -Wall -Wextra -DNDEBUG -fsyntax-only -I "$top_srcdir" -I "$top_srcdir/include" -I "$top_builddir/include" "${sources[@]}" 2>&1)"

for call in 'void *malloc(unsigned long); void *f(void); void *f(void) { return malloc(9); }' \
    'char *strdup(const char *); char *f(const char *s); char *f(const char *s) { return strdup(s); }' \
    'long time(long *); long f(void); long f(void) { return time(0); }'; do
    echo "$call" | $CC -x c -fPIC -c -o "$scratch/planted.o" -
    expect_some "sees: ${call##*; }" "$(impurities "${objects[@]}" "$scratch/planted.o")"
done
finish
