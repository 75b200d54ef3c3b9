#!/bin/bash
# Makes one mutant and says what became of it, in FOLDER/results/NUMBER: one line of "uncompilable",
# "same" (the compiler makes the same code of it), "killed PROGRAM" or "survived", tab, its line of
# the list. run.sh has prepared FOLDER.
# usage: one.sh FOLDER NUMBER

set -euf -o pipefail
folder=$1 number=$2
IFS=$'\t' read -r file site _ < <(sed -n "${number}p" "$folder/sites")
own=$folder/work/$number
mkdir -p "$own"
trap 'rm -rf "$own"' EXIT
ulimit -c 0

verdict() { # WORDS
    printf '%s\t%s\n' "$1" "$(sed -n "${number}p" "$folder/sites")" >"$folder/results/$number"
    exit 0
}

# The mutant is found before the archives that hold the original. That it does not link is a fault of
# this script. What was linked last may be the same program, with other arguments.
linked=
link() { # PROGRAM
    [ -z "$linked" ] || ! cmp -s "$folder/$linked.link" "$folder/$1.link" || return 0
    linked=$1
    # shellcheck source=/dev/null
    (cd "$folder/build" && . "$folder/$1.link") 2>"$own/errors" || {
        cat "$own/errors" >&2
        exit 255
    }
}

run() { # PROGRAM
    # shellcheck source=/dev/null
    (cd "$folder/build" && . "$folder/$1.run") >/dev/null 2>&1 </dev/null
}

export object=$own/mutant.o recorded=$own/recorded.o source=$own/mutant.c program=$own/program
{
    echo "#line 1 \"$file\""
    "$folder/mutate" "$folder/source/$file" "$site"
} >"$source"
# shellcheck source=/dev/null
(cd "$folder/build" && . "$folder/compile/${file//\//-}") 2>"$own/errors" || verdict uncompilable
objcopy --strip-debug "$object" "$own/bare.o"
! cmp -s "$own/bare.o" "$folder/bare/${file//\//-}.o" || verdict same
names=$folder/build/tests/seen/core.a.names
[ ! -e "$names" ] || objcopy --redefine-syms="$names" "$object" "$recorded"
while read -r name part; do
    [[ $file == "$part"* ]] || continue
    link "$name"
    run "$name" || verdict "killed $name"
done <"$folder/programs"
verdict survived
