# Sourced by what the scripts source (cli/lib.sh, lint/common.sh): what a script counts, and its closing line.
# With ZKL_FIRST_FAILURE in the environment the script ends with its first failure.
# shellcheck shell=bash

passed=0 failed=0 skipped=0

# Tells the watchdog that we have come further (tests/support/progress.h). Nothing happens without one, or
# where another user may not write its file.
step() {
    if [ -e "${ZKL_PROGRESS-}" ]; then
        printf . >>"$ZKL_PROGRESS" || :
        [ ! -e "$ZKL_PROGRESS.late" ] || rm -f "$ZKL_PROGRESS.late"
    fi 2>/dev/null
}

pass() { # WHAT
    passed=$((passed + 1))
    step
    echo "ok: $1"
}

fail() { # WHAT [DETAILS]
    failed=$((failed + 1))
    step
    echo "FAILED: $1"
    [ -z "${2-}" ] || printf '    %s\n' "${2//$'\n'/$'\n    '}"
    [ -z "${ZKL_FIRST_FAILURE-}" ] || exit 1
}

skip() { # WHAT
    skipped=$((skipped + 1))
    step
    echo "skipped: $1"
}

# What is not here is skipped on a user's machine. Where everything is required that is a failure.
missing() { # TOOL [WHAT]
    local what="$1 is missing${2:+: $2}"
    if [ "${ZKL_REQUIRE_SERVER-}" = 1 ]; then fail "$what"; else skip "$what"; fi
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] || exit 1
    [ "$passed" -gt 0 ] || [ "$skipped" -eq 0 ] || exit 77
    exit 0
}
