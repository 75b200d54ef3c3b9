#!/bin/bash
# Which way the folders of lib/ call: base <- store <- session <- grant <- contender <- lock, queue <- election; session
# <- barrier; queue, grant <- counter, member. A table of functions may point up; a name may not. And no file
# of lib calls one that calls it.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

declare -A above=(
    [base]="store session grant contender lock queue barrier counter election member"
    [store]="session grant contender lock queue barrier counter election member"
    [session]="grant contender lock queue barrier counter election member"
    [grant]="contender lock queue barrier counter election member"
    [contender]="lock queue barrier counter election member"
    [lock]="queue barrier counter election member"
    [queue]="grant contender lock barrier counter election member"
    [barrier]="grant contender lock queue counter election member"
    [counter]="contender lock barrier election member"
    [election]="barrier counter member"
    [member]="contender lock barrier counter election"
)

defined() { # OBJECT...
    $NM --defined-only "$@" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ { print $3 }' | sort -u
}

# What objects ask for that a folder above FOLDER defines, one "name (folder)" a line.
climbs() { # FOLDER OBJECT...
    local folder=$1 upper
    shift
    asked_for "$@" >"$scratch/asked"
    for upper in ${above[$folder]}; do
        comm -12 "$scratch/asked" "$scratch/$upper.names" | sed "s/\$/ ($upper)/"
    done
}

objects() { # FOLDER of lib
    echo "$top_builddir/lib/$1/.libs/lib$1"_la-*.o
}

for folder in "${!above[@]}"; do
    # Words by design.
    # shellcheck disable=SC2046
    defined $(objects "$folder") >"$scratch/$folder.names"
    expect_some "$folder defines something" "$(cat "$scratch/$folder.names")"
done
for folder in "${!above[@]}"; do
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

while read -r folder call; do
    echo "void $call(void); void planted(void); void planted(void) { $call(); }" |
        $CC -x c -fPIC -c -o "$scratch/planted.o" -
    expect_some "sees a call of $call in $folder" "$(climbs "$folder" "$scratch/planted.o")"
done <<'PLANTED'
base session_ref
store request_send
session contender_release
contender handle_new
lock queue_read
queue grant_ref
lock zkl_election_new
barrier grant_ref
counter members_new
grant contender_release
election members_new
member contender_release
PLANTED
finish
