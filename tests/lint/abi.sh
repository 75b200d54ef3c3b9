#!/bin/bash
# What programs have compiled in of the headers is what tests/lint/libzkl0.abi says, which grows with `./dev abi`; nothing
# of a release is lost from it, from interface.txt or from tests/unit/stored.txt; and the library exports what it says.
# debian/libzkl0.symbols has each of its functions, so that dpkg-gensymbols misses one that is gone.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

tracked=tests/lint/libzkl0.abi
if [[ $(gcc -dumpmachine 2>/dev/null) != x86_64-* ]] || ! command -v python3 >/dev/null; then
    missing "a gcc for x86-64, or python3"
    finish
fi

differs() { # ROOT
    python3 -B "$1/tests/lint/abi.py" "$1" "$top_builddir" compare 2>&1
}
expect_some "there are rows" "$(cat "$top_srcdir/$tracked")"
expect_none "the headers are as $tracked says" "$(differs "$top_srcdir")"

# A copy with a change of one header.
planted() { # HEADER SED-COMMAND
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy"
    (cd "$top_srcdir" && cp -r --parents include man/headers.py lib/functions.awk tests/lint/abi.py "$tracked" "$scratch/copy")
    chmod -R u+w "$scratch/copy"
    sed -i -E "$2" "$scratch/copy/include/$1"
    ! cmp -s "$scratch/copy/include/$1" "$top_srcdir/include/$1" || echo "nothing was planted"
    differs "$scratch/copy"
}
says() { # WHAT HEADER SED-COMMAND ROW: "broken: …"; or "new: …", if nothing is broken
    local found
    found=$(planted "$2" "$3")
    if [[ $found = *$4* ]] && { [[ $4 = broken:* ]] || [[ $found != *broken:* ]]; }; then pass "$1"; else fail "$1" "$found"; fi
}
says "sees an enumerator of another value" zkl/grant.h 's/ZKL_LOST = [0-9]+/ZKL_LOST = 90/' "broken: value ZKL_LOST "
says "sees an error of another value" zkl/error.h 's/ZKL_ELOST = -[0-9]+/ZKL_ELOST = -90/' "broken: value ZKL_ELOST "
says "sees a constant of another value" zkl/api.h 's/INT64_MAX/INT32_MAX/' "broken: constant ZKL_FOREVER "
says "sees a function that is gone" zkl/grant.h '/^ZKL_API uint64_t zkl_grant_token\(/d' "broken: function zkl_grant_token@"
says "sees a parameter of another type" zkl/grant.h 's/^(ZKL_API uint64_t zkl_grant_token\()const /\1/' "broken: function zkl_grant_token@"
says "sees a callback of another type" zkl/op.h 's/^(typedef void \(\*zkl_done_fn\).*), void/\1, int/' "broken: callback zkl_done_fn"
says "sees a member in the middle" zkl/mutex.h 's/^    int64_t retain_ms;/    int64_t planted;\n&/' "broken: struct zkl_mutex_options.retain_ms"
says "sees one in a struct that does not grow" zkl/stats.h 's/^typedef struct zkl_label \{/&\n    int planted;/' "broken: struct zkl_label.name"
says "sees one at its end" zkl/grant.h '/^\} zkl_part;/s/^/    int planted;\n/' "broken: struct zkl_part size"
says "sees a member of another type" zkl/mutex.h 's/^    int fence64;/    unsigned fence64;/' "broken: struct zkl_mutex_options.fence64"
says "a member at the end of options is new" zkl/mutex.h 's/^\} zkl_mutex_options;/    int64_t planted;\n&/' "new: struct zkl_mutex_options.planted"
says "sees that what is reserved is gone" zkl/mutex.h 's/^    int reserved;.*//' "broken: struct zkl_mutex_options.reserved"
says "a member in the place that is reserved is new" zkl/mutex.h 's/^    int reserved;/    int planted;/' "new: struct zkl_mutex_options.planted"
says "an enumerator more is new" zkl/grant.h 's/ZKL_LOST = [0-9]+,?/ZKL_PLANTED = 90, &/' "new: value ZKL_PLANTED 90"
says "a function more is new" zkl/grant.h 's/^ZKL_API uint64_t zkl_grant_token.*/&\n\/* Since 0.2. *\/\nZKL_API int zkl_planted(int planted);/' "new: function zkl_planted@ZKL_0.2: int (int)"
python3 -B "$scratch/copy/tests/lint/abi.py" "$scratch/copy" "$top_builddir" symbols >"$scratch/planted.symbols" 2>&1
expect_some "and so is its version, to Debian" "$(grep -x ' zkl_planted@ZKL_0.2 0.2.0~' "$scratch/planted.symbols")"

