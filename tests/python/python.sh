#!/bin/bash
# The package zkl for Python, on a throwaway server; and that it is typed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
: "${top_srcdir:=$PWD}"
library=$top_builddir/lib/.libs/libzkl.so

[ -e "$library" ] || { skip "no libzkl.so: --disable-shared"; finish; }
interpreter=(python3 -B -X dev)
# The interpreter loads gcc's ASan before the library, and has memory that ASan sees. Its leaks are not ours.
if [ -n "${ZKL_INSTRUMENTED-}" ]; then
    asan=$(ldd "$library" | awk '/libasan\./ { print $3 }')
    [ -n "$asan" ] || { skip "the interpreter is not instrumented"; finish; }
    interpreter=(env LD_PRELOAD="$asan" ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" PYTHONMALLOC=malloc "${interpreter[@]}")
fi
command -v python3 >/dev/null || { missing python3; finish; }
need_server
begin
# What make says of a jobserver is not of this installation.
run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" install-dist_zklpythonDATA pythondir="$scratch/python" DESTDIR=
expect "its modules are installed" "0:" "$status:$err"
export PYTHONPATH=$scratch/python ZKL_LIBRARY=$library

run env SCRATCH="$scratch" "${interpreter[@]}" "$(dirname "$0")/main.py" 3>&2
printf '%s\n' "$out"
passed=$((passed + $(grep -c '^ok: ' "$scratch/out")))
expect "the cases end well" 0 "$status"
expect "with no warning of the interpreter" "" "$(grep -vE '^zkl: .*: (lost: somebody else .*|released, because the thread .* ended)$' <<<"$err")"
expect_no_node "the end of the program releases" /python/end

run "$ZKL_SERVER" --java -Dzookeeper.enforce.auth.enabled=true --java -Dzookeeper.enforce.auth.schemes=digest -- \
    "${interpreter[@]}" -c 'import sys; sys.path.insert(0, sys.argv[1]); import sessions; sessions.claimed_with_credentials()' \
    "$(dirname "$0")"
expect "a session is ended where credentials are demanded" 0 "$status"

# The programs of the README and of the page. That of the page about grants is the README's.
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/../interop/page.sh"
sed -n '/^import sys$/,/^```$/p' "$top_srcdir/README.md" | sed '$d' >"$scratch/readme"
sed -n '/^\.Bd -literal$/,/^\.Ed$/p' "$top_srcdir/man/zkl-python.7" >"$scratch/programs"
csplit -s -z -f "$scratch/program" "$scratch/programs" '/^\.Bd/' '{*}'
expect "the page begins with the README's program" "" "$(plain <"$scratch/program00" | diff "$scratch/readme" - 2>&1)"
says=('^mine for [1-9][0-9]* s more, fence [0-9a-f]{32}$' '^mine, with token True$' '^leading$')
for i in "${!says[@]}"; do
    plain <"$scratch/program0$i" >"$scratch/program.py"
    run "${interpreter[@]}" "$scratch/program.py" "$ZKL_CONNECT/page$i"
    expect_match "program $i of the page runs" "${says[i]}" "$out"
    # What asyncio calls slow is the machine.
    expect "with success" "0:" "$status:$(grep -v '^Executing .* took ' <<<"$err")"
done
expect "there are no more" "${#says[@]}" "$(find "$scratch" -name 'program0*' | wc -l)"

# A sanitizer sees nothing of its types.
[ -z "${ZKL_INSTRUMENTED-}" ] || finish
if command -v mypy >/dev/null; then
    run mypy --strict --cache-dir="$scratch/mypy" "$PYTHONPATH/zkl"
    expect "its types agree" 0 "$status"
    printf 'import zkl\nzkl.Session(5)\n' >"$scratch/wrong.py"
    MYPYPATH=$PYTHONPATH run mypy --strict --cache-dir="$scratch/mypy" "$scratch/wrong.py"
    expect_match "which a program's must, too" 'error: Argument 1 to "Session"' "$out"
else
    missing mypy
fi
finish
