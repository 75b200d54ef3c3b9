#!/bin/bash
# examples/python/zkl.py on a throwaway server.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}"
library=$top_builddir/lib/.libs/libzkl.so

[ -z "${ZKL_INSTRUMENTED-}" ] || { skip "the interpreter is not instrumented"; finish; }
[ -e "$library" ] || { skip "no libzkl.so: --disable-shared"; finish; }
command -v python3 >/dev/null || { skip "no python3"; finish; }
need_server
begin

run env ZKL_LIBRARY="$library" PYTHONPATH="$top_srcdir/examples/python" \
    timeout 300 python3 -B -X dev "$(dirname "$0")/python.py"
printf '%s\n' "$out"
passed=$((passed + $(grep -c '^ok: ' "$scratch/out")))
expect "the cases end well" 0 "$status"
expect "with no warning of the interpreter" "" "$(grep -v '^zkl: .*: lost: .*$' "$scratch/err")"
expect_no_node "the end of the program releases" /python/end
finish
