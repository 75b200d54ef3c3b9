# ./dev tarball: of what is committed, from a clean clone, into _build/tarball; then what its users do with it, where there
# is no git. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154

tarball_folder=$root/_build/tarball
packed=   # its name
unpacked= # a folder outside this tree, and so without git

# Clones this tree, and makes the tarball in NAME/build.
make_tarball() { # NAME
    local folder=$tarball_folder/$1
    mkdir -p "$folder/build"
    step "tarball, $1: a clean clone" git clone -q "$root" "$folder/clone"
    step "tarball, $1: autoreconf" env -C "$folder/clone" autoreconf -fi
    step "tarball, $1: configure" env -C "$folder/build" ../clone/configure -q --disable-dependency-tracking zkl_cxx_at_once=yes
    step "tarball, $1: make dist" make -C "$folder/build" dist
}

# By the table of packaging/tarball, as tests/cli/clone.sh has it for what is not committed yet.
compare_with_git() {
    git ls-tree -r --name-only HEAD >"$tarball_folder/tracked"
    tar -tzf "$tarball_folder/$packed" | sed -n 's,^[^/]*/\(.*[^/]\)$,\1,p' >"$tarball_folder/packed"
    python3 -B build-aux/dev.d/compare-files.py packaging/tarball git "$tarball_folder/tracked" "the tarball" "$tarball_folder/packed"
}

# The second clone has files of other modes, and the same bytes come of it.
make_tarballs() {
    local mask
    mask=$(umask)
    make_tarball first
    umask 077
    make_tarball second
    umask "$mask"
    packed=$(cd "$tarball_folder/first/build" && echo zkl-*.tar.gz)
    cmp "$tarball_folder"/{first,second}/build/"$packed" || die "tarball: two tarballs of one commit differ, as said above"
    mv "$tarball_folder/first/build/$packed" "$tarball_folder/$packed"
    step "tarball: its files, and git's" compare_with_git
}

end_tarball() {
    local status=$?
    [ -n "$unpacked" ] || return 0
    if ((status == 0)); then rm -rf "$unpacked"; else say "dev: what was built from the tarball is in $unpacked" >&2; fi
}

# Out of its tree, as a distribution builds it. The first tests find no server; then the installation is used on one.
use_tarball() {
    local build
    unpacked=$(mktemp -d)
    trap end_tarball EXIT
    tar -xzf "$tarball_folder/$packed" -C "$unpacked"
    build=$unpacked/build
    mkdir "$build"
    step "tarball: configure" env -C "$build" "../${packed%.tar.gz}/configure" -q
    step "tarball: make" make -C "$build" -j"$jobs"
    step "tarball: make check, without a server" env ZKL_TEST_SCALE=20 VERBOSE=1 make -C "$build" -j"$test_jobs" check ZKL_ZOOKEEPER=none
    step "tarball: make install, and programs of its users" env ZKL_REQUIRE_SERVER=1 VERBOSE=1 \
        make -C "$build" check-TESTS check_PROGRAMS= check_LTLIBRARIES= TESTS=tests/cli/installed.sh
}

tarball() {
    git rev-parse --git-dir >/dev/null 2>&1 || die "tarball packs what is committed, and this is no git clone"
    rm -rf "$tarball_folder"
    make_tarballs
    use_tarball
    rm -rf "$tarball_folder"/{first,second}
    say "made: _build/tarball/$packed, whose SHA-256 is $(sha256sum <"$tarball_folder/$packed" | sed 's/ .*//')"
}
