# The former version of tests/interop/versions.txt, built from what git has of it: the library and the command, with gcc and
# the flags of ./dev, in _build/versions/COMMIT, once. Sourced by ./dev.
# shellcheck shell=bash disable=SC2034,SC2154

former_commit() {
    sed -n 's/^commit //p' tests/interop/versions.txt
}

has_commit() { # COMMIT
    [ -e .git ] && git cat-file -e "$1^{commit}" 2>/dev/null
}

former= # the folder of its build, or nothing
build_former() {
    local commit folder
    commit=$(former_commit)
    folder=$root/_build/versions/$commit
    if [ ! -e "$folder/made" ] && ! has_commit "$commit"; then
        say "the former version is left out: no git here, or a clone without the commit $commit"
        return 0
    fi
    if [ ! -e "$folder/made" ]; then
        rm -rf "$folder"
        mkdir -p "$folder/source"
        step "former version: sources" take_commit "$commit" "$folder/source"
        step "former version: autoreconf" env -C "$folder/source" autoreconf -fi
        # Its own compiler may warn of what a later one does: no warning is an error.
        step "former version: configure" env -C "$folder" CONFIG_SHELL=/bin/sh source/configure -q --disable-dependency-tracking \
            CC=gcc CXX=g++ zkl_cxx_at_once=yes
        step "former version: build" make -C "$folder" -j"$jobs" SHELL=/bin/sh lib/libzkl.la tools/zkl
        touch "$folder/made"
    fi
    former=$folder
}

take_commit() { # COMMIT FOLDER
    git archive "$1" | tar -x -C "$2"
}
