# ./dev deb: Debian's packages, built in one clean root and tested in another. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154

release=
deb_folder=
roots=$root/_build/deb/roots
sudo=()

# What is committed, and nothing that lies beside it; and the former version, if git has it.
export_head() {
    local commit
    rm -rf "$deb_folder"
    mkdir -p "$deb_folder/zkl"
    take_commit HEAD "$deb_folder/zkl"
    commit=$(former_commit)
    if has_commit "$commit"; then
        mkdir "$deb_folder/former"
        take_commit "$commit" "$deb_folder/former"
    fi
}

# With what a root, or this machine, is entered by.
compare_with_former() { # COMMAND…
    local note="$release: the ABI beside the former version's"
    if [ ! -e "$deb_folder/former" ]; then
        say "the ABI is compared with no former version: this is a clone without the commit $(former_commit)"
        return
    fi
    step "$note" "$@" abi
    sed -n '/^ok: /s/^/  /p' "$(log_name "$note")"
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

# Why a build in the root has failed: what its own logs say of configure and of tests, to which its last lines only
# refer. All of them are kept, since the root is not.
show_why() {
    local kept=$deb_folder/logs result log
    [ -d "$roots/build/src" ] || return 0
    mkdir -p "$kept"
    (cd "$roots/build/src" && "${sudo[@]}" find . -type f \( -name '*.log' -o -name '*.trs' \) -exec cp --parents -t "$kept" {} +)
    {
        find "$kept" -name config.log -exec grep -h '^configure:[0-9]*: error: ' {} + | sed 's/^/    /' || true
        while read -r result; do
            log=${result%.trs}.log
            say "  ${log#"$root"/}:"
            reasons "$log" | sed 's/^/    /'
            tail -n 5 "$log" | sed 's/^/    /'
        done < <(find "$kept" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR)' {} + | sort || true)
        say "dev: the root is removed; all logs of it are in ${kept#"$root"/}"
    } >&2
}

end_deb() {
    local status=$?
    ((status == 0)) || show_why
    remove_roots
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
    [ ! -e "$deb_folder/former" ] || "${sudo[@]}" cp -a "$deb_folder/former" "$roots/build/src/former"
    step "$release: what the build needs" in_root yes "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh prepare
    step "$release: build and lintian, without network" in_root no "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh build
    "${sudo[@]}" find "$roots/build/src" -maxdepth 1 -type f -name "*.deb" ! -name "*-dbgsym_*" -exec cp {} "$deb_folder" \;
    step "$release: the packages of the spec, and their files" in_root no "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh spec
    tail -n 1 "$(log_name "$release: the packages of the spec, and their files")"
    compare_with_former in_root no "$roots/build" bash /src/zkl/build-aux/dev.d/deb-build.sh
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
    tail -n 1 "$log" | grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$' || {
        reasons "$log" | sed 's/^/    /' >&2
        die "deb: the packages failed a test, above; all of it is in ${log#"$root"/}"
    }
}

# Where zkl's own cgroup is, in version 2; nothing where no cgroup can be made in it.
own_cgroup_folder() {
    local mounted folder
    mounted=$(awk '$4 == "/" { for (i = 6; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") { print $5; exit } }' /proc/self/mountinfo)
    folder=$mounted$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -z "$mounted" ] || ! "${sudo[@]}" test -w "$folder/cgroup.procs" || echo "${folder%/}"
}

# systemd is the first process of the root, in a cgroup of its own, as a container has it. It ends with its service
# zkl-test, and by the status of that.
boot() { # ROOT CGROUP
    # shellcheck disable=SC2016
    "${sudo[@]}" unshare --mount --pid --fork --kill-child --net --uts --ipc bash -euc '
        echo 0 >"$2/cgroup.procs"
        exec unshare --cgroup bash -euc "$3" boot "$1"' boot "$1" "$2" '
        ip link set lo up
        mount --rbind "$1" "$1"
        cd "$1"
        mount -t proc proc proc
        mount -t sysfs -o ro sysfs sys
        mount -t cgroup2 cgroup2 sys/fs/cgroup
        mount -t tmpfs -o mode=755 tmpfs run
        mount -t tmpfs -o mode=755 tmpfs dev
        mkdir dev/pts dev/shm
        for node in null zero full random urandom tty; do
            touch "dev/$node"
            mount --bind "/dev/$node" "dev/$node"
        done
        mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
        ln -s pts/ptmx dev/ptmx
        ln -s /proc/self/fd dev/fd
        pivot_root . .
        umount -l .
        exec env -i container=zkl PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=zkl-test.service' </dev/null
}

# Starts the unit under systemd, if a cgroup can be made for that.
start_service_in_root() {
    local folder log cgroup=
    folder=$(own_cgroup_folder)
    if [ -z "$folder" ]; then
        say "systemd is not started here, which needs a cgroup v2: the unit is checked, and not run"
        return
    fi
    cgroup=$folder/zkl-boot-$$
    log=$(log_name "$release: the unit, under systemd")
    step "$release: the packages again" in_root no "$roots/test" bash /src/zkl/deb-test.sh service
    "${sudo[@]}" mkdir "$cgroup"
    boot "$roots/test" "$cgroup" >"$log.systemd" 2>&1 || true
    "${sudo[@]}" find "$cgroup" -depth -type d -exec rmdir {} +
    "${sudo[@]}" cat "$roots/test/src/service.log" >"$log" || true
    sed 's/^/  /' "$log"
    tail -n 1 "$log" | grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$' || {
        tail -n 25 "$log.systemd" | sed 's/^/    /' >&2
        die "deb: the unit failed under systemd, above; see ${log#"$root"/} and ${log#"$root"/}.systemd"
    }
}

build_packages_here() {
    say "no clean root can be made without root and namespaces, so they are built on this machine, and that they are installed and removed without a trace is not tested"
    need_packages debhelper lintian rpm abigail-tools build-essential "${build_packages[@]}"
    step "build and lintian" bash "$deb_folder/zkl/build-aux/dev.d/deb-build.sh" build
    step "the packages of the spec, and their files" bash "$deb_folder/zkl/build-aux/dev.d/deb-build.sh" spec
    compare_with_former bash "$deb_folder/zkl/build-aux/dev.d/deb-build.sh"
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
    trap end_deb EXIT
    for release in "${releases[@]}"; do
        deb_folder=$root/_build/deb/$release
        export_head
        if [ "$release" = here ]; then
            build_packages_here
        else
            make_roots
            build_packages_in_root
            test_packages_in_root
            start_service_in_root
        fi
        say "built: $(cd "$root" && echo "_build/deb/$release"/*.deb)"
    done
}
