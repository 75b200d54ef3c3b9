# ./dev platforms: other machines than x86-64 with glibc, and other servers, as far as this machine can play them.
#
# Debian's packages for a machine are unpacked, and not set up. A cross-compiler builds for them, and programs look for
# their libraries there. The kernel itself runs those of i386, and qemu the others. Sourced by ./dev.
# shellcheck shell=bash disable=SC2034,SC2154,SC2254

machine_tests=(tests/sim/golden/golden tests/sim/costs tests/explore/closings tests/explore/candidacies tests/world/world)
live_suites=(old_servers mutex election rwlock semaphore) # of tests/live/live
server_scripts=(lock elect member once rwlock slots)      # of tests/cli
# What is about processes, signals and /proc, which an emulator shows otherwise than the kernel.
process_scripts=(credentials killed loss signals)
live_programs=(tools/zkl tests/live/live tests/support/zkl-server tests/support/zkl-watchdog
    tests/cli/{zk-admin,gate,stamp,linger,storm,retain})

unpack() { # FOLDER RELEASE ARCHITECTURE PACKAGES
    [ ! -e "$1/unpacked" ] || return 0
    rm -rf "$1"
    step "packages of $2 for $3" mmdebstrap --quiet --variant=extract --architectures="$3" --include="$4" \
        --aptopt='Acquire::Check-Valid-Until "false"' "$2" "$1" http://deb.debian.org/debian
    : >"$1/unpacked"
}

# As configure_args. Programs have the paths of their loader and their libraries in them.
cross_args() { # ARCHITECTURE
    local packages=$root/_build/platforms/$1 compiler folder loader
    compiler=$(dpkg-architecture -A "$1" -q DEB_TARGET_GNU_TYPE)
    folder=$(dpkg-architecture -A "$1" -q DEB_TARGET_MULTIARCH)
    loader=$(echo "$packages/lib/$folder"/ld*.so.?)
    echo "--enable-werror --host=$compiler CC='$compiler-gcc --sysroot=$packages' CXX=no CFLAGS='-g1 -O2 -Wno-psabi'" \
        "LDFLAGS='-Wl,--dynamic-linker=$loader -Wl,--disable-new-dtags -Wl,-rpath,$packages/lib/$folder:$packages/usr/lib/$folder'" \
        "PKG_CONFIG=pkg-config PKG_CONFIG_LIBDIR=$packages/usr/lib/$folder/pkgconfig PKG_CONFIG_SYSROOT_DIR=$packages"
}

# The kernel hands a machine's programs to qemu in a namespace of users, and nowhere else. Processes that they fork show
# otherwise in /proc.
emulate() { # MACHINE, as qemu calls it
    need_packages qemu-user-static
    # shellcheck disable=SC2016
    within=(unshare --user --map-root-user --mount bash -euc '
        mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
        cat "$0" >/proc/sys/fs/binfmt_misc/register
        exec "$@"' "/usr/lib/binfmt.d/qemu-$1.conf")
    suites=(-x tree)
}

# With the server that is installed, or the one that ZKL_ZOOKEEPER names.
use_server() { # BUILD SCRIPT…
    local script
    one_test "$1" tests/live/live "_build/$1/tests/live/live" "${live_suites[@]}"
    for script in "${@:2}"; do
        one_test "$1" "tests/cli/$script.sh" bash "tests/cli/$script.sh"
    done
}

machine() { # ARCHITECTURE
    local test suites=() scripts=()
    need_packages mmdebstrap dpkg-dev "gcc-$(dpkg-architecture -A "$1" -q DEB_TARGET_GNU_TYPE)" "libc6-dev-$1-cross"
    unpack "$root/_build/platforms/$1" bookworm "$1" libglib2.0-dev,libzookeeper-mt-dev,libcunit1-dev
    case $1 in
    i386) scripts=("${server_scripts[@]}" "${process_scripts[@]}") ;;
    armhf) emulate arm ;;
    arm64) emulate aarch64 ;;
    *) emulate "$1" ;;
    esac
    build "$1" tests/unit/unit "${machine_tests[@]}" "${live_programs[@]}"
    one_test "$1" tests/unit/unit "_build/$1/tests/unit/unit" "${suites[@]}"
    for test in "${machine_tests[@]}"; do
        one_test "$1" "$test" "_build/$1/$test"
    done
    use_server "$1" "${scripts[@]}"
    within=()
}

# What its classes name by their paths is this machine's.
server() { # RELEASE
    local folder=$root/_build/platforms/$1
    need_packages mmdebstrap
    unpack "$folder" "$1" amd64 libzookeeper-java
    build gcc "${live_programs[@]}"
    ZKL_ZOOKEEPER=$(printf '%s:' "$folder/usr/share/java"/{zookeeper-jute,slf4j-api,slf4j-simple,zookeeper}.jar) \
        use_server gcc "${server_scripts[@]}"
}

# Debian has no GLib for musl, so the recipes alone, which need none, are compiled.
musl() {
    local file
    need_packages musl-tools
    for file in recipes/*.c; do
        step "musl: $file" musl-gcc -std=gnu11 -O2 -Wall -Wextra -Wconversion -Wformat=2 -Werror -I. -c "$file" -o /dev/null
    done
}

platforms() { # NAME…
    local name again=()
    need_packages "${build_packages[@]}" "${server_packages[@]}"
    failed=0
    for name; do
        case $name in
        $machines) machine "$name" ;;
        musl) musl ;;
        *[!a-z]*) die "platforms takes names of machines and of releases of Debian, not \"$name\"" ;;
        *) server "$name" ;;
        esac
    done
    show_again "${again[@]}"
    say "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    ((failed == 0)) || exit 1
}
