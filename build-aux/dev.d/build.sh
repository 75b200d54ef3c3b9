# Builds under _build/NAME, tests in them, and what came out. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154,SC2254

# The machines that ./dev platforms builds for, by Debian's names; a pattern.
shopt -s extglob
machines='@(i386|armhf|arm64|s390x)'

jobs=$(nproc)
test_jobs=$((jobs + 1)) # most tests wait most of the time
passed=0 failed=0 skipped=0 # of all the tests shown so far

# In the shell's words. Sanitizers find the same at -O1, which compiles in three quarters of the time,
# and name the same lines with -g1. That each C++ file compiles by itself, and that they link, clang shows.
configure_args() { # NAME
    local at_once=zkl_cxx_at_once=yes
    case $1 in
    gcc) echo "--enable-werror CC=gcc CXX=g++ $at_once" ;;
    asan) echo "--enable-werror CC=gcc CXX=g++ $at_once --enable-sanitizer=address,undefined CFLAGS='-g1 -O1' CXXFLAGS='-g1 -O1'" ;;
    tsan) echo "--enable-werror CC=gcc CXX=g++ $at_once --enable-sanitizer=thread CFLAGS='-g1 -O1' CXXFLAGS='-g1 -O1'" ;;
    clang) echo "--enable-werror CC=clang CXX=clang++" ;;
    tls) echo "--enable-werror CC=gcc CXX=g++ --with-zookeeper=$root/_build/zookeeper-tls" ;;
    fuzz) echo "--enable-werror CC=clang CXX=clang++ --enable-sanitizer=address,undefined --enable-fuzzer" ;;
    o1) echo "CC=gcc --disable-shared CFLAGS=-O1" ;; # for mutants: quick to link, and many make warnings
    coverage) echo "CC=gcc --enable-coverage" ;;
    # addr2line of Debian 12 takes the wrong file for functions of headers, if DWARF is newer.
    walk) echo "--enable-werror CC=gcc --disable-shared CFLAGS='-gdwarf-4 -O0 -U_FORTIFY_SOURCE'" ;;
    $machines) cross_args "$1" ;;
    *) die "there is no build called \"$1\"" ;;
    esac
}

# Where configure has run in the source tree it refuses to run elsewhere, and make would take the
# objects there for those of any other build.
leave_source_tree() {
    [ -e config.status ] || return 0
    say "this tree is configured in place, and ./dev builds in _build: its build here is removed"
    step "make distclean" make distclean
}

# Makes configure, when there is none or its sources are newer than what it made last time.
bootstrap() {
    leave_source_tree
    if [ -x configure ] && [ -e Makefile.in ] &&
        [ -z "$(find configure.ac Makefile.am m4/zkl_*.m4 ./*/Makefile.inc ./*/*/Makefile.inc -newer Makefile.in)" ]; then
        return
    fi
    step "autoreconf" autoreconf -fi
}

# The files of dependencies, empty as configure would make them, with some processes for each.
make_depfiles() { # FOLDER
    local file
    sed -n 's,.*@am__quote@\(.*\)$(DEPDIR)\(.*\)@am__quote@ # am--include-marker$,\1.deps\2,p' Makefile.in |
        (cd "$1" && while IFS= read -r file; do
            [ -d "${file%/*}" ] || mkdir -p "${file%/*}"
            [ -e "$file" ] || echo '# dummy' >"$file"
        done)
}

# What configure has found with gcc, but for what pkg-config and the environment once said. What was missing may be there now.
found_with_gcc() {
    grep -vE '^(pkg_cv_|ac_cv_env_)|=.?no.?\}$' _build/gcc/config.cache 2>/dev/null || true
}

# Configures _build/NAME when needed. The sanitizers' builds differ from gcc's in flags, which nothing that configure looks
# for depends on. The simplest shell runs a script with the least work;
# tests/cli/clone.sh lets configure choose.
configure_build() { # NAME
    local name=$1 args
    args=$(configure_args "$name")
    bootstrap
    if [ ! -e "_build/$name/Makefile" ] || [ configure -nt "_build/$name/config.status" ] ||
        [ "$(cat "_build/$name/.args" 2>/dev/null)" != "$args" ]; then
        mkdir -p "_build/$name"
        make_depfiles "_build/$name"
        rm -f "_build/$name/config.cache"
        case $name in
        asan | tsan) found_with_gcc >"_build/$name/config.cache" ;;
        esac
        eval "step 'configure $name' env -C '_build/$name' CONFIG_SHELL=/bin/sh '$root/configure' -q -C $args"
        echo "$args" >"_build/$name/.args"
    fi
}

