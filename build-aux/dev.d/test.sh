# ./dev test: the short loop between two edits. Builds only what it runs.
# shellcheck shell=bash disable=SC2154

programs=(tests/unit/unit tests/world/world tests/world/session tests/world/conform-world tests/sim/sim
    tests/sim/golden/golden tests/explore/transactions tests/explore/candidacies tests/live/live
    tests/support/zkl-server tools/zkl)

# Here the server must be there, so that a program which only skips fails.
short() { # PROGRAM ARG...
    local log result=PASS
    log=$(log_name "test $1")
    ZKL_REQUIRE_SERVER=1 top_srcdir=$root top_builddir=$root/_build/gcc G_SLICE=always-malloc \
        timeout --foreground -k 20 300 "_build/gcc/$1" "${@:2}" >"$log" 2>&1 || result=FAIL
    count_test "$result" gcc "$1" "$log"
}

short_tests() {
    build gcc "${programs[@]}"
    passed=0 failed=0 skipped=0
    short tests/unit/unit
    short tests/world/world
    short tests/world/session
    short tests/world/conform-world
    short tests/sim/golden/golden
    short tests/sim/sim --seconds 10
    short tests/explore/transactions
    short tests/explore/candidacies
    short tests/live/live mutex mutex_end election 'fault_connection.cut_while_*' fault_reply
    say "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    ((failed == 0)) || exit 1
}
