#!/bin/bash
# Processes of different libraries increment a counter under the lock of one path: none is lost, and
# no two are there at once, where the libraries see each other; and where they do not, that shows.
# The same for writers beside readers who look, and sixteen processes of zkl that do all sorts of it at
# once. Each set works for ZKL_CELL_SECONDS, and until all have had their turns. ZKL_CELLS, a pattern, chooses
# sets. Half the processes of zkl are of the version "next" of versions.txt.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
# shellcheck source=tests/interop/pretend.sh
. "$(dirname "$0")/pretend.sh"
begin_peers
seconds=${ZKL_CELL_SECONDS:-2}

wanted() { # KIND...
    [[ $* =~ ${ZKL_CELLS-} ]]
}

# In what the judge has said, or it is wrong, so that it need not be tried again.
were_at_once() { # FEW
    ((status != 0 || errors > 0)) || { [[ $out =~ \ ([0-9]+)\ at\ once ]] && ((BASH_REMATCH[1] >= $1)); }
}

# Chance decides who is there at once: again until they are so many.
contend_at_once() { # FEW KIND...
    local few=$1 tries
    for ((tries = 1; tries <= 30; tries++)); do
        contend "$seconds" "${@:2}"
        if ((few == 1)) || were_at_once "$few"; then break; fi
    done
}

# They exclude each other.
together() { # KIND...
    local what="$*, two each"
    wanted "$@" || return
    contend_at_once "${few:-1}" "$@"
    expect_match "$what: excluded each other" '^0:[1-9][0-9]* increments, 0 lost, 0 overlaps(, [1-9][0-9]* reads, [1-9][0-9]* at once, longest wait [0-9]+ ms)?$' "$status:$out"
    echo "    $out in $seconds s"
    ((errors == 0)) || err=$(tail -n 2 "$scratch"/{java,kazoo,zkl}*.err)
    expect "$what: no error" 0 "$errors"
    expect_empty "$what: nothing is left" "/interop/cell$cells"
}

# They exclude each other, but take two paths in opposite orders: only the time limit of one kind ends
# what they come to, which is an error for it.
deadlocks() { # KIND...
    local tries what="$*, two each"
    wanted "$@" || return
    for ((tries = 1; tries <= 30; tries++)); do
        contend 1 "$@"
        [[ $out =~ ,\ 0\ lost,\ 0\ overlaps ]] || break
        ((errors > 0)) && break
    done
    expect_match "$what: excluded each other" '^0:[1-9][0-9]* increments, 0 lost, 0 overlaps' "$status:$out"
    expect "$what: but only by a time limit" "zkl-multi-timed: lock: the time limit passed" \
        "$(grep -h "^$1:" "$scratch"/zkl*.err | sort -u)"
    echo "    $out, $errors time limits in try $tries of 1 s"
}

# The same of read-write locks; their readers have it together. If there were not more of them than of
# writers, all might take turns one by one for ever.
together_rw() { # KIND...
    local least=10 few=2
    together "$@" || return
    expect_match "$*: readers were there at once" ' ([2-9]|[1-9][0-9]+) at once, ' "${out%%$'\n'*}"
}

# Processes of zkl that lock, lock two paths, read, write and take permits with numbers, at once.
mixed() { # SECONDS
    local least=10 tries locks sides what="sixteen at once" kinds_of=(zkl zkl-multi + zkl-read zkl-read zkl-read zkl-write + zkl-numbered zkl-numbered)
    wanted "${kinds_of[@]}" || return
    for ((tries = 1; tries <= 30; tries++)); do
        contend "$1" "${kinds_of[@]}"
        locks=$status:$out
        judge 1
        sides=$status:$out
        were_at_once 2 && judge 2 && were_at_once 2 && break
    done
    expect_match "$what: locks, of one path and of two, excluded each other" \
        '^0:[1-9][0-9]* increments, 0 lost, 0 overlaps$' "$locks"
    echo "    ${locks#*:} in $1 s, try $tries"
    expect_match "$what: writers had it alone, readers together" \
        '^0:[1-9][0-9]* increments, 0 lost, 0 overlaps, [1-9][0-9]* reads, ([2-9]|[1-9][0-9]+) at once, longest wait [0-9]+ ms$' "$sides"
    echo "    ${sides#*:}"
    judge 2
    expect_match "$what: nobody had another's number" \
        '^0:0 increments, 0 lost, 0 overlaps, [1-9][0-9]* with numbers, [2-4] at once, 0 twice$' "$status:$out"
    echo "    $out"
    echo "    longest waits: $("$python" -B "$here/judge.py" --waits "$scratch"/history{,1,2})"
    expect "$what: no error" 0 "$errors"
    for what in "" -and -1 -2; do expect_empty "nothing is left at $cells$what" "/interop/cell$cells$what"; done
}

