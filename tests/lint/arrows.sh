#!/bin/bash
# Which way the folders of lib/ call: base <- store <- session <- lock, queue <- election; session <-
# barrier; lock <- counter; queue <- member. A table of functions may point up; a name may not. So with the files of
# an attempt in recipes/: attempt_common <- attempt_enter, attempt_wait, attempt_hold <- attempt, and no phase calls another.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    skip "objects are instrumented ($ZKL_INSTRUMENTED)"
    finish
fi

declare -A above=(
    [base]="store session lock queue barrier counter election member"
    [store]="session lock queue barrier counter election member"
    [session]="lock queue barrier counter election member"
    [lock]="queue barrier counter election member"
    [queue]="lock barrier counter election member"
    [barrier]="lock queue counter election member"
    [counter]="queue barrier election member"
    [election]="barrier counter member"
    [member]="lock barrier counter election"
    [attempt_common.c]="attempt_enter.c attempt_wait.c attempt_hold.c attempt.c"
    [attempt_enter.c]="attempt_wait.c attempt_hold.c attempt.c"
    [attempt_wait.c]="attempt_enter.c attempt_hold.c attempt.c"
    [attempt_hold.c]="attempt_enter.c attempt_wait.c attempt.c"
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

objects() { # FOLDER of lib, or FILE of recipes
    case $1 in
    *.c) echo "$top_builddir/recipes/.libs/librecipes_la-${1%.c}.o" ;;
    *) echo "$top_builddir/lib/$1/.libs/lib$1"_la-*.o ;;
    esac
}

for folder in "${!above[@]}" attempt.c; do
    # Words by design.
    # shellcheck disable=SC2046
    defined $(objects "$folder") >"$scratch/$folder.names"
    expect_some "$folder defines something" "$(cat "$scratch/$folder.names")"
done
for folder in "${!above[@]}"; do
    # shellcheck disable=SC2046
    expect_none "$folder calls nobody above" "$(climbs "$folder" $(objects "$folder"))"
done

while read -r folder call; do
    echo "void $call(void); void planted(void); void planted(void) { $call(); }" |
        $CC -x c -fPIC -c -o "$scratch/planted.o" -
    expect_some "sees a call of $call in $folder" "$(climbs "$folder" "$scratch/planted.o")"
done <<'PLANTED'
base session_ref
store request_send
session contender_release
lock queue_read
queue grant_ref
lock election_leads
barrier grant_ref
counter queue_read
election member_quit
member grant_ref
attempt_common.c attempt_step_enter
attempt_enter.c attempt_step_wait
attempt_wait.c attempt_begin_claiming
attempt_hold.c attempt_step
PLANTED
finish
