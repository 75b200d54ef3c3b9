# ./dev test: the short loop between two edits. Builds only what it runs.
# shellcheck shell=bash disable=SC2154

programs=(tests/unit/unit tests/world/world tests/world/session tests/world/conform-world tests/sim/sim
    tests/sim/golden/golden tests/explore/transactions tests/live/live tests/support/zkl-server tools/zkl)

# One line for a program that passes, all that it said for one that fails.
short() { # PROGRAM ARG...
    local log line p=0 f=0 s=0
    log=$(log_name "test $1")
    ZKL_REQUIRE_SERVER=1 top_srcdir=$root top_builddir=$root/_build/gcc G_SLICE=always-malloc \
        timeout --foreground -k 20 300 "_build/gcc/$1" "${@:2}" >"$log" 2>&1 || f=1
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) || true
    [ -z "$line" ] || read -r p _ _ _ s _ <<<"$line"
    ((p > 0)) || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '  %-6s %-28s %s\n' "$( ((f == 0)) && echo PASS || echo FAIL)" "$1" "${line:-ended without its closing line}"
    ((f == 0)) || cat "$log"
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
    short tests/live/live mutex_basic mutex_end mutex_cancel election_campaign fault_cut fault_reply
    say "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    ((failed == 0)) || exit 1
}
