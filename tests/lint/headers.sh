#!/bin/bash
# Each public header compiles alone, twice in a row, as strict C99 and as C++17; those of C++ with more
# warnings, and zkl.hpp with each compiler that is there. What C++, Python and a page say of them, and what headers
# say of the log, is so.
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

# What a user must not write is not compiled: a grant that is lent is not released, and a result that says whether one
# holds is not ignored.
used() { # STATEMENT
    # shellcheck disable=SC2086
    printf '#include <zkl.h>\nvoid use(zkl_mutex *m, zkl_rwlock *l, zkl_semaphore *s, zkl_multilock *a, zkl_election *e, zkl_op *op,
        zkl_grant *own, const zkl_grant *lent);\nvoid use(zkl_mutex *m, zkl_rwlock *l, zkl_semaphore *s, zkl_multilock *a,
        zkl_election *e, zkl_op *op, zkl_grant *own, const zkl_grant *lent)\n{\n(void)m, (void)l, (void)s, (void)a, (void)e;
        (void)op, (void)own, (void)lent;\n%s;\n}\n' "$1" |
        $CC -std=c99 -x c $warnings -I"$top_srcdir/include" -I"$top_builddir/include" -S -o /dev/null - 2>&1
}
expect_none "what is owned can be released" "$(used 'zkl_grant_release(own)')"
expect_some "what is lent cannot" "$(used 'zkl_grant_release(lent)')"
expect_some "nor what a mutex lends be taken as owned" "$(used 'if (zkl_mutex_lock(m, 0, &own) == 0) zkl_mutex_unlock(m)')"
for call in 'zkl_mutex_lock(m, 0, &lent)' 'zkl_rwlock_lock(l, 0, &lent)' 'zkl_rwlock_lock_shared(l, 0, &lent)' \
    'zkl_semaphore_acquire(s, 1, 0, &own)' 'zkl_multilock_lock(a, 0, &own)' 'zkl_election_campaign(e, 0, &own)' \
    'zkl_op_wait(op, &own)'; do
    expect_none "the result of $call can be looked at" "$(used "if ($call != 0) zkl_op_cancel(op)")"
    expect_some "and not ignored" "$(used "$call")"
done

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

