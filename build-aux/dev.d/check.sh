# ./dev check: every stage, its time and its counts, and one last line for all of them.
#
# Three lanes share the machine: two of tests, which mostly wait, and one of compilers, which take what
# the tests leave. One lane waits for another where both need a folder, so that they never touch it
# at the same time. A lane is a process group of its own, so that it can be ended as a whole.
# shellcheck shell=bash disable=SC2154,SC2030,SC2031

lanes=()  # the background lanes' process groups
group=    # that of the stage now running
results=  # a folder with each stage's output, counts, costs and, when it has ended, a mark
listener= # hears what each process costs (ledger.py), with --ledger

# A signal ends the stage at once, and with it whatever its tests have started.
end_group() {
    [ -z "$group" ] || kill -- "-$group" 2>/dev/null || true
}

end_check() {
    local lane
    end_group
    for lane in "${lanes[@]}"; do
        kill -- "-$lane" 2>/dev/null || true
    done
    end_listener
    rm -rf "$results"
}

begin_listener() {
    python3 -B build-aux/dev.d/ledger.py listen "$results/kinds" &
    listener=$!
}

# It ends by itself when this process does, however that ends.
end_listener() {
    [ -n "$listener" ] || return 0
    kill "$listener" 2>/dev/null || true
    wait "$listener" || true
    listener=
}

show_ledger() {
    end_listener
    python3 -B build-aux/dev.d/ledger.py report "$results" "$SECONDS" | tee _build/ledger.txt ||
        say "there is no ledger, since its report has failed"
}

# What "times" wrote, in s: the processor time of all children, which fewer processors wait for.
busy_time() { # FILE
    awk 'END { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1"
}

results_of() { # TITLE
    echo "$results/${1//[^A-Za-z0-9]/-}"
}

# Until another lane has ended that stage, or has itself ended.
await() { # TITLE LANE
    local mark
    mark=$(results_of "$1").ended
    until [ -e "$mark" ] || [ -e "$results/$2.ended" ]; do sleep 0.5; done
}

# Runs FUNCTION as the stage TITLE: prints its output at its end, in one piece, after a line with
# the time it took; its counts go to a file, since a lane cannot add to our totals. The watchdog adds a
# line for each of its tests to another (tests/support/watchdog.h).
stage() { # TITLE FUNCTION ARG…
    local title=$1 start=$SECONDS took output
    shift
    output=$(results_of "$title")
    echo "$title" >"$output.running"
    # In a subshell, since step() and die() end the shell they are in; in a process group and waited
    # for, so that signals are answered at once and nothing that a test left behind stays.
    set -m
    (
        set +m
        passed=0 failed=0 skipped=0
        export ZKL_LEDGER=$output.tests
        trap 'echo "$passed $failed $skipped" >"$output.counts"; times >"$output.times"' EXIT
        "$@"
    ) </dev/null >"$output.out" 2>&1 &
    group=$!
    set +m
    wait "$group" || : >"$output.broken"
    kill -KILL -- "-$group" 2>/dev/null || true
    group=
    rm -f "$output.running"
    took=$((SECONDS - start))
    echo "$took $title" >"$output.stage"
    summarize "$title" "$output" "$took"
    : >"$output.ended"
}

running_stages() {
    local file title titles=()
    for file in "$results"/*.running; do
        title=$(cat "$file" 2>/dev/null) || continue
        titles+=("$title; ")
    done
    ((${#titles[@]})) || titles=("no other stage; ")
    printf '%s' "${titles[@]}" | sed 's/; $//'
}

# What else the machine did when a stage has failed, and how much of it the stage has felt.
beside() { # OUTPUT
    local load
    load=$(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null) || load=unknown
    say "  beside it, at its end: $(running_stages); the load of the last 1, 5 and 15 minutes: $load on $jobs processors"
    [ ! -e "$1.tests" ] || awk '{ wall += $3; delayed += $6 }
        END { printf "  its tests could run, and got no processor, for at least %d s of their %d s\n", delayed, wall }' "$1.tests"
    [ ! -e /proc/pressure/cpu ] ||
        sed -n 's/^some .*avg300=\([0-9.]*\) .*/  something waited for a processor in \1 % of the last 5 minutes/p' \
            /proc/pressure/cpu
}

summarize() { # TITLE OUTPUT SECONDS
    local p=0 f=0 s=0
    read -r p f s <"$2.counts" || true
    # A stage that broke off fails, whatever it had counted.
    if [ -e "$2.broken" ] && ((f == 0)); then
        f=1
        echo "$p $f $s" >"$2.counts"
    fi
    ((f == 0)) || beside "$2" >>"$2.out"
    printf '%s\n' "$(
        printf '[%d:%02d] %-34s %3d s (%d s of processors)   %d passed, %d failed, %d skipped\n' \
            $((SECONDS / 60)) $((SECONDS % 60)) "$1" "$3" "$(busy_time "$2.times")" "$p" "$f" "$s"
        cat "$2.out"
    )"
}

