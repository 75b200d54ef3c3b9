# ./dev mutants: would the tests see a mistake? First small changes everywhere, which the tests that
# need no server must see, and to the judge of the fault tests, which its own test must; then wrong deadline rules, which the fault tests on real ones must; then
# users of the lock who are not careful, and a register that looks at no token.
# shellcheck shell=bash disable=SC2154

mutants() { # EVERY SEED
    local status=0 judge=tests/history/judge_exclusion.c
    build o1 tests/mutants/mutate
    tests/mutants/run.sh _build/o1 _build/small-changes "$1" "$2" || status=1
    FILES="$judge" PROGRAMS=judge tests/mutants/run.sh _build/o1 _build/changes-of-judge "$1" "$2" || status=1
    tests/live/faults/mutants.sh . _build/mutants || status=1
    build gcc all-tests
    chaos unfenced || status=1
    chaos careless || status=1
    ((status == 0)) || die "mutants: the tests let one pass, or it has no reason in equivalent.txt"
}

chaos() { # MUTANT
    (cd "$logs" && ZKL_REQUIRE_SERVER=1 ZKL_CHAOS_MUTANT=$1 top_builddir="$root/_build/gcc" \
        watched gcc bash "$root/tests/interop/chaos.sh")
}
