#!/bin/bash
# Do the tests see a wrong deadline rule? Applies each mutant to a copy of the sources, builds that
# beside them and demands that the tests of the cut-off server and of the stall fail there, by an
# overlap or a broken promise, and pass with the rule as it is.
# usage: mutants.sh SOURCES FOLDER

set -eu -o pipefail
sources=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
tests=(scenario_cut.s03_follower_cut_from_leader scenario_stall.s04_stall_one_write_cut)
failed=0 passed=0
: "${MAKE:=make -j$(nproc)}"
unset ZKL_TEST_SCALE

build() { # NAME [PATCH]
    rm -rf "${folder:?}/$1"
    mkdir -p "$folder/$1/source" "$folder/$1/build"
    (cd "$sources" && find . -path ./_build -prune -o -path ./.git -prune -o -type f -print0 | tar -c --null -T -) |
        tar -x -C "$folder/$1/source"
    [ $# -eq 1 ] || patch -s -p1 -d "$folder/$1/source" <"$2"
    (cd "$folder/$1/build" && ../source/configure -q && $MAKE tests/live/faults/scenarios) \
        >"$folder/$1.build.log" 2>&1 || {
        tail -n 20 "$folder/$1.build.log"
        echo "$1 cannot be built" >&2
        exit 1
    }
}

count() { # OK WHAT
    if "$1"; then
        passed=$((passed + 1))
        echo "ok: $2"
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

run() { # NAME TEST: its output in a log; true if it passed
    (cd "$folder/$1" && build/tests/live/faults/scenarios "$2") >"$folder/$1.$2.log" 2>&1
}

# A failure counts when the judge saw what the rule is there to prevent. On a busy machine an attack
# may miss its moment: it has three tries.
caught() { # NAME TEST
    local try
    for try in 1 2 3; do
        if ! run "$1" "$2" && grep -qE 'VIOLATION of V[12] ' "$folder/$1.$2.log"; then
            return
        fi
        echo "$2 has not caught $1 in try $try"
    done
    return 1
}

build unchanged
for test in "${tests[@]}"; do
    if run unchanged "$test"; then ok=true; else ok=false; fi
    count $ok "$test passes as it is"
done
for patch in "$sources"/tests/live/faults/mutants/*.patch; do
    name=$(basename "$patch" .patch)
    build "$name" "$patch"
    for test in "${tests[@]}"; do
        if caught "$name" "$test"; then ok=true; else ok=false; fi
        count $ok "$test fails with $name: $(grep -m1 -oE 'V[12] on path.*' "$folder/$name.$test.log" || tail -n 1 "$folder/$name.$test.log")"
    done
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
