#!/bin/bash
# Would the tests see a mistake? Makes every EVERYth small change that mutate.c knows to the decisions
# and the runtime, one at a time, and runs the test programs that need no server until one fails.
# What survives must be in equivalent.txt, with the reason why it changes nothing that matters.
# usage: run.sh BUILD FOLDER [EVERY [SEED]]
#
# BUILD is configured with --disable-shared and -O1; JOBS (default: all processors) mutants are
# tried at a time; FILES and PROGRAMS, when set, are words that choose some of the tables below.
# ZKL_TEST_TIMEOUT (default: 10 seconds of its own time) is how long a test may make no step.

set -euf -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
sources=$(cd "$here/../.." && pwd)
build=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
every=${3:-1} seed=${4:-0}
: "${JOBS:=$(nproc)}" "${MAKE:=make}"
# The watchdog ends a test that makes no step by then; those of the original are in time.
export ZKL_TEST_TIMEOUT=${ZKL_TEST_TIMEOUT:-10}
# What was freed is overwritten, so that its use shows.
export top_srcdir=$sources G_SLICE=always-malloc MALLOC_PERTURB_=165 LSAN_OPTIONS=suppressions=$sources/tests/support/lsan.supp:print_suppressions=0

# All recipes; of the runtime, what is above the session, and of the session what decides. Nobody has judged yet what
# survives of those that are left out.
mapfile -t files < <(cd "$sources"
    find recipes -name '*.c' | grep -vE '/(create_form|ending|ensemble)\.' | sort
    find lib/{barrier,contender,counter,election,grant,lock,member,queue,shards} -name '*.c' | grep -vE '/(multilock|store_zk_.*)\.' | sort
    printf '%s\n' lib/base/steps.c lib/session/driver.c lib/session/incarnation.c lib/session/proof_chain.c lib/session/request.c lib/session/stats.c lib/session/watch.c)

# Suites of the unit tests that drive one part of the library.
locks="multilock rwlock handle orphans once_call"
rendezvous="barrier barrier_bad barrier_call double_barrier session"
groups="member_call member_node members shards session"
changes="multi multilock"
terms="election observer session stats"
queues="queue election observer members"

# In the order in which they are tried, the quick ones first: name, the files that are in it, flags
# to link with, program, arguments. What only leaks survives all but the last.
programs=(
    "recipes|recipes/||tests/unit/unit|name rule attempt* proofs transaction* candidacy* children observe once retain* barrier counter group shard shards member multi_lock permits numbering leasing holders snapshot payload"
    "lists|recipes/children||tests/unit/unit|$queues"
    "changes|lib/grant/multi.||tests/unit/unit|$changes"
    "leaks-of-changes|lib/grant/multi.|-fsanitize=leak|tests/unit/unit|$changes"
    "terms|lib/election/||tests/unit/unit|$terms"
    "leaks-of-terms|lib/election/|-fsanitize=leak|tests/unit/unit|$terms"
    "queues|lib/queue/||tests/unit/unit|$queues"
    "leaks-of-queues|lib/queue/|-fsanitize=leak|tests/unit/unit|$queues"
    "leaders|recipes/observe||tests/unit/unit|observer"
    "replay|lib/||tests/explore/replay|--max-states 400"
    "semaphores|lib/lock/||tests/unit/unit|semaphore numbered leased"
    "grants|lib/grant/||tests/unit/unit|grant retained"
    "grants-in-steps|lib/grant/||tests/explore/words|"
    "steps|lib/base/||tests/unit/unit|retained multilock"
    "locks|lib/lock/||tests/unit/unit|$locks"
    "leaks-of-locks|lib/lock/|-fsanitize=leak|tests/unit/unit|semaphore numbered leased $locks"
    "driver|lib/session/driv||tests/unit/unit|session_driver counter_call $rendezvous $groups"
    "leaks-of-driver|lib/session/driv|-fsanitize=leak|tests/unit/unit|session_driver counter_call $rendezvous $groups"
    "words|recipes/machine||tests/unit/unit|session_driver counter barrier member"
    "counts|lib/counter/||tests/unit/unit|counter_call"
    "leaks-of-counts|lib/counter/|-fsanitize=leak|tests/unit/unit|counter_call"
    "rendezvous|lib/barrier/||tests/unit/unit|$rendezvous"
    "leaks-of-rendezvous|lib/barrier/|-fsanitize=leak|tests/unit/unit|$rendezvous"
    "shards|lib/shards/||tests/unit/unit|shards_call"
    "leaks-of-shards|lib/shards/|-fsanitize=leak|tests/unit/unit|shards_call"
    "groups|lib/member/||tests/unit/unit|$groups"
    "leaks-of-groups|lib/member/|-fsanitize=leak|tests/unit/unit|$groups"
    "tallies|lib/session/stats||tests/unit/unit|stats"
    "leaks-of-tallies|lib/session/stats|-fsanitize=leak|tests/unit/unit|stats"
    "unit|||tests/unit/unit|"
    "transactions|recipes/transaction||tests/explore/transactions|"
    "candidacies|recipes/candidacy||tests/explore/candidacies|"
    "rounds|recipes/barrier||tests/explore/rounds|"
    "closings|recipes/barrier||tests/explore/closings|"
    "additions|recipes/counter||tests/explore/additions|"
    "runs|recipes/once||tests/explore/once|"
    "members|recipes/member||tests/explore/members|"
    "shares|recipes/shard||tests/explore/shares|"
    "meetings|recipes/barrier||tests/sim/barriers|barriers*"
    "sums|recipes/counter||tests/sim/barriers|counters*"
    "barriers|lib/barrier/||tests/sim/barriers|barriers*"
    "counters|lib/counter/||tests/sim/barriers|counters*"
    "retains|recipes/retain||tests/explore/retains|"
    "payoffs|recipes/payoff||tests/explore/retains|"
    "multilocks|recipes/multi_lock||tests/explore/multilocks|"
    "leases|recipes/leasing||tests/explore/multilocks|"
    "explore|recipes/||tests/explore/explore|--contenders 2 --faults 1"
    "permits|recipes/attempt||tests/explore/permits|"
    "numbers|recipes/numbering||tests/explore/numbers|"
    "golden|||tests/sim/golden/golden|"
    "sim|||tests/sim/sim|--schedules 300"
    "judge|tests/history/||tests/history/judge_test|"
    "sim-permits|||tests/sim/sim|--permits --schedules 300"
    "sim-leases|recipes/leasing||tests/sim/sim|--leases --schedules 300"
    "sim-leased|lib/lock/semaphore||tests/sim/sim|--leases --schedules 300"
    "sim-members|recipes/member||tests/sim/sim|--members --schedules 300"
    "sim-groups|recipes/group||tests/sim/sim|--members --schedules 300"
    "sim-views|lib/member/||tests/sim/sim|--members --schedules 300"
    "leaks|lib/|-fsanitize=leak|tests/unit/unit|"
)

