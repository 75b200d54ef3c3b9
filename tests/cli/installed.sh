#!/bin/bash
# What is installed is enough for programs in somebody else's tree: with the shared library for those of a new
# user, and with the archive for one under names of its own.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}" "${CC:=cc}"
# Read before the server is started: an instrumented library needs instrumented programs.
[ -z "${ZKL_INSTRUMENTED-}" ] || { skip "an instrumented build"; finish; }
command -v pkg-config >/dev/null || { missing pkg-config; finish; }
need_server
begin
unset MAKEFLAGS MFLAGS MAKELEVEL
root=$scratch/root theirs=$scratch/theirs # a third party's
mkdir "$theirs"

run make -C "$top_builddir" install DESTDIR="$root"
expect "make install" 0 "$status"
pkgconfig=$(dirname "$(find "$root" -name zkl.pc)")
libdir=$(dirname "$pkgconfig")
# It was configured for another place than this.
sed -i -E "s,^([a-z_]+)=/,\1=$root/," "$pkgconfig"/*.pc
export PKG_CONFIG_PATH=$pkgconfig

# A page that refers to another one is a page of its own under another name.
pageless() {
    local page text other
    while read -r page; do
        read -r text other <"$page"
        [ "$text" != .so ] || grep -q '^\.Sh NAME' "$(dirname "$page")/../$other" || echo "$page"
    done
}
pages=$(find "$root" -name 'zkl_*.3')
expect_match "there are pages of functions" '/zkl_mutex_lock\.3' "$pages"
expect "each of them is found" "" "$(pageless <<<"$pages")"

expect "both modules have the library's version" "$("$ZKL" --version) $("$ZKL" --version)" \
    "zkl $(pkg-config --modversion zkl) zkl $(pkg-config --modversion zkl-glib)"
expect_match "zkl alone links no GLib" '^-L[^ ]+ -lzkl *$' "$(pkg-config --libs zkl)"
expect_match "zkl-glib links both" '-lzkl.*-lglib-2\.0' "$(pkg-config --libs zkl-glib)"
expect_match "zkl as an archive links all that it needs" '-lzkl.*-lzookeeper_mt.*-pthread.*-lglib-2\.0' \
    "$(pkg-config --static --libs zkl)"

# What the packages' test does with theirs, on a server of its own.
unit=$(find "$root" -name 'zkl-standby@.service') modules=$(find "$root" -path '*/zkl/__init__.py')
env -u ZKL_CONNECT ZKL_SERVER="$(realpath "$top_srcdir/debian/tests/with-zookeeper")" ZKL="$(find "$root" -path '*/bin/zkl')" EXAMPLES="$(dirname "$(find "$root" -name lock.c)")" UNIT="$unit" \
    LD_LIBRARY_PATH="$libdir" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="${modules%/zkl/*}" \
    "$top_srcdir/debian/tests/programs" >"$scratch/programs"
cat "$scratch/programs"
closing=$(tail -n 1 "$scratch/programs")
expect_match "the programs of users end" '^([0-9]+) passed, 0 failed, ([0-9]+) skipped$' "$closing"
passed=$((passed + ${BASH_REMATCH[1]-0})) skipped=$((skipped + ${BASH_REMATCH[2]-0}))

# An installation without a shared library; the archive is the one that `make check` makes anyway
# if none was configured.
if [ ! -e "$libdir/libzkl.a" ]; then cp "$top_builddir/tests/lint/.libs/libarchive.a" "$libdir/libzkl.a"; fi
rm -f "$libdir"/libzkl.so* "$libdir/libzkl.la"
cp "$top_srcdir/tests/lint/own_names.c" "$theirs"
# shellcheck disable=SC2046,SC2086
run $CC -Wall -Werror "$theirs/own_names.c" -o "$theirs/own-names" $(pkg-config --static --cflags --libs zkl)
expect "own-names compiles" "0:" "$status:$err"
run "$theirs/own-names" "$ZKL_CONNECT"
expect "it locks, and nobody calls its functions" "0:success, own functions called 0 times by others" "$status:$out"

# The README's line, and what it says of CMake and Meson with the archive.
lock=$(find "$root" -name lock.c) here=$PWD
readme=${lock%/*}/../README.md
takes_a_lock() { # WHAT PROGRAM
    run "$2" "$ZKL_CONNECT"
    expect_match "$1 takes its lock, with nothing of the library beside it" '^0:mine, with token [1-9][0-9]*$' "$status:$out"
}
cd "$theirs" || exit 1
mkdir cmake meson
cp "$lock" cmake
cp "$lock" meson
cp "$lock" daemon.c
line=$(sed -n 's/^    cc daemon\.c /daemon.c -o by-hand /p' "$readme")
expect_match "the README has a line for the archive" '--static' "$line"
run bash -c "$CC -Wall -Werror $line"
expect "by hand: compiles" "0:" "$status:$err"
takes_a_lock "by hand: it" "$theirs/by-hand"
if command -v cmake >/dev/null; then
    # shellcheck disable=SC2016
    snippet cmake "$readme" | sed 's/PkgConfig::ZKL/& ${ZKL_STATIC_LDFLAGS}/' >cmake/CMakeLists.txt
    run cmake -S cmake -B cmake/build
    run cmake --build cmake/build
    expect "CMake: builds" 0 "$status"
    takes_a_lock "CMake: it" "$theirs/cmake/build/daemon"
else
    missing cmake
fi
if command -v meson >/dev/null; then
    snippet meson "$readme" | sed "s/'zkl'/&, static: true/" >meson/meson.build
    run meson setup meson/build meson
    run meson compile -C meson/build
    expect "Meson: builds" 0 "$status"
    takes_a_lock "Meson: it" "$theirs/meson/build/daemon"
else
    missing meson
fi
cd "$here" || exit 1

run make -C "$top_builddir" uninstall DESTDIR="$root"
expect "nothing is left when it is removed" "$libdir/libzkl.a" "$(find "$root" -type f -o -type l)"
finish