stage_build() { # NAME TARGET
    rm -f "_build/$1/.built"
    build "$@"
    passed=1
    : >"_build/$1/.built"
}

# Tests start ZooKeeper servers by the hundred. With its classes parsed and checked in advance each takes
# a third less of the processors' time until it serves; one of an ensemble has them all, and writes
# them when it ends. Without them everything is as it was.
server_classes=$root/_build/server.jsa
archive_server_classes() {
    local log
    log=$(log_name "archive the servers' classes")
    rm -f "$server_classes"
    # It is no test, for a line in the ledger.
    # shellcheck disable=SC2016
    (unset ZKL_LEDGER && JDK_JAVA_OPTIONS="-XX:ArchiveClassesAtExit=$server_classes" \
        watched gcc _build/gcc/tests/support/zkl-server --nodes 3 -- bash -uc '
            server=
            for stat in /proc/[0-9]*/stat; do
                read -r pid name _ parent _ <"$stat" || continue
                [ "$name $parent" != "(java) $PPID" ] || server=$pid
            done
            kill -TERM "$server" &&
                while read -r _ _ state _ <"/proc/$server/stat" && [ "$state" != Z ]; do sleep 0.1; done') >"$log" 2>&1 || true
}

stage_build_gcc() {
    stage_build gcc shipped-tests
    archive_server_classes
}

# The tests that go round and round do it half as often as in ./dev soak, and with TSan less, which is many
# times slower. The sanitizers have half of fault_long_queue: what they leave out
# differs only in what the server is asked.
stage_tests() { # NAME TARGET
    local scale=20
    [ -e "_build/$1/.built" ] || die "$1 was not built, so its tests cannot run"
    [ "$1" = tsan ] || scale=50
    export ZKL_TEST_SCALE=${ZKL_TEST_SCALE-$scale}
    run_tests "$1" "$2"
    show_tests "$1"
}

# These tests record which function returned which error, and which verb exited with what; lint compares that with the
# manual.
seen=$root/_build/seen
stage_seen_tests() { # NAME TARGET
    ZKL_SEEN=$seen ZKL_SEEN_PRELOAD=$root/_build/gcc/tests/seen/.libs/libpreload.so stage_tests "$1" "$2"
}

stage_lint() {
    ZKL_SEEN=$seen stage_tests gcc check-lint
}

# configure must name what is missing, in one sentence, and get by without what is optional.
stage_abilities() {
    local scratch=_build/abilities
    rm -rf "$scratch"
    mkdir -p "$scratch"
    found_with_gcc >"$scratch/config.cache"
    (cd "$scratch" && "$root/configure" -q -C --disable-dependency-tracking CC=gcc) >"$scratch/log" 2>&1 ||
        die "configure fails even with everything there: $(tail -n 1 "$scratch/log")"
    refused 'libzookeeper-mt-dev' zkl_cv_zoo_state=no
    refused 'zoo_set_servers_resolution_delay.*freezes a live session' zkl_cv_zoo_set_servers_resolution_delay=no
    refused 'zoo_acreate2.*fencing token' zkl_cv_zoo_acreate2=no
    refused 'zookeeper_init2.*log callback' zkl_cv_zookeeper_init2=no
    refused 'zoo_aremove_all_watches.*on the server too' zkl_cv_zoo_aremove_all_watches=no
    refused 'libglib2.0-dev' PKG_CONFIG_LIBDIR=/nonexistent
    refused 'pkg-config' ac_cv_path_PKG_CONFIG= ac_cv_path_ac_pt_PKG_CONFIG=
    accepted 'without ZOO_CONTAINER, C++ and warnings, and as an archive alone' all zkl_cv_zoo_container=no zkl_cv_cxx=no CXX=/nonexistent zkl_cv_cc_flag__Wall=no --disable-shared
    archive_is_ours
    # The same objects are linked in another way.
    linked=gcc accepted 'the shared library without nodelete' lib/libzkl.la zkl_cv_ld_flag__Wl__z_nodelete=no
}

configure_anew() { # VARIABLE=VALUE…
    rm -rf _build/abilities/try
    mkdir -p _build/abilities/try
    # What was given wins over the cache, but for what pkg-config once said.
    grep -vE "^(pkg_cv_|ac_cv_env_)" _build/abilities/config.cache >_build/abilities/try/config.cache
    tried=(env -C _build/abilities/try "$root/configure" -q -C --disable-dependency-tracking CC=gcc CFLAGS=-O0 "$@")
    "${tried[@]}" >_build/abilities/try.log 2>&1
}

verdict() { # OK WHAT
    if [ "$1" = yes ]; then
        passed=$((passed + 1))
        say "  ok: $2"
    else
        failed=$((failed + 1))
        say "  FAILED: $2; the end of _build/abilities/try.log:"
        tail -n 5 _build/abilities/try.log | sed 's/^/    /'
        show_again "$(quoted "${tried[@]}")"
    fi
}

refused() { # SENTENCE VARIABLE=VALUE…
    local sentence=$1 ok=no
    shift
    if ! configure_anew "$@" && grep -qE "^configure: error: .*$sentence" _build/abilities/try.log; then
        ok=yes
    fi
    verdict $ok "configure stops with $*: $(sed -n 's/^configure: error: //p' _build/abilities/try.log | head -n 1)"
}

# Looks at the archive that was just made.
archive_is_ours() {
    local symbols others
    symbols=$(nm -g --defined-only _build/abilities/try/lib/.libs/libzkl.a | awk 'NF == 3 { print $3 }') || true
    others=$(grep -v '^zkl_' <<<"$symbols") || true
    verdict "$([ -z "$symbols" ] || [ -n "$others" ] || echo yes)" "the archive has no global symbols but zkl_*"
}

copy_objects() { # BUILD
    tar -C "_build/$1" -cf - --exclude='libzkl.*' lib recipes | tar -C _build/abilities/try -xf -
}

accepted() { # WHAT TARGET VARIABLE=VALUE…
    local what=$1 target=$2 ok=no
    shift 2
    if configure_anew "$@"; then
        [ -z "${linked-}" ] || copy_objects "$linked"
        tried=(make -C _build/abilities/try -j"$jobs" SHELL=/bin/sh "$target")
        ! "${tried[@]}" >>_build/abilities/try.log 2>&1 || ok=yes
    fi
    verdict $ok "builds $what"
}

# The tarball builds, tests and cleans up after itself; with clang, which this is the build of. Its
# live tests skip: they have run above, as have the long ones of what needs no server; those that
# read files are not left out.
# shellcheck disable=SC2016 # make expands it
tarball_tests='$(unit_tests) $(live_tests) $(network_tests) $(conform_tests) $(cli_tests) $(interop_tests)'
# These have seen the same bytes, which listed.sh knows to be there; the headers' has asked both compilers.
tarball_tests+=' $(filter-out $(addprefix tests/lint/,$(addsuffix .sh,arrows docs format headers includes limits man packages purity schedules)),$(lint_tests))'
tarball_tests+=" tests/sim/golden/golden tests/fuzz/replay tests/mutants/mutate_test"
stage_distcheck() {
    local log words
    log=$(log_name distcheck)
    # From the folder where configure has last found everything.
    words=(env -u ZKL_REQUIRE_SERVER VERBOSE=1
        make -C _build/abilities -j"$jobs" distcheck SHELL=/bin/sh "$(quick_libtool clang)" --eval="$(flags_by_file clang)" TESTS="$tarball_tests"
        DISTCHECK_CONFIGURE_FLAGS="$(configure_args clang) --disable-dependency-tracking CFLAGS=-O1 CXXFLAGS=-O0")
    if ! "${words[@]}" >"$log" 2>&1; then
        grep -nE 'FAIL|[Ee]rror|warning:' "$log" | head -n 10
        tail -n 25 "$log"
        show_again "$(quoted "${words[@]}")"
        die "make distcheck failed; see ${log#"$root"/}"
    fi
    passed=1
}

# The tests have the processors when they need them.
compilers() {
    renice -n 5 -p "$BASHPID" >/dev/null || true
    export CONFIG_SHELL=/bin/sh # see configure_build
    stage "build with ASan and UBSan" stage_build asan memory-tests
    stage "build with TSan" stage_build tsan thread-tests
    stage "configure without this and that" stage_abilities
    stage "make distcheck, with clang" stage_distcheck
}

more_tests() {
    await "build with ASan and UBSan" compilers
    stage "ASan and UBSan: tests" stage_seen_tests asan check-memory
    await "gcc: tests" foreground
    stage "gcc: other libraries" stage_tests gcc check-interop
}

end_lane() { # LANE
    end_group
    { : >"$results/$1.ended"; } 2>/dev/null || true
}

# Starts a background lane.
in_background() { # LANE
    set -m
    (
        set +m
        lanes=()
        trap 'end_lane "$1"' EXIT
        trap "exit 143" TERM
        "$1"
    ) &
    lanes+=($!)
    set +m
}

join_lanes() {
    wait "${lanes[@]}" || true
    lanes=()
}

check() { # [--ledger]
    local counts p f s
    results=$(mktemp -d)
    trap end_check EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # Here everything is required: what is missing must not pass as skipped.
    export ZKL_REQUIRE_SERVER=1
    [ "${1-}" != --ledger ] || begin_listener
    bootstrap
    rm -f "$seen" "$seen.ended"

    stage "build with gcc" stage_build_gcc
    [ ! -s "$server_classes" ] || export ZKL_SERVER_CLASSES=$server_classes
    test_jobs=$((jobs + 2)) # most wait, and compilers let them go first
    in_background compilers
    in_background more_tests
    stage "gcc: tests" stage_seen_tests gcc check-shipped
    await "build with TSan" compilers
    stage "TSan: tests" stage_tests tsan check-threads
    join_lanes
    stage "lint" stage_lint
    [ "${1-}" != --ledger ] || show_ledger

    passed=0 failed=0 skipped=0
    for counts in "$results"/*.counts; do
        read -r p f s <"$counts"
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done
    say "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0)) || exit 1
}
