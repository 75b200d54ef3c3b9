#!/bin/bash
# Which way the folders of lib/ call: as common.sh says. A table of functions may point up; a name may not. And no file
# of lib calls one that calls it.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

defined() { # OBJECT...
    $NM --defined-only "$@" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' | sort -u
}

folders_above() { # FOLDER: those that it may not call
    local other
    for other in "${!folders_below[@]}"; do
        [ "$other" = "$1" ] || in_list "${folders_below[$1]}" "$other" || echo "$other"
    done
}

# What objects ask for that a folder above FOLDER defines, one "name (folder)" a line.
climbs() { # FOLDER OBJECT...
    local folder=$1 upper
    shift
    asked_for "$@" >"$scratch/asked"
    for upper in $(folders_above "$folder"); do
        comm -12 "$scratch/asked" "$scratch/$upper.names" | sed "s/\$/ ($upper)/"
    done
}

objects() { # FOLDER of lib
    echo "$top_builddir/lib/$1/.libs/lib$1"_la-*.o
}

expect_none "common.sh has each folder of lib" "$(cd "$top_srcdir/lib" && printf '%s\n' */ | tr -d / | sort |
    comm -3 - <(printf '%s\n' "${!folders_below[@]}" | sort))"
for folder in "${!folders_below[@]}"; do
    # Words by design.
    # shellcheck disable=SC2046
    defined $(objects "$folder") >"$scratch/$folder.names"
    expect_some "$folder defines something" "$(cat "$scratch/$folder.names")"
done
for folder in "${!folders_below[@]}"; do
    # shellcheck disable=SC2046
    expect_none "$folder calls nobody above" "$(climbs "$folder" $(objects "$folder"))"
done

# The files of lib are in one order: none calls one that calls it, by whatever way.
rings() { # OBJECT...
    local object
    for object in "$@"; do
        defined "$object" | sed "s|\$| $object|"
    done | sort >"$scratch/where"
    for object in "$@"; do
        asked_for "$object" | join -o 2.2 - "$scratch/where" | sed "s|^|$object |"
    done | awk '$1 != $2' | tsort 2>&1 >/dev/null
}
expect_none "no file of lib is in a ring" "$(rings "$top_builddir"/lib/*/.libs/lib*_la-*.o)"
for pair in one:other other:one; do
    echo "void one(void); void other(void); void ${pair%:*}(void) { ${pair#*:}(); }" |
        $CC -x c -fPIC -c -o "$scratch/${pair%:*}.o" -
done
expect_some "sees a ring" "$(rings "$scratch/one.o" "$scratch/other.o")"

for folder in "${!folders_below[@]}"; do
    for upper in $(folders_above "$folder"); do
        call=$(grep -m 1 -E '^[a-z_]+$' "$scratch/$upper.names")
        echo "void $call(void); void planted_$call(void); void planted_$call(void) { $call(); }"
    done | $CC -x c -fPIC -c -o "$scratch/planted.o" -
    climbed=$(climbs "$folder" "$scratch/planted.o")
    for upper in $(folders_above "$folder"); do
        expect_some "sees a call of $upper in $folder" "$(grep -F "($upper)" <<<"$climbed")"
    done
done
finish