# Tests that mostly wait gain nothing from the optimizer, which is half of a compiler's work. Those that
# compute do; and ASan takes threads that are cancelled for faults where their functions are not optimized. UBSan looks at
# what ships: in the tests' own code it is a third of a compiler's work. What all searches share, and what takes most of
# their time, is the explorer's own: it looks at no memory but its own.
# For the walk each function of the library says that it begins, and that it ends; those of GLib's headers do not.
plain="-O0 -U_FORTIFY_SOURCE"
flags_by_file() { # NAME: what make is to evaluate
    case $1 in
    asan)
        echo tests/%.{o,lo} ": CFLAGS += -fno-sanitize=undefined"
        echo tests/explore/libsearch_la-%.lo ": CFLAGS += -fno-sanitize=all -O2"
        ;;&
    gcc | tsan | asan)
        echo lib/%.lo tests/{cli,demo,explore,hazards,history,interop,live,sim,support,torture,unit,world}/%.{o,lo} \
            ": CFLAGS += -include $root/_build/$1/others.h"
        echo tests/{cli,demo,hazards,interop,live,support,torture,unit}/%.{o,lo} ": CFLAGS += $plain"
        ;;&
    $machines) echo tests/{cli,live,support,torture,unit}/%.{o,lo} ": CFLAGS += $plain" ;;
    asan)
        echo tests/unit/unit-{handle_test,names_test,once_call_test,session_test}%o \
            tests/live/live-{cancel,fence}%o ": CFLAGS += -O1"
        ;;&
    clang) echo tests/%.{o,lo} ": CFLAGS += $plain" ;;
    gcc | tsan | asan) echo "tests/cxx/%.o: CXXFLAGS += $plain" ;;
    walk) echo {lib,recipes}/%.lo ": CFLAGS += -finstrument-functions -finstrument-functions-exclude-file-list=/usr/" ;;
    esac
}

# Libtool is a script of 11,000 lines, and runs for each object of a library. The builds that make no
# archives get by with a short one; configure's tries and tests/cli/clone.sh have libtool's.
quick_libtool() { # NAME: an assignment for make
    case $1 in
    gcc | asan | tsan | clang | $machines) echo "LIBTOOL=/bin/sh $root/build-aux/dev.d/libtool.sh" ;;
    esac
}

# What our files include of others is most of what a compiler reads: it is read once, in each way in which it is used.
# A file that does not name what it needs is found by clang, which compiles all of them without this.
precompile() { # NAME
    local folder=_build/$1 others=_build/$1/others.h args words position way
    case $1 in
    gcc | tsan | asan) ;;
    *) return 0 ;;
    esac
    args=$(configure_args "$1")
    [ ! -e "$others.gch" ] || [ "$(head -n 1 "$others")" != "// $args" ] || return 0
    rm -rf "$others.gch"*
    printf '%s\n' "// $args" '#include <'{glib,inttypes,pthread,stdio,stdlib,string,unistd}'.h>' >"$others"
    # make expands it
    # shellcheck disable=SC2016
    words=$(make -s -C "$folder" --eval='words: ; @echo $(CC) $(core_cppflags) $(AM_CFLAGS) $(CFLAGS)' words)
    mkdir "$others.gch.new"
    for position in "" "-fPIC -DPIC"; do
        for way in "" "$plain"; do
            (cd "$folder" && eval "$words $way $position -x c-header others.h -o 'others.h.gch.new/for$position$way'")
        done
    done
    mv "$others.gch.new" "$others.gch"
}

# Makes TARGETS in _build/NAME. For scripts the simplest shell is the quickest.
build() { # NAME TARGET…
    local flags libtool
    flags=$(flags_by_file "$1")
    libtool=$(quick_libtool "$1")
    configure_build "$1"
    precompile "$1"
    step "build $1" make -C "_build/$1" -j"$jobs" SHELL=/bin/sh ${libtool:+"$libtool"} ${flags:+--eval="$flags"} "${@:2}"
}

