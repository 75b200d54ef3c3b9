#!/bin/bash
# The command and the library were built with each flag of m4/zkl_hardening.m4 that the tools here take.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi
command -v readelf >/dev/null || {
    missing readelf
    finish
}

dynamic() { readelf -dW "$1"; }
calls() { $NM -D --undefined-only "$1"; }
segments() { readelf -lW "$1"; }

# What a file has, each in a line.
properties() { # FILE
    # shellcheck disable=SC2312
    {
        dynamic "$1" | grep -q 'FLAGS_1.*\<PIE\>' && echo pie
        dynamic "$1" | grep -q 'FLAGS.*\<\(NOW\|BIND_NOW\)\>' && echo now
        segments "$1" | grep -q GNU_RELRO && echo relro
        segments "$1" | grep -q 'GNU_STACK.* RW ' && echo noexecstack
        calls "$1" | grep -q '__stack_chk_fail' && echo stack-protector
        calls "$1" | grep -v '__stack_chk_fail' | grep -q '__[a-z]*_chk\>' && echo fortify
    } | sort
}

# A program of which each flag leaves its trace, and the flags that take it away.
cat >"$scratch/probe.c" <<'C'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char text[64];

    strcpy(text, argv[argc - 1]);
    return puts(text) < 0;
}
C
hardened=(-O1 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
probe() { # FLAG…
    rm -f "$scratch/probe"
    $CC -w "${hardened[@]}" "$@" -o "$scratch/probe" "$scratch/probe.c" 2>/dev/null && properties "$scratch/probe"
}
possible=$(probe)
expect_some "the tools here can harden: ${possible//$'\n'/ }" "$possible"
while read -r property without; do
    grep -qx "$property" <<<"$possible" || continue
    # shellcheck disable=SC2086
    expect_some "sees that $property is missing" "$(comm -23 <(echo "$possible") <(probe $without))"
done <<'TABLE'
pie -fno-pie -no-pie
now -Wl,-z,lazy
relro -Wl,-z,norelro
noexecstack -Wl,-z,execstack
stack-protector -fno-stack-protector
fortify -U_FORTIFY_SOURCE
TABLE

# Without optimization there is no _FORTIFY_SOURCE.
wanted=$possible
flags=$(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile")
[[ " $flags " = *" -O"[123s]* && " $flags " != *" -O0 "* ]] || wanted=$(grep -vx fortify <<<"$possible")

# Behind libtool's script, if there is one.
built() { # FOLDER NAME
    if [ -e "$top_builddir/$1/.libs/$2" ]; then echo "$top_builddir/$1/.libs/$2"; else echo "$top_builddir/$1/$2"; fi
}
expect_none "zkl has all of it" "$(comm -23 <(echo "$wanted") <(properties "$(built tools zkl)"))"
library=$top_builddir/lib/.libs/libzkl.so
if [ -e "$library" ]; then
    expect_none "libzkl.so has all of it" "$(comm -23 <(grep -vx pie <<<"$wanted") <(properties "$library"))"
else
    skip "no libzkl.so: --disable-shared"
fi
finish
