# Sourced by matrix.sh and versions.sh, after peers.sh: other versions of zkl. versions.txt says what they change.
# Only the files that a version touches are compiled anew; all other objects are those of this build. So
# a version costs a second, and a second run costs nothing.
#
# A version is a folder of $pretended with the programs zkl, zkl-peer and zkl-worker. "this" is the build itself, or the
# ZKL and ZKL_PEER of an environment that has both, and a folder for them, ZKL_PRETENDED: tests/mutants/faults.py.
# shellcheck shell=bash disable=SC2154

: "${top_srcdir:=$(cd "$here/../.." && pwd)}"
versions=$here/versions.txt
pretended=${ZKL_PRETENDED:-$top_builddir/tests/interop/pretended}

# What make compiles and links with, and the objects of the two programs.
# shellcheck disable=SC2016,SC2034
read_words() {
    local text info=
    for text in '$(CC)' '$(core_cppflags) $(PROBES_CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)' '$(library_ldflags) $(ZKL_SO_LDFLAGS)' \
        '$(AM_CFLAGS) $(CFLAGS) $(program_ldflags)' '$(ZOOKEEPER_LIBS) $(GLIB_LIBS) $(LIBM)' '$(tools_zkl_OBJECTS)' \
        '$(tests_interop_zkl_peer_OBJECTS)'; do
        info+="\$(info $text)"
    done
    {
        read -r compiler
        read -r flags
        read -r library_flags
        read -r program_flags
        read -r libraries
        read -r -a tools_zkl
        read -r -a tests_interop_zkl_peer
    } < <(MAKEFLAGS='' make -s -C "$top_builddir" --eval="words: ; @: $info" words)
}

# Without a shared library no other one can be put in its place.
can_pretend() {
    [ -z "${ZKL_INSTRUMENTED-}" ] && [ -e "$top_builddir/lib/.libs/libzkl.so" ] && return
    skip "other versions of zkl: not with this build"
    false
}

# The files that a version touches, each with what sed does to it, or with nothing if it only includes such a file.
edits_of() { # NAME
    awk -v name="$1:" '/^[^ #]/ { on = $1 == name; next } on && NF && !/^#/ { print }' "$versions"
}

object_of() { # FILE
    local folder=${1%/*} name=${1##*/}
    case $1 in
    lib/*) echo "lib${folder##*/}_la-${name%.c}.o" ;;
    recipes/*) echo "librecipes_la-${name%.c}.o" ;;
    tools/*) echo "$folder/zkl-${name%.c}.o" ;;
    tests/interop/*) echo "$folder/zkl_peer-${name%.c}.o" ;;
    esac
}

# A program that starts PROGRAM with LIBRARY, the folder of a libzkl.so.0.
make_starter() { # FILE LIBRARY PROGRAM
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexport LD_LIBRARY_PATH=%q\nexec %q "$@"\n' "$2" "$3" >"$1.new.$$"
    chmod +x "$1.new.$$"
    mv "$1.new.$$" "$1"
}

make_starters() { # NAME LIBRARY ZKL ZKL_PEER
    mkdir -p "$pretended/$1"
    make_starter "$pretended/$1/zkl" "$2" "$3"
    make_starter "$pretended/$1/zkl-peer" "$2" "$4"
    make_starter "$pretended/$1/zkl-worker" "$2" "$top_builddir/tests/history/.libs/zkl-worker"
}

# A copy of the sources with the edits, each of which must change something: $touched are the files to compile.
make_sources() { # NAME FOLDER
    local file edit
    touched=()
    mkdir -p "$2"
    (cd "$top_srcdir" && cp -r --parents include lib recipes tools tests/interop/*.[ch] "$2")
    chmod -R u+w "$2"
    while read -r file edit; do
        [ -z "$edit" ] || sed -i.former "$edit" "$2/$file"
        if [ -n "$edit" ] && cmp -s "$2/$file.former" "$2/$file"; then
            echo "version $1: this changes nothing in $file: $edit" >&2
            return 1
        fi
        [[ $file != *.c || " ${touched[*]} " = *" $file "* ]] || touched+=("$file")
    done < <(edits_of "$1")
    ((${#touched[@]} > 0))
}

# Links a program, if any of its objects is new: $program.
link_program() { # PROGRAM FOLDER
    local -n all=${1//[\/-]/_}
    local object objects=()
    program=$top_builddir/${1%/*}/.libs/${1##*/}
    for object in "${all[@]}"; do
        if [ -e "$2/$object" ]; then
            program=$2/${1##*/} object=$2/$object
        fi
        objects+=("'$object'")
    done
    [ "$program" != "$2/${1##*/}" ] ||
        (cd "$top_builddir" && eval "$compiler $program_flags" -Wl,-S -o "'$program'" "${objects[*]}" "'$2/libzkl.so.0'" "$libraries")
}

make_version() { # NAME
    local folder=$pretended/$1/made file object touched program command
    rm -rf "${pretended:?}/$1"
    make_sources "$1" "$folder/source" || return 1
    cp "$top_builddir/lib/.libs/libzklcore.a" "$folder/libzkl.a"
    for file in "${touched[@]}"; do
        object=$folder/$(object_of "$file")
        mkdir -p "${object%/*}"
        (cd "$top_builddir" && eval "$compiler" "-I'$folder/source' -I'$folder/source/include'" "$flags" \
            -fPIC -DPIC -O0 -U_FORTIFY_SOURCE -g0 -w -c "'$folder/source/$file'" -o "'$object'") || return 1
        [[ $file = tools/* || $file = tests/* ]] || ar r "$folder/libzkl.a" "$object" || return 1
    done
    (cd "$top_builddir" && eval "$compiler" -shared "$library_flags" -Wl,-S -Wl,-soname,libzkl.so.0 \
        -Wl,--version-script=lib/libzkl.map -o "'$folder/libzkl.so.0'" \
        -Wl,--whole-archive "'$folder/libzkl.a'" -Wl,--no-whole-archive "$libraries") || return 1
    link_program tools/zkl "$folder" || return 1
    command=$program
    link_program tests/interop/zkl-peer "$folder" || return 1
    make_starters "$1" "$folder" "$command" "$program"
    rm -rf "$folder/source" "$folder/libzkl.a"
    touch "$folder/done"
}

# For all scripts at once: the first one makes them, the others wait for that.
pretend() { # NAME...
    # shellcheck disable=SC2034 # link_program names them otherwise
    local lock name made compiler="" flags library_flags program_flags libraries tools_zkl tests_interop_zkl_peer
    local zkl=$top_builddir/tools/.libs/zkl peer=$top_builddir/tests/interop/.libs/zkl-peer
    mkdir -p "$pretended"
    exec {lock}>"$pretended/lock"
    flock "$lock"
    [ -z "${ZKL_PRETENDED-}" ] || zkl=$ZKL peer=$ZKL_PEER
    make_starters this "$top_builddir/lib/.libs" "$zkl" "$peer"
    for name; do
        made=$pretended/$name/made
        if [ ! -e "$made/done" ] || [ -n "$(find "$top_builddir/lib/.libs/libzkl.so.0" "$top_builddir/tools/.libs/zkl" \
            "$top_builddir/tests/interop/.libs/zkl-peer" "$here/pretend.sh" "$versions" -newer "$made/done")" ]; then
            [ -n "$compiler" ] || read_words
            run make_version "$name"
            expect "the version $name is made" 0 "$status"
            [ "$status" -eq 0 ] || finish
        fi
    done
    exec {lock}>&-
}
