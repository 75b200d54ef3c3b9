# ./dev deb: Debian's packages, built in one clean root and tested in another. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154

release=
deb_folder=
roots=$root/_build/deb/roots
sudo=()

# What is committed, and nothing that lies beside it.
export_head() {
    rm -rf "$deb_folder"
    mkdir -p "$deb_folder/zkl"
    git archive HEAD | tar -x -C "$deb_folder/zkl"
}

can_make_roots() {
    if ((EUID != 0)); then
        command -v sudo >/dev/null || return 1
        sudo=(sudo)
    fi
    "${sudo[@]}" unshare --mount --pid --fork --net true 2>/dev/null
}

# Nothing of a root is mounted outside the namespaces that in_root makes.
remove_roots() {
    "${sudo[@]}" rm -rf --one-file-system "$roots"
}

# As a program that a step can run: NETWORK is yes or no, which is no other address than this root's own.
# Whatever is left in it ends with COMMAND.
in_root() { # NETWORK ROOT COMMAND...
    local namespaces=(--mount --pid --fork --kill-child)
    [ "$1" = yes ] || namespaces+=(--net)
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare "${namespaces[@]}" bash -euc '
        [ "$1" = yes ] || ip link set lo up
        mount -t proc proc "$2/proc"
        mount --rbind /dev "$2/dev"
        exec chroot "$2" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root ${http_proxy:+http_proxy="$http_proxy"} \
            DEBIAN_FRONTEND=noninteractive "${@:3}"' in_root "$@" </dev/null
}

# From where this machine has its own packages.
make_roots() {
    local here=/etc/apt/sources.list.d/debian.sources sources=()
    remove_roots
    mkdir -p "$roots"
    if [ -e "$here" ]; then
        sources=("$deb_folder/sources")
        sed -E "/^Suites:/s/ [a-z]+/ $release/g" "$here" >"${sources[0]}"
    fi
    step "$release: a clean root" "${sudo[@]}" mmdebstrap --quiet --variant=minbase --skip=cleanup/apt/lists "$release" "$roots/build" "${sources[@]}"
    step "$release: a second one" "${sudo[@]}" cp -a --reflink=auto "$roots/build" "$roots/test"
}

build_packages_in_root() {
    "${sudo[@]}" mkdir "$roots/build/src"
    "${sudo[@]}" cp -a "$deb_folder/zkl" "$roots/build/src/zkl"
    step "$release: what the build needs" in_root yes "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh prepare
    step "$release: build and lintian, without network" in_root no "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh build
    "${sudo[@]}" find "$roots/build/src" -maxdepth 1 -type f -name "*.deb" ! -name "*-dbgsym_*" -exec cp {} "$deb_folder" \;
}

test_packages_in_root() {
    local log
    "${sudo[@]}" mkdir -p "$roots"/test/src/zkl/tests/{cli,support}
    "${sudo[@]}" cp -a "$deb_folder"/*.deb "$deb_folder/zkl/debian" "$deb_folder/zkl/build-aux/dev.d/deb-test.sh" \
        "$roots/test/src/zkl"
    "${sudo[@]}" cp -a "$deb_folder/zkl/tests/cli/lib.sh" "$roots/test/src/zkl/tests/cli"
    "${sudo[@]}" cp -a "$deb_folder/zkl/tests/support/count.sh" "$roots/test/src/zkl/tests/support"
    step "$release: what the tests need" in_root yes "$roots/test" bash /src/zkl/deb-test.sh prepare
    log=$(log_name "$release: test of packages")
    in_root no "$roots/test" bash /src/zkl/deb-test.sh run >"$log" 2>&1 || true
    grep -vE '^(\(Reading|Setting|Selecting|Preparing|Unpacking|Removing|Processing|Purging)' "$log" | sed 's/^/  /'
    tail -n 1 "$log" | grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$' || die "deb: the packages failed a test; see ${log#"$root"/}"
}

build_packages_here() {
    say "no clean root can be made without root and namespaces, so they are built on this machine, and that they are installed and removed without a trace is not tested"
    need_packages debhelper lintian build-essential "${build_packages[@]}"
    step "build and lintian" bash "$deb_folder/zkl/build-aux/dev.d/deb-build.sh" build
}

deb() { # RELEASE...
    local releases=("$@")
    (($#)) || releases=(bookworm trixie)
    [[ "${releases[*]}" =~ ^[a-z\ ]+$ ]] || die "deb takes names of Debian's releases, not \"$*\""
    git rev-parse --git-dir >/dev/null 2>&1 || die "deb builds what is committed, and this is no git clone"
    need_packages "${deb_packages[@]}"
    if ! can_make_roots; then
        (($# == 0)) || die "no clean root of $1 can be made without root and namespaces"
        releases=(here)
    fi
    trap remove_roots EXIT
    for release in "${releases[@]}"; do
        deb_folder=$root/_build/deb/$release
        export_head
        if [ "$release" = here ]; then
            build_packages_here
        else
            make_roots
            build_packages_in_root
            test_packages_in_root
        fi
        say "built: $(cd "$root" && echo "_build/deb/$release"/*.deb)"
    done
}