# A member that stands in padding moves none of those after it.
sed -i '/zkl_mutex_options\.parents/d; /zkl_planted/d' "$scratch/copy/$tracked"
expect_some "a member in padding is none at the end" "$(differs "$scratch/copy" | grep '^broken: struct zkl_mutex_options.parents')"

# ---- what was released ----

# Rows that the file had in the newest release, and has no more: comments are none. A member may have taken the place of one
# that is reserved.
shrunk() { # REPOSITORY FILE
    local release row
    release=$(git -C "$1" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || return
    git -C "$1" show "$release:$2" 2>/dev/null | grep -v '^#' | grep -vxFf "$1/$2" | while read -r row; do
        if [[ $row != struct*.reserved\ * ]] || ! grep -qx "${row/.reserved /\\.[a-z_0-9]* }" "$1/$2"; then echo "$row"; fi
    done
}
if command -v git >/dev/null; then
    for file in $tracked tests/lint/interface.txt tests/unit/stored.txt; do
        expect_none "$file has all that it had in a release" "$(shrunk "$top_srcdir" "$file")"
    done
    (git init -q "$scratch/released" && cd "$scratch/released" && printf '%s\n' '# one' one two >rows && git add rows &&
        git -c user.name=x -c user.email=x@localhost commit -qm x && git tag v0.1.0 && echo two >rows)
    expect_some "sees a row of a release that is lost" "$(shrunk "$scratch/released" rows | grep -x one)"
    expect_none "a comment is no row" "$(shrunk "$scratch/released" rows | grep '#')"
    (cd "$scratch/released" && printf '%s\n' 'struct x.reserved 8 4: int' >rows &&
        git -c user.name=x -c user.email=x@localhost commit -qam x && git tag v0.2.0 &&
        printf '%s\n' 'struct x.depth 8 4: int' >rows)
    expect_none "but what is reserved may get a name" "$(shrunk "$scratch/released" rows)"
else
    missing git
fi

# ---- the library ----

named() { # ABI: "zkl_grant_token@ZKL_0.1"
    sed -nE 's/^function ([^:]*):.*/\1/p' "$1" | sort
}
exported() { # LIBRARY
    readelf --dyn-syms -W "$1" | sed -nE 's/.* (zkl_[a-z0-9_]+)@@(ZKL_[0-9.]+)$/\1@\2/p' | sort
}
names=$(named "$top_srcdir/$tracked")
library=$top_builddir/lib/.libs/libzkl.so
if [ -e "$library" ] && command -v readelf >/dev/null; then
    expect_none "what it says (<) and what libzkl.so exports (>) agree" "$(diff <(echo "$names") <(exported "$library") | grep '^[<>]')"
    expect_some "it has the soname that programs name" "$(readelf -dW "$library" | grep -F '(SONAME)' | grep -F '[libzkl.so.0]')"
    expect_some "sees a function of another version" "$(diff <(sed '1s/_0/_9/' <<<"$names") <(exported "$library"))"
else
    skip "no libzkl.so, or no readelf"
fi

# ---- Debian's symbols ----

debian=$top_srcdir/debian
expect_none "debian/libzkl0.symbols is what ./dev abi writes" "$(python3 -B "$top_srcdir/tests/lint/abi.py" "$top_srcdir" "$top_builddir" symbols |
    diff - "$debian/libzkl0.symbols" | grep '^[<>]')"

# As dh_makeshlibs asks, of a library with these functions.
gensymbols() { # CHECK NAME@VERSION...
    local root=$scratch/package
    rm -rf "$root" && mkdir -p "$root"/{pkg/DEBIAN,pkg/usr/lib,debian}
    cp "$debian"/{control,changelog,libzkl0.symbols} "$root/debian"
    printf 'void %s(void) {}\n' "${@:2}" | sed 's/@[^(]*//' >"$root/functions.c"
    gcc -shared -fPIC -nostdlib -Wl,-soname,libzkl.so.0 -Wl,--version-script="$top_builddir/lib/libzkl.map" \
        -o "$root/pkg/usr/lib/libzkl.so.0" "$root/functions.c" || return
    (cd "$root" && dpkg-gensymbols -plibzkl0 -Ppkg -v0.1.0 -Idebian/libzkl0.symbols -O"$root/found" "-c$1" 2>&1)
}
if command -v dpkg-gensymbols >/dev/null; then
    mapfile -t all <<<"$names"
    expect_none "dpkg-gensymbols finds each function, and no other" "$(gensymbols 4 "${all[@]}")"
    expect_some "and misses one that is gone" "$(gensymbols 1 "${all[@]:1}")"
else
    missing dpkg-gensymbols
fi
finish
