#!/bin/bash
# The manual names the errors that tests have seen, and no others, and so it does the exit statuses of each verb.
# ZKL_SEEN is the record of all tests that have run (tests/seen/seen.c, ended.c): ./dev check gives it. Without one, only
# that a difference would be found.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if ! command -v python3 >/dev/null; then
    missing python3
    finish
fi

# Where the lists and a record differ.
differences() { # ROOT RECORD
    (cd "$1" && python3 -B man/errors.py "$2" 2>&1)
}

if [ -n "${ZKL_SEEN-}" ]; then
    expect_none "the manual's errors are those that tests have seen" "$(differences "$top_srcdir" "$ZKL_SEEN")"
fi

(cd "$top_srcdir" && python3 -B man/errors.py) >"$scratch/said"
expect_none "a record of what the manual says is no difference" "$(differences "$top_srcdir" "$scratch/said")"
sed '/^zkl_mutex_unlock\x0/s/x/./' "$scratch/said" >"$scratch/less"
expect_some "sees an error that no test has seen" "$(differences "$top_srcdir" "$scratch/less" | grep 'zkl_mutex_unlock.*no test has seen')"
mkdir "$scratch/tree" && cp -r "$top_srcdir"/{man,include} "$scratch/tree"
chmod -R u+w "$scratch/tree"
sed -i '/ZKL_EPERM: the caller does not hold this lock;/d' "$scratch/tree/include/zkl/mutex.h"
expect_some "sees an error that the manual does not name" "$(differences "$scratch/tree" "$scratch/said" | grep 'zkl_mutex_unlock: a test has seen ZKL_EPERM')"
sed -i 's/the codes of zkl_multilock_lock(),/& except ZKL_EACCES,/' "$scratch/tree/include/zkl/op.h"
expect_some "sees what is excepted of another function's" "$(differences "$scratch/tree" "$scratch/said" | grep 'zkl_op_wait: a test has seen ZKL_EACCES')"
sed '/^zkl_mutex_unlock\x0/d' "$scratch/said" >"$scratch/without"
expect_some "sees a function that no test has called" "$(differences "$top_srcdir" "$scratch/without" | grep 'zkl_mutex_unlock.*no test has seen')"

# Where zkl(1) and a record of exit statuses differ.
status_differences() { # ROOT RECORD
    (cd "$1" && python3 -B man/statuses.py "$2" 2>&1)
}
if [ -n "${ZKL_SEEN-}" ]; then
    expect_none "zkl(1) has the exit statuses that tests have seen" "$(status_differences "$top_srcdir" "$ZKL_SEEN.ended")"
fi
(cd "$top_srcdir" && python3 -B man/statuses.py) >"$scratch/ended"
expect_none "a record of what zkl(1) says is no difference" "$({ cat "$scratch/ended"; printf '%s\n' 'lock 3' 'ls 141' 'frob 7'; } >"$scratch/more"; status_differences "$top_srcdir" "$scratch/more")"
grep -vx 'lock 75' "$scratch/ended" >"$scratch/less"
expect_some "sees a status that no test has seen" "$(status_differences "$top_srcdir" "$scratch/less" | grep 'zkl lock: zkl(1) has 75')"
{ cat "$scratch/ended"; echo 'ls 75'; } >"$scratch/more"
expect_some "sees a status that the table does not have" "$(status_differences "$top_srcdir" "$scratch/more" | grep 'zkl ls: a test has seen 75')"
{ cat "$scratch/ended"; echo 'ls 3'; } >"$scratch/more"
expect_some "sees a status without a column" "$(status_differences "$top_srcdir" "$scratch/more" | grep 'zkl ls: a test has seen 3')"
mkdir "$scratch/tree/tools" && cp "$top_srcdir/tools/tool.h" "$scratch/tree/tools"
sed -i '/^\.It watch Ta/d' "$scratch/tree/man/zkl.1"
expect_some "sees a verb without a row" "$(status_differences "$scratch/tree" "$scratch/ended" | grep watch)"
finish
