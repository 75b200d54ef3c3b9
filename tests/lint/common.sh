# Sourced by the lint scripts: counting, the closing line, and where things are. `make check`
# gives the folders; run by hand from a build folder, the scripts find them themselves.
# shellcheck shell=bash

set -u
export LC_ALL=C
: "${top_srcdir:=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}"
: "${top_builddir:=$PWD}"
# CC and NM are commands, perhaps of several words, so they are never quoted.
: "${CC:=cc}" "${NM:=nm}"

# shellcheck source=tests/support/count.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/count.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What each folder of lib/ may include and call: HACKING.md draws it.
# shellcheck disable=SC2034
declare -A folders_below=(
    [base]=""
    [store]="base"
    [session]="base store"
    [grant]="base store session"
    [contender]="base store session grant"
    [lock]="base store session grant contender"
    [queue]="base store session"
    [barrier]="base store session"
    [counter]="base store session grant queue"
    [election]="base store session grant contender lock queue"
    [member]="base store session grant queue"
    [shards]="base store session grant contender lock queue member"
)

in_list() { # LIST WORD
    [[ " $1 " == *" $2 "* ]]
}

# Passes when DETAILS, a list of offences, is empty.
expect_none() { # WHAT DETAILS
    if [ -z "$2" ]; then pass "$1"; else fail "$1" "$2"; fi
}

# A linter that cannot see a planted offence proves nothing.
expect_some() { # WHAT DETAILS
    if [ -n "$2" ]; then pass "$1"; else fail "$1" "the planted offence was not seen"; fi
}

# What objects ask others for. clang makes bcmp() of a memcmp() whose sign is not looked at, and
# _FORTIFY_SOURCE a call that checks the size of a buffer.
asked_for() { # OBJECT…
    $NM -u "$@" | awk 'NF == 2 { print $2 }' | sed -E 's/^bcmp$/memcmp/; s/^__(.+)_chk$/\1/' | sort -u
}
