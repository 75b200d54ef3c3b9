# ./dev test: the short loop between two edits. Builds only what it runs.
# shellcheck shell=bash disable=SC2154

programs=(tests/unit/unit tests/world/world tests/world/session tests/world/conform-world tests/sim/sim
    tests/sim/golden/golden tests/explore/transactions tests/explore/candidacies tests/live/live
    tests/support/zkl-server tests/support/zkl-watchdog tools/zkl)

begun=()    # "PID PROGRAM ARG…"
commands=() # of each, how to run it again

begin() { # PROGRAM ARG…
    local words
    test_words gcc "_build/gcc/$1" "${@:2}"
    "${words[@]}" >"$(log_name "test $*")" 2>&1 </dev/null &
    begun+=("$! $*")
    commands+=("$(quoted "${words[@]}")")
}

end_begun() {
    local one
    for one in "${begun[@]}"; do
        kill "${one%% *}" 2>/dev/null || true
    done
}

count_begun() {
    local i program status again=()
    for i in "${!begun[@]}"; do
        program=${begun[i]#* } status=0
        wait "${begun[i]%% *}" || status=$?
        count_ended gcc "${program%% *}" "$(log_name "test $program")" "$status" "${commands[i]}"
    done
    begun=()
    show_again "${again[@]}"
}

# The longest first.
short_tests() {
    build gcc "${programs[@]}"
    trap end_begun EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    passed=0 failed=0 skipped=0
    # These cases of unit wait, or count long.
    local one long=('every_call.refused' 'every_call.no_children' 'every_call.without_*' probe counter_call once_years)
    for one in "${long[@]}"; do
        begin tests/unit/unit "$one"
    done
    begin tests/unit/unit -x "${long[@]}"
    begin tests/live/live mutex mutex_end election 'fault_connection.cut_while_*' fault_reply
    begin tests/sim/sim --seconds 5
    begin tests/world/world
    begin tests/world/session
    begin tests/world/conform-world
    begin tests/sim/golden/golden
    begin tests/explore/transactions
    begin tests/explore/candidacies
    count_begun
    say "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    ((failed == 0)) || exit 1
}