# A TSan program needs its address space where it expects it, and newer kernels randomize further
# than the TSan of Debian 12 knows.
test_wrapper() { # NAME
    if [ "$1" = tsan ] && (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) > 28)); then
        echo "setarch $(uname -m) -R"
    fi
}

# Runs a program of _build/NAME, or what uses it, under the watchdog: it ends what makes no progress
# (tests/support/watchdog.h).
watched() { # NAME COMMAND…
    "$root/_build/$1/tests/support/zkl-watchdog" "${@:2}"
}

# Runs one of the check targets; a failing test is no failure here, show_tests counts it. The watchdog
# ends a test that hangs.
run_tests() { # NAME TARGET
    test_status=0 test_target=$2
    test_log=$(log_name "$1 $2")
    find "_build/$1" -name '*.trs' -delete
    # shellcheck disable=SC2046
    $(test_wrapper "$1") make -k -j"$test_jobs" -C "_build/$1" "$2" >"$test_log" 2>&1 || test_status=$?
}

# Tests of a build, as make is to run them, in words for a shell. What the tests were told is in it, too.
tests_again() { # NAME TARGET ASSIGNMENT…
    local variable told=()
    for variable in ZKL_REQUIRE_SERVER ZKL_STORES ZKL_TEST_SCALE ZKL_SEEN ZKL_SEEN_PRELOAD; do
        [ -z "${!variable-}" ] || told+=("$variable=${!variable}")
    done
    # shellcheck disable=SC2046
    quoted $(test_wrapper "$1") make -C "_build/$1" "${@:2}" "${told[@]}"
}

# One test, and no more is built than it depends on.
test_again() { # NAME TEST
    local test=$2
    [ ! -e "$test.sh" ] || test+=.sh
    tests_again "$1" check-TESTS check_PROGRAMS= check_LTLIBRARIES= "TESTS=$test"
}

# One line per test program of the last run_tests, the end of the log of those that failed, how to run
# them again, and everything added to the totals.
show_tests() { # NAME
    local trs count=0 before=$failed again=()
    while read -r trs; do
        count=$((count + 1))
        show_test "$1" "${trs%.trs}"
    done < <(find "_build/$1" -name '*.trs' | sort)
    # A test, too, that was killed before it could leave a result.
    if ((count == 0 || (test_status != 0 && failed == before))); then
        say "  FAILED $1: a test left no result; the end of ${test_log#"$root"/}:"
        tail -n 15 "$test_log" | sed "s/^/      /"
        failed=$((failed + 1))
        again+=("$(tests_again "$1" "$test_target")")
    fi
    show_again "${again[@]}"
}

# How one test of _build/NAME runs under the watchdog, in front of which may stand what "within" says: in $words. The server
# must be there, so that a test which only skips fails.
within=()
test_words() { # NAME COMMAND…
    words=("${within[@]}" env ZKL_REQUIRE_SERVER=1 "top_srcdir=$root" "top_builddir=$root/_build/$1" G_SLICE=always-malloc
        "_build/$1/tests/support/zkl-watchdog" "${@:2}")
}

# Counts a test that has ended; its command comes to $again if it has failed.
count_ended() { # NAME TEST LOG STATUS COMMAND
    local result=PASS before=$failed
    (($4 == 0)) || result=FAIL
    count_test "$result" "${@:1:4}"
    ((failed == before)) || again+=("$5")
}

one_test() { # NAME TEST COMMAND…
    local words log status=0
    test_words "$1" "${@:3}"
    log=$(log_name "$1 $2")
    "${words[@]}" >"$log" 2>&1 </dev/null || status=$?
    count_ended "$1" "$2" "$log" "$status" "$(quoted "${words[@]}")"
}