# Permits of a semaphore: several at once, of more than one holder, and never more than the limit.
together_permits() { # LIMIT KIND...
    local limit=$1 few=2 what="${*:2}, two each"
    shift
    wanted "$@" || return
    if [[ $* =~ x2 ]]; then few=3; fi
    contend_at_once "$few" "$@"
    expect_match "$what: several at once, and never more than the limit" "^0:0 increments, 0 lost, 0 overlaps, [1-9][0-9]* reads, [$few-$limit] at once, longest wait [0-9]+ ms\$" "$status:$out"
    echo "    $out in $seconds s"
    ((errors == 0)) || err=$(tail -n 2 "$scratch"/{java,kazoo,zkl}*.err)
    expect "$what: no error" 0 "$errors"
    for what in locks leases; do expect_empty "$*: nothing is left in $what" "/interop/cell$cells/$what"; done
}

# They go by other limits, or do not see each other, as is known of them: so the lowest is exceeded.
exceeds() { # LOWEST KIND...
    local tries limit=$1 what="${*:2}, two each"
    shift
    wanted "$@" || return
    for ((tries = 1; tries <= 30; tries++)); do
        contend 1 "$@"
        [[ $out =~ \ permits\ were\ taken\  ]] && break
    done
    expect_match "$what: more than the limit" "^1:0 increments.* [4-9] at once.* [4-9] of $limit permits were taken at once" "$status:${out//$'\n'/ }"
    echo "    ${out##*$'\n'} in try $tries of 1 s"
}

# They do not, as is known of them: so this test can tell.
apart() { # KIND...
    local least=20 tries what="$*, two each"
    wanted "$@" || return
    for ((tries = 1; tries <= 30; tries++)); do
        contend 1 "$@"
        [[ $out =~ [1-9][0-9]*\ overlaps ]] && [[ ! $out =~ \ 0\ lost ]] && break
    done
    expect_match "$what: do not exclude each other" '^[0-9]+ increments, [1-9][0-9]* lost, [1-9][0-9]* overlaps' "$out"
    echo "    ${out%%$'\n'*} in try $tries of 1 s"
}

# Their times can be compared.
same_clock() { # NAME
    local before between after
    ask zkl1 now
    before=${answer#ok }
    ask "$1" now
    between=${answer#ok }
    ask zkl1 now
    after=${answer#ok }
    if ((before <= between && between <= after)); then
        pass "$1 has the same clock"
    else
        fail "$1 has the same clock" "$before, $between, $after"
    fi
}

# The processes of zkl with an even number are of a version that is to come.
if can_pretend; then
    pretend next
    zkl_peers=("$pretended/next/zkl-peer" "$pretended/this/zkl-peer")
fi
start_lockers 4 4
"$ADMIN" create /interop ""
same_clock java1
same_clock kazoo1

together zkl curator
together zkl kazoo-curator
together curator kazoo-curator
together zkl-retain curator kazoo-curator &&
    expect_match "its threads had later turns of a token, too" ' [1-9][0-9]* zkl-retain' "$(<"$scratch/history")"
together zkl-kazoo kazoo
together zkl apache
together zkl-retain apache
together zkl-multi curator-multi
together zkl-multi curator-multi curator &&
    expect_empty "nor at the second path" "/interop/cell$cells-and"
for i in {5..16}; do start_zkl "zkl$i"; done
together_rw zkl-read zkl-read zkl-write
together_rw zkl-read zkl-read zkl-write curator-read curator-write
together_rw zkl-read zkl-read zkl-read zkl-write kazoo-extra-read kazoo-extra-write
together_rw zkl-read zkl-read zkl-read zkl-write curator-read curator-write kazoo-curator-read kazoo-curator-write
mixed $((seconds * 3 / 2))
together_permits 3 zkl-permit3 zkl-permit3 curator-permit3 curator-permit3
if wanted zkl-permit3; then
    ask zkl1 "hold /interop/cell$cells zkl-own-permit3"
    expect_match "zkl's own layout is refused where Curator's is" ' of an incompatible recipe' "$answer"
fi
together_permits 3 zkl-permit3 zkl-permit3 zkl-permit3 zkl-permit3 zkl-permit3 curator-permit3
together_permits 4 zkl-permit4x2 zkl-permit4 curator-permit4x2 curator-permit4

exceeds 3 zkl-permit3 curator-permit4
exceeds 4 zkl-permit4x2 curator-permit6x2
exceeds 3 zkl-permit3 zkl-permit3 kazoo-permit3
exceeds 3 curator-permit3 curator-permit3 kazoo-permit3
apart none
apart kazoo curator
apart kazoo zkl
apart zkl-kazoo curator
apart apache curator
apart kazoo-read kazoo-write zkl-read zkl-write
apart kazoo-extra-write curator-write
expect_quiet

# That a higher token has been here makes each step an error, and changes nothing.
echo "9000000000000000000 7" >"$scratch/counter"
: >"$scratch/history"
for name in java1 kazoo1 zkl1; do
    kind=${name%1}
    ask $name "contend /interop/fenced ${kind/java/curator} $scratch/counter $scratch/history 0 1 1"
    wait_until "$kind is refused" grep -q . "$scratch/$name.err"
    ask $name stop
    expect_match "$kind: a stale token is refused" '^ok 0 [1-9][0-9]*$' "$answer"
done
expect "and has changed nothing" "9000000000000000000 7:" "$(<"$scratch/counter"):$(<"$scratch/history")"

deadlocks zkl-multi-timed curator-multi-reversed
end_peers
finish