die() {
    echo "run.sh: $*" >&2
    exit 2
}

# ---- what is made once ----

# Both tables, as the environment restricts them and as far as there are such programs.
choose() {
    local line name part target
    # shellcheck disable=SC2206
    files=(${FILES-${files[@]}})
    : >"$folder/programs"
    for line in "${programs[@]}"; do
        IFS='|' read -r name part _ target _ <<<"$line"
        if [[ " ${PROGRAMS-$name} " != *" $name "* ]]; then
            continue
        elif grep -qE "^$target\\$\\(EXEEXT\\):" "$build/Makefile"; then
            echo "$name $part" >>"$folder/programs"
        else
            echo "skipped: there is no $target"
        fi
    done
}

entry() { # PROGRAM FIELD: of its line in the table
    local line
    for line in "${programs[@]}"; do
        [ "${line%%|*}" != "$1" ] || cut -d'|' -f"$2" <<<"$line"
    done
}

# What make says that it does when it makes the files and the programs anew.
make_all() {
    local name file targets=()
    while read -r name _; do
        targets+=("$(entry "$name" 4)")
    done <"$folder/programs"
    (
        cd "$build"
        rm -f "${targets[@]}"
        for file in "${files[@]}"; do
            find "${file%/*}" -name "*_la-$(basename "$file" .c).lo" -delete
        done
        $MAKE -j"$JOBS" V=1 tests/support/zkl-watchdog "${targets[@]}"
    ) >"$folder/make.log" 2>&1 || die "the build fails: see $folder/make.log"
}

# Commands as scripts, with $object, $source and $program for what differs. A quoted include is
# looked for beside the source, which is elsewhere now. Beneath the recorder (tests/seen) public
# functions have other names, and the object with those is $recorded.
take_commands() {
    local file name line target mutant
    for file in "${files[@]}"; do
        line=$(grep -E "^libtool: compile: .* -c [^ ]*/$file " "$folder/make.log" | tail -n 1)
        [ -n "$line" ] || die "make does not say how it compiles $file"
        line=$(sed -E "s,^libtool: compile: ,,; s, -MT [^ ]+ -MD -MP -MF [^ ]+,,; s, -c [^ ]+ , -iquote $sources/${file%/*} -c \"\$source\" ,; s, -o [^ ]+, -o \"\$object\"," <<<"$line")
        echo "$line" >"$folder/compile/${file//\//-}"
    done
    while read -r name _; do
        target=$(entry "$name" 4)
        line=$(grep -E "^libtool: link: .* -o $target " "$folder/make.log" | tail -n 1)
        [ -n "$line" ] || die "make does not say how it links $target"
        mutant=object
        [[ $line != *tests/seen/core.a* ]] || mutant=recorded
        sed -E "s,^libtool: link: ,,; s, -o $target , $(entry "$name" 3) -o \"\$program\" \$$mutant ," <<<"$line" >"$folder/$name.link"
    done <"$folder/programs"
}