show_again() { # COMMAND…
    (($# == 0)) || printf '  again: %s\n' "$@"
}

# Automake's log ends with the status of a test that failed.
show_test() { # BUILD TEST
    local test=${2#"_build/$1/"} status before=$failed
    status=$(sed -n 's/.*(exit status: \([0-9]*\))$/\1/p' "$2.log" | tail -n 1)
    count_test "$(sed -n 's/^:test-result: //p' "$2.trs" | head -n 1)" "$1" "$test" "$2.log" "$status"
    ((failed == before)) || again+=("$(test_again "$1" "$test")")
}

# The lines that say why: of a program's test those above its FAIL, or of the one that it broke off in; of a
# script's check those below its FAILED.
reasons() { # LOG
    awk '
        function show() { for (i = 1; i <= n && i <= 20; i++) print why[i]; n = 0 }
        /^  [^ ]+:[0-9]+: / { why[++n] = $0; next }
        /^(ok|skip) / { n = 0 }
        /FAIL|ERROR|WARNING: ThreadSanitizer|runtime error/ { if (failed++ < 10) { show(); print NR ":" $0 } below = 1; next }
        below && /^    / && failed <= 10 && below++ <= 20 { print; next }
        { below = 0 }
        END { show() }' "$1"
}

# What the watchdog says of a test by its status.
verdict_of() { # STATUS
    case $1 in
    99) echo "ended: the machine is too slow for it, which is no verdict about the code" ;;
    124) echo "ended, since it made no step" ;;
    esac
}

# Adds what a test's closing line says to the totals and prints it; of a test that failed also why, and the
# end of its log.
count_test() { # RESULT BUILD TEST LOG STATUS
    local result=$1 log=$4 line verdict p=0 f=0 s=0
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) || true
    verdict=$(verdict_of "$5")
    if [ -n "$line" ]; then
        read -r p _ f _ s _ <<<"$line"
    elif [[ $result = SKIP* ]]; then
        s=1
    else
        line=${verdict:-ended without its closing line} verdict=
        f=1
    fi
    # A crash after the last test, or a lie about it, still is a failure.
    if [[ $result != PASS* && $result != SKIP* ]] && ((f == 0)); then
        f=1
    fi
    line+=${verdict:+; $verdict}
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '  %-6s %-8s %-28s %s\n' "${result%% *}" "$2" "$3" "${line:-skipped}"
    if ((f > 0)); then
        reasons "$log" | sed 's/^/      /'
        say "    the end of ${log#"$root"/}:"
        tail -n 25 "$log" | sed 's/^/      /'
    fi
}

# gcov's shares of lines run and of branches taken, per file of the code that ships, and for each
# layer; fails below what each must have.
show_coverage() {
    local object
    find _build/coverage/recipes _build/coverage/lib -name '*.gcno' -path '*.libs*' | sort |
        while read -r object; do
            (cd _build/coverage && gcov -n -b "${object#_build/coverage/}" 2>/dev/null)
        done | awk -v root="$root/" '
            function share(ran, all) { return all ? 100 * ran / all : 100 }
            function row(what, lines_ran, lines, taken, branches) {
                return sprintf("%6.1f%% of %5d lines  %6.1f%% of %5d branches  %s", share(lines_ran, lines),
                    lines, share(taken, branches), branches, what)
            }
            /^File / { file = substr($0, 7, length($0) - 7); sub(root, "", file); sub(/^(\.\.\/)+/, "", file) }
            file !~ /^(recipes|lib)\/.*\.c$/ { next }
            { split($0, part, /[:% ]+/) }
            /^Lines executed/ { lines[file] = part[5]; lines_ran[file] = part[3] * part[5] / 100 }
            /^Taken at least once/ { branches[file] = part[7]; taken[file] = part[5] * part[7] / 100 }
            END {
                for (file in lines) {
                    print row(file, lines_ran[file], lines[file], taken[file], branches[file]) | "sort -k9"
                    layer = substr(file, 1, index(file, "/") - 1)
                    l[layer] += lines[file]; r[layer] += lines_ran[file]
                    b[layer] += branches[file]; t[layer] += taken[file]
                }
                close("sort -k9")
                need_lines["recipes"] = 98; need_branches["recipes"] = 95
                need_lines["lib"] = 90; need_branches["lib"] = 80
                for (layer in need_lines) {
                    print row(layer "/ in all", r[layer], l[layer], t[layer], b[layer])
                    if (l[layer] == 0 || share(r[layer], l[layer]) < need_lines[layer] ||
                        share(t[layer], b[layer]) < need_branches[layer]) {
                        printf "coverage: %s/ must have %d%% of its lines and %d%% of its branches\n", layer,
                            need_lines[layer], need_branches[layer]
                        low = 1
                    }
                }
                exit low
            }'
}