# A struct that tells its size must end with its last member, or a new one could stand in its padding, where size does
# not tell of it: with 64 and 32 bits, and with 32 where an int64_t is aligned to 8 bytes.
sized_structs() { # HEADER…: "zkl_rwlock_options MEMBER…", the last in C's words: "(*log)", "data[8]"
    cat "$@" | tr '\n' ' ' | sed -E 's,/\*([^*]|\*+[^*/])*\*+/,,g; s/typedef struct zkl_/\n&/g' |
        sed -nE 's/^typedef struct (zkl_\w+) \{ *size_t size;[^}]*\W(\w+)(\[[^]]*\])?; *\} .*/\1 \2/p'
}
padded() { # ROOT: those that end in padding, and what else the compiler says
    local bits
    for bits in -m64 -m32 "-m32 -malign-double"; do
        # shellcheck disable=SC2086
        {
            echo '#include <zkl.h>'
            sized_structs "$1"/include/zkl/*.h |
                sed -E 's/(.*) (.*)/_Static_assert(offsetof(\1, \2) + sizeof(((\1 *)0)->\2) == sizeof(\1), "\1");/'
        } | gcc -ffreestanding -std=gnu11 $bits -x c -I"$1/include" -I"$top_builddir/include" -fsyntax-only - 2>&1 |
            grep error: | sed "s/$/ with $bits/"
    done
}
expect_some "there are structs with a size" "$(sized_structs "$top_srcdir"/include/zkl/*.h)"
[[ $(gcc -dumpmachine) == x86_64-* ]] || missing "a gcc for x86-64"
expect_none "none of them ends in padding" "$(padded "$top_srcdir")"
mkdir -p "$scratch/padded"
cp -r "$top_srcdir/include" "$scratch/padded/"
sed -i 's/^    int reserved;.*//' "$scratch/padded/include/zkl/mutex.h"
expect_some "sees padding" "$(padded "$scratch/padded")"

# Events of the log with their levels, as the code writes them, and as zkl/session.h has them.
written_events() { # SOURCE…
    cat "$@" | tr -s ' \n' ' ' | grep -oE 'log_line\( ?[^,]*, ZKL_LOG_[A-Z]+, [^,]*"[a-z-]+",' | while read -r call; do
        grep -oE '"[a-z-]+"' <<<"$call" | sed -E "s/\"(.*)\"/\1 $(grep -oE 'ZKL_LOG_[A-Z]+' <<<"$call")/"
    done | sort -u
}
said_events() { # HEADER
    sed -n '/^ \* The events of a session/,/^ \* Levels that/p' "$1" | sed 's/^ \* //' | tr '\n' ' ' | sed -E 's/[;.:] +  /\n/g' |
        sed -nE 's/^([a-z-]+(, [a-z-]+)*):(.*(ZKL_LOG_[A-Z]+))?.*/\1 \4/p' | while read -r events; do
            level=${events##* }
            [[ $level == ZKL_* ]] || level=ZKL_LOG_WARN
            grep -oE '\b[a-z-]+' <<<"${events% ZKL_*}" | sed "s/\$/ $level/"
        done | grep -v ^libzookeeper | sort
}
events=$(written_events "$top_srcdir"/lib/*/*.c)
expect_some "there are events of the log" "$events"
expect_some "one of two that a call chooses from is there" "$(grep '^once-back ZKL_LOG_WARN$' <<<"$events")"
expect_none "zkl/session.h (>) has the log's events (<)" "$(diff <(echo "$events") <(said_events "$top_srcdir/include/zkl/session.h") | grep '^[<>]')"
sed 's/^ \* *set-refused:/ *   mark-refused:/' "$top_srcdir/include/zkl/session.h" >"$scratch/session.h"
expect_some "sees an event that there is not" "$(diff <(echo "$events") <(said_events "$scratch/session.h") | grep '^> mark')"

# The structs of options with their members that have a meaning, in order: "zkl_rwlock_options size name parents".
structs_of_options() { # HEADER…
    cat "$@" | tr '\n' ' ' | sed -E 's,/\*([^*]|\*+[^*/])*\*+/,,g; s/typedef struct zkl_/\n&/g' |
        sed -nE 's/^typedef struct (zkl_\w+_options) (\{[^}]*\}).*/\1 \2/p' |
        sed -E 's/[^;{]*\W(\w+);/\1 /g; s/\{//; s/ *\}//; s/ reserved$//'
}

# Members that the C++ form of a struct does not set.
unset_in_cxx() { # HPP…
    local struct members member forms
    while read -r struct _ members; do
        grep -qE "^struct ${struct#zkl_} \{" "$@" || continue
        mapfile -t forms < <(grep -lE "$struct c = " "$@")
        for member in $members; do
            grep -qE "\bc\.$member = " "${forms[@]:-/dev/null}" || echo "$struct: $member"
        done
    done <<<"$structs"
}

# What python/declarations.py writes for the headers of a tree, and make has not written.
python_differs() { # ROOT
    local made=$top_builddir/python/zkl/_c.py
    [ -e "$made" ] || made=$top_srcdir/python/zkl/_c.py
    python3 -B "$1/python/declarations.py" "$1" 2>&1 | diff - "$made"
}

# How headers say that a struct may grow, as docs/stability.md has it.
growth() { # HEADER…
    cat "$@" | sed 's/^ \* */ /' | tr -d '\n' | sed 's,/\*,\n&,g' |
        sed -nE '/typedef struct zkl_\w+_options /d
            s/.*typedef struct (zkl_\w+) \{ *size_t size;.*/Structs with a size: \1/p; t
            s/.*may append members.*typedef struct (zkl_\w+) \{.*/Structs behind a pointer: \1/p; t
            s/.*typedef struct (zkl_\w+) \{.*/All other structs: \1/p' | sort
}
said_growth() { # PAGE
    sed 's/^$/\v/' "$1" | tr '\n\v' ' \n' | sed -nE 's/^ *\*\*((Structs with|Structs behind|All other) [a-z ]*)\*\*/\1:/p' |
        while IFS=: read -r kind rest; do
            grep -oE '\bzkl_\w+' <<<"$rest" | sed "s/^/$kind: /"
        done | sort
}
page=$top_srcdir/docs/stability.md
grown=$(growth "$top_srcdir"/include/zkl/*.h)
expect_some "there are structs that may grow" "$grown"
expect_none "docs/stability.md (>) says what headers say (<)" "$(diff <(echo "$grown") <(said_growth "$page") | grep '^[<>]')"
sed 's/.zkl_leader., //' "$page" >"$scratch/stability.md"
expect_some "sees a struct that the page has otherwise" "$(diff <(echo "$grown") <(said_growth "$scratch/stability.md"))"

structs=$(structs_of_options "$top_srcdir"/include/zkl/*.h)
expect_some "there are structs of options" "$structs"
expect_none "C++ has all of their members" "$(unset_in_cxx "$top_srcdir"/include/zkl/*.hpp)"
structs=${structs/zkl_session_options size/zkl_session_options size planted}
expect_some "sees a member that C++ does not have" "$(unset_in_cxx "$top_srcdir"/include/zkl/*.hpp)"

if command -v python3 >/dev/null; then
    expect_none "Python's declarations are those of the headers" "$(python_differs "$top_srcdir")"
    mkdir "$scratch/python" && cp -r --parents "$top_srcdir"/{include,man/headers.py,python} "$scratch/python"
    copy=$scratch/python$top_srcdir
    chmod -R u+w "$scratch/python"
    sed -i 's/^    int fence64;/    int64_t fence64;/' "$copy/include/zkl/mutex.h"
    expect_some "sees a member of another type" "$(python_differs "$copy" | grep fence64)"
    printf '%s\n' ZKL_BEGIN 'typedef union zkl_planted { int a; } zkl_planted;' ZKL_END >"$copy/include/zkl/watch.h"
    expect_some "sees what it does not understand" "$(python_differs "$copy" | grep 'what is this? typedef union')"
else
    missing python3
fi
finish
