#!/bin/bash
# zkl.hpp on a throwaway server.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
cxx=$top_builddir/tests/cxx/cxx

if [ ! -x "$cxx" ]; then
    missing "a C++ compiler"
    finish
fi
need_server
begin

ulimit -c 0
# What a callback throws and nobody catches ends the process, at once.
run "$cxx" --throw
expect "an exception that nobody catches: SIGABRT" 134 "$status"
expect_match "which says why" 'nobody catches this' "$err"

run "$top_builddir/tests/cxx/changing"
expect "owned() looks at the state once" 0 "$status"

"$cxx" >"$scratch/cases"
status=$?
cat "$scratch/cases"
closing=$(tail -n 1 "$scratch/cases")
expect_match "its cases end" '^[0-9]+ passed, [0-9]+ failed' "$closing"
expect "with success" 0 "$status"
passed=$((passed + ${closing%% *}))
finish
