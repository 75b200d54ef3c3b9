#!/bin/bash
# Which test measures time, and why: limits.txt lists each file with the number of its lines that do. A
# limit of its own is a verdict about the machine: what a test waits for is waited for by AWAIT(),
# progress_wait(), EVENTUALLY() or wait_until, and only the watchdog knows a limit.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

cd "$top_srcdir" || exit 1

# The one place, and this list. What goes into the command line of a command that runs for ever is no limit.
exempt='^tests/(support/(watchdog|own_time|progress|selftest_watchdog)\.[ch]|lint/limits\.(sh|txt))$'

# A clock that is compared or added to, and what takes a time limit.
c='(monotonic_time|real_time|boot_ns|history_now|now_ms|now_ns)\(\) *([<>]=?|[-+]) |\b(pthread_cond_timed|pthread_cond_clock|cond_wait_un)|\b(alarm|setitimer|clock_after_ms)\(|\b\w*(LIMIT|PATIENCE|WAIT)_(S|MS|US|NS)\b|usleep\([0-9]{6,}|\bsleep\([0-9]|poll\([^()]*, [1-9][0-9]*\)'
sh='(^|[^-a-z])timeout( -[^ ]+)* [1-9"$]|\(\([^#]*\bSECONDS\b|\$\{?SECONDS\b|\bread\b.* -t [1-9"$]|\bsleep ([1-9][0-9]?|[12][0-9][0-9]|0?\.[5-9][0-9]*)\b'
py='\btime\.(sleep|monotonic|time|monotonic_ns)\(|\btimeout=([1-9]|[A-Z_]*(LIMIT|PATIENCE))|\balarm\(|\basyncio\.wait_for\('
java='nanoTime\(|currentTimeMillis\(|Thread\.sleep\(|TimeUnit\.'
cpp='wait_for\(|wait_until\(|sleep_for\(|\balarm\(|::now\(\) *[-+<>]'

counts() { # FILE...: "FILE NUMBER" for those with any
    local file pattern
    for file; do
        case $file in
        *.[ch]) pattern=$c ;;
        *.sh) pattern=$sh ;;
        *.py) pattern=$py ;;
        *.java) pattern=$java ;;
        *.cpp | *.hpp) pattern=$cpp ;;
        *) continue ;;
        esac
        [[ $file =~ $exempt ]] || awk -v file="$file" -v n="$(grep -cE "$pattern" "$file")" 'BEGIN { if (n) print file, n }'
    done
}

listed() { # LIST
    sed -E '/^(#|$)/d; s/^([^ ]+) +([0-9]+) .*/\1 \2/' "$1"
}

mapfile -t files < <(find tests -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.java' -o -name '*.[ch]pp' \) | sort)
counts "${files[@]}" >"$scratch/counts"
listed tests/lint/limits.txt | sort >"$scratch/listed"
expect_none "each line of a test that measures time is listed" "$(diff "$scratch/listed" <(sort "$scratch/counts") | grep '^[<>]')"
expect_none "each has a reason" "$(grep -vE '^(#|$)|^tests/[^ ]+ +[0-9]+ +[a-z].{4,}' tests/lint/limits.txt)"

# A planted one of each kind is seen.
mkdir -p "$scratch/tests"
plant() { # NAME TEXT
    printf '%s\n' "$2" >"$scratch/tests/$1"
    expect_some "planted: $2" "$(counts "$scratch/tests/$1")"
}
plant a.sh 'sleep 60'
plant b.sh 'timeout 20 zkl lock /a true'
plant c.sh 'while ((SECONDS < end)); do pause; done'
plant d.sh 'read -r -t 60 line'
plant a.c '    while (!done && g_get_monotonic_time() < end)'
plant b.c '    pthread_cond_timedwait(&changed, &mutex, &until);'
plant c.c '    CHECK(zkl_session_wait(s, LIMIT_MS) == 0);'
plant d.c '    g_usleep(1000000);'
plant a.py 'said.get(timeout=10)'
plant a.java 'Thread.sleep(5);'
plant a.cpp 'CHECK(found.wait_for(limit));'
finish
