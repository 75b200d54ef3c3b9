#!/bin/bash
# Part of ./dev deb, inside a clean root: installs the packages that lie beside this file, runs their tests,
# removes and purges them, and compares what there is with what there was.
set -u
cd "$(dirname "$0")" || exit 1
ours=(libzkl0 libzkl-dev zkl libzkl-doc python3-zkl)
passed=0 failed=0

verdict() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok: $what"
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}

# What the packages and their tests need of Debian, but for one another.
needed() {
    {
        for package in ./*.deb; do dpkg-deb -f "$package" Depends Pre-Depends; done | sed 's/^[A-Za-z-]*: //'
        sed -n '/^Depends:$/,/^[A-Z]/s/^ //p' debian/tests/control
    } | tr ',' '\n' | sed 's/^ *//' | grep -vE '^(libzkl|zkl|python3-zkl)|^$' | sort -u | paste -sd,
}

# With a network.
prepare() {
    set -e
    apt-get update
    apt-get satisfy -y --no-install-recommends "$(needed)"
    useradd --create-home tester
}

# Each file, and what dpkg knows.
everything() {
    find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /src -o -path /var/log -o -path /var/cache/apt \) -prune -o \
        -printf '%y %m %u:%g %p %l\n' | sort
    dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' | sort
}

as_tester() {
    runuser -u tester -- "$@"
}

# Only what was there before may be there.
nothing_left() { # BEFORE
    diff "$1" <(everything)
}

# Configuration is what remove may leave; we have none.
gone() {
    ! dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${ours[@]}" 2>/dev/null | grep -v ^not-installed
}

# All links of the copies lead to files.
pages_are_there() {
    local pages=/usr/share/doc/libzkl-doc/html
    grep -q 'href="man/zkl_mutex.3.html"' $pages/index.html && [ -s $pages/man/zkl_mutex.3.html ] &&
        [ -z "$(find $pages -xtype l)" ] && [ -n "$(find $pages -type l)" ]
}

# That their test sees something.
no_program() {
    ! pkg-config --exists zkl && ! as_tester debian/tests/programs >/tmp/programs 2>&1 &&
        grep -q '^FAILED: zkl is no program' /tmp/programs
}

all_programs() {
    as_tester debian/tests/programs | tee /tmp/programs
    tail -n 1 /tmp/programs | grep -qE '^[1-9][0-9]* passed, 0 failed, 0 skipped$'
}

# That the comparison sees something.
planted_is_seen() {
    touch /usr/lib/planted
    ! nothing_left /tmp/before >/dev/null
}

run() {
    everything >/tmp/before
    verdict "no program compiles before" no_program
    verdict "they are installed" dpkg -i ./*.deb
    verdict "debian/tests/programs, all of it" all_programs
    verdict "debian/tests/command" as_tester debian/tests/command
    verdict "the manual is there" test -e /usr/share/man/man1/zkl.1.gz -a -e /usr/share/man/man3/zkl.3.gz
    verdict "the pages are there as HTML, and as files what they link to" pages_are_there
    verdict "the unit is there" test -e /usr/lib/systemd/system/zkl-standby@.service
    verdict "they are removed" dpkg --remove "${ours[@]}"
    verdict "nothing is left when they are removed" gone
    verdict "they are purged" dpkg --purge "${ours[@]}"
    verdict "nothing is left when they are purged" nothing_left /tmp/before
    verdict "a file that is left would be seen" planted_is_seen
    echo "$passed passed, $failed failed, 0 skipped"
}

# For a systemd that boots in this root.
service() {
    set -e
    dpkg -i ./*.deb
    cat >/etc/systemd/system/zkl-test.service <<'UNIT'
[Unit]
Description=The test of zkl-standby@.service
SuccessAction=exit
FailureAction=exit

[Service]
Type=oneshot
ExecStart=/src/zkl/debian/tests/service
StandardOutput=file:/src/service.log
UNIT
}

"$1"
