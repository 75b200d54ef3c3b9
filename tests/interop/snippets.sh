#!/bin/bash
# The programs of zkl-interop(7), as they stand there, take one lock against each other: its table of
# who excludes whom is what comes out. Each token is the czxid of the node that holds.
# shellcheck disable=SC2016,SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/page.sh"
begin_programs

# The rows that are here, in the table's order, and the program of each; all but the last are columns.
rows=(a b c d e f i)
declare -A program=([a]=nightly.sh [b]=kazoo.sh [c]=Nightly.java [d]=stock.py [e]=nightly.py
    [f]=Apache.java [i]=extra.py)

# What became of who came second.
letter() { # PROGRAM NAME
    local found printed said
    printed=$(<"$scratch/$2.out")
    said=$(said_without_holder "$2")
    found=$status:${printed:+token}:$said
    case $found in
    0:token:) echo X ;;
    "1::$(refusal "$1")") echo W ;;
    65::*'" is of a lock of Apache'*) echo R ;;
    *) echo "$found" ;;
    esac
}

# One holds, each of the others comes second; every pair in a tree of its own, all at once.
column() { # LETTER
    local row holder=${program[$1]}
    for row in "${rows[@]}"; do start "$holder" "h$row" "$1$row"; done
    for row in "${rows[@]}"; do
        wait_until "$holder holds" holds "h$row" || finish
        run "$ZKL" --connect "$ZKL_CONNECT/$1$row" ls --json /jobs/nightly
        expect_match "$holder: its token is the czxid of its node" '"position": 0,[^}]*"token": '"$(token "h$row")," "$out"
    done
    for row in "${rows[@]}"; do start "${program[$row]}" "w$row" "$1$row" /dev/null; done
    for row in "${rows[@]}"; do
        await "w$row"
        [ "$status:$(cell "$row" "$1")" != 1:X ] || come "${program[$row]}" "w$row" "$1$row" let
        expect "${program[$row]} comes second to $holder" "$(cell "$row" "$1")" "$(letter "${program[$row]}" "w$row")"
    done
    after "$1" "$holder"
}

# The holders still hold; who comes next has a higher token, and then nothing is left.
after() { # LETTER PROGRAM
    local row
    for row in "${rows[@]}"; do
        run "$ZKL" --connect "$ZKL_CONNECT/$1$row" lock -n /jobs/nightly -- true
        expect "$2 still holds: zkl -n is refused" 1 "$status"
        let_end "h$row"
        await "h$row"
        expect "$2 ends well" "0:" "$status:$(<"$scratch/h$row.said")"
    done
    run "$ZKL" --connect "$ZKL_CONNECT/${1}a" lock -w 30 /jobs/nightly -- sh -c 'echo $ZKL_TOKEN'
    expect "zkl holds after $2" 0 "$status"
    expect "its token is higher" 1 "$((out > $(token ha)))"
    for row in "${rows[@]}"; do expect_no_node "$2: nothing is left" "/$1$row/jobs/nightly"; done
}

# What the page says.
sed -n '/^\.\\" table$/,/^\.\\" end$/p' "$page" | plain >"$scratch/table"

cell() { # ROW COLUMN
    local letters names i
    read -r -a names < <(head -n 1 "$scratch/table")
    read -r -a letters < <(sed -n "s/^$1 .* \([A-Za-z]\( *[A-Za-z]\)\{$((${#names[@]} - 1))\}\)$/\1/p" "$scratch/table")
    for i in "${!names[@]}"; do
        [ "${names[i]}" != "$2" ] || echo "${letters[i]-}"
    done
}

# Those in capitals are those that are tried here.
capitals=$(cut -c 23- "$scratch/table" | tail -n +2 | grep -o '[A-Z]' | wc -l)
expect "the table says so of as many as are tried" $((${#rows[@]} * (${#rows[@]} - 1))) "$capitals"
for letter in "${rows[@]::6}"; do column "$letter"; done
finish
