#!/bin/bash
# The README's program is the example that is built here, and it does what the README says.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
: "${top_srcdir:=$PWD}"

sed -n '/^```c$/,/^```$/p' "$top_srcdir/README.md" | sed '1d;$d' >"$scratch/readme.c"
run diff "$top_srcdir/examples/lock.c" "$scratch/readme.c"
expect "the README shows examples/lock.c" "0:" "$status:$out"

run "$top_builddir/examples/lock" "$ZKL_CONNECT"
expect_match "it locks" '^0:mine, with token [1-9][0-9]*$' "$status:$out"
run "$ZKL" ls /jobs/nightly
expect "and leaves nothing" "0:" "$status:$out"

sed -n '/^```cpp$/,/^```$/p' "$top_srcdir/README.md" | sed '1d;$d' >"$scratch/readme.cpp"
run diff "$top_srcdir/examples/lock.cpp" "$scratch/readme.cpp"
expect "the README shows examples/lock.cpp" "0:" "$status:$out"
hold /jobs/nightly
"$top_builddir/examples/lock" "$ZKL_CONNECT" >"$scratch/readme.out" &
waiter=$!
remember $waiter
if [ -x "$top_builddir/examples/lock-cxx" ]; then
    run "$top_builddir/examples/lock-cxx" "$ZKL_CONNECT"
    expect "without the lock it fails, too" "1:" "$status:$out"
fi
wait $waiter
expect "without the lock it fails" "1:" "$?:$(read_file "$scratch/readme.out")"
let_go

if [ -x "$top_builddir/examples/lock-cxx" ]; then
    run "$top_builddir/examples/lock-cxx" "$ZKL_CONNECT"
    expect_match "it locks, too" '^0:mine, with token [1-9][0-9]*$' "$status:$out"
    run "$top_builddir/examples/lock-cxx"
    expect "without a server it says so" "1:1" "$status:$(wc -l <"$scratch/err")"
else
    missing "a C++ compiler" "examples/lock.cpp"
fi
finish