# The original takes the same way as a mutant: it must pass, and its time says when one hangs.
try_original() {
    local file name begin limit
    export object=$folder/original.o recorded='' source=$folder/original.c program=$folder/original
    for file in "${files[@]}"; do
        { echo "#line 1 \"$file\"" && cat "$sources/$file"; } >"$source"
        # shellcheck source=/dev/null
        (cd "$build" && . "$folder/compile/${file//\//-}") || die "$file cannot be compiled"
        objcopy --strip-debug "$object" "$folder/bare/${file//\//-}.o"
    done
    while read -r name _; do
        # shellcheck source=/dev/null
        (cd "$build" && object='' && . "$folder/$name.link")
        begin=$(date +%s)
        # shellcheck disable=SC2046
        (cd "$build" && "$program" $(entry "$name" 5)) >"$folder/$name.log" 2>&1 </dev/null ||
            die "$name fails without any change: see $folder/$name.log"
        limit=$((($(date +%s) - begin) * 10 + 10))
        # A sanitizer needs all addresses; others must not eat the machine.
        [ -n "$(entry "$name" 3)" ] || echo "ulimit -v 4000000" >"$folder/$name.run"
        echo "ZKL_TEST_WALL=$limit tests/support/zkl-watchdog \"\$program\" $(entry "$name" 5)" >>"$folder/$name.run"
    done <"$folder/programs"
}

list_sites() {
    local file
    for file in "${files[@]}"; do
        (cd "$sources" && "$build/tests/mutants/mutate" "$file") | sed "s,^,$file\t,"
    done >"$folder/sites"
}

# ---- what comes out ----

count() { # VERDICT
    cut -f1 "$folder/all" | grep -cE "^$1" || true
}

share() { # PART WHOLE
    awk -v part="$1" -v whole="$2" 'BEGIN { printf "%.1f %%", whole ? 100 * part / whole : 100 }'
}

# equivalent.txt has what was judged to change nothing: "FILE FUNCTION", the lines before it ("- ")
# and after it ("+ "), and why ("= "). Survivors are divided into $folder/excused and, in the same
# form, $folder/survivors.
judge_survivors() {
    : >"$folder/excused"
    : >"$folder/survivors"
    grep '^survived' "$folder/all" | awk -F'\t' -v list="$here/equivalent.txt" -v folder="$folder" '
        BEGIN {
            while ((getline line < list) > 0) {
                if (line ~ /^- /) before = substr(line, 3)
                else if (line ~ /^\+ /) after = substr(line, 3)
                else if (line ~ /^= /) excuse[place "\t" before "\t" after] = substr(line, 3)
                else if (line ~ /^[a-z]/) place = line
            }
        }
        {
            key = $2 " " $5 "\t" $6 "\t" $7
            if (key in excuse)
                print $4 ": " excuse[key] >(folder "/excused")
            else
                printf "# %s\n%s %s\n- %s\n+ %s\n\n", $4, $2, $5, $6, $7 >(folder "/survivors")
        }' || true
}

report() {
    local killed survived excused name file
    (cd "$folder/results" && find . -type f -printf '%f\n' | sort -n | xargs cat) >"$folder/all"
    judge_survivors
    echo
    for file in "${files[@]}"; do
        printf '%-28s %4d sites, %4d tried, %4d killed, %3d survived\n' "$file" \
            "$(cut -f1 "$folder/sites" | grep -cxF "$file")" "$(cut -f2 "$folder/all" | grep -cxF "$file")" \
            "$(awk -F'\t' -v f="$file" '$2 == f && /^killed/' "$folder/all" | wc -l)" \
            "$(awk -F'\t' -v f="$file" '$2 == f && /^survived/' "$folder/all" | wc -l)"
    done
    cat "$folder/survivors"
    killed=$(count killed) excused=$(wc -l <"$folder/excused")
    survived=$(($(count survived) - excused))
    echo "$(wc -l <"$folder/all") mutants of $(wc -l <"$folder/sites"): $(count uncompilable) do not compile, $(count same) are the same to the compiler"
    while read -r name _; do
        echo "  killed by $name: $(count "killed $name\$")"
    done <"$folder/programs"
    echo "  $excused survived with a reason given, $survived without"
    echo "killed: $(share "$killed" $((killed + survived))), or $(share "$killed" $((killed + survived + excused))) with those of equivalent.txt as survivors"
    [ "$survived" -eq 0 ]
}

rm -rf "$folder"/{results,work,compile,bare}
find "$folder" -maxdepth 1 -name '*.run' -delete
mkdir -p "$folder"/{results,work,compile,bare}
ln -sfn "$build" "$folder/build"
ln -sfn "$sources" "$folder/source"
ln -sf "$build/tests/mutants/mutate" "$folder/mutate"
$MAKE -s -C "$build" Makefile >"$folder/make.log" 2>&1 || die "the build folder is no good: see $folder/make.log"
choose
make_all
take_commands
try_original
list_sites
seq "$((seed % every + 1))" "$every" "$(wc -l <"$folder/sites")" |
    xargs -P "$JOBS" -n 1 "$here/one.sh" "$folder"
report
