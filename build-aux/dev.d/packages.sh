# What the commands need from Debian, and how it comes. Sourced by ./dev.
# shellcheck shell=bash disable=SC2034

build_packages=(gcc g++ libc6-dev make autoconf automake libtool pkg-config
    libglib2.0-dev libzookeeper-mt-dev libcunit1-dev python3 systemtap-sdt-dev tzdata)
# The server is in libzookeeper-java: `zookeeper` adds scripts and a graphical Java we do not use,
# and `zookeeperd` would start a service. iproute2 makes the networks that tests cut,
# and jq is in an example of zkl-member(1) that they run.
server_packages=(libzookeeper-java default-jre-headless iproute2 jq)
# What makes HTML of the pages.
docs_packages=(mandoc cmark-gfm python3)
# gdb shows what a test was doing that the watchdog ends; prometheus and promtool try the alerts and the console, cmake
# and meson what the README says of them, and systemd's analysis the unit. locales has a language that sorts hexadecimal
# digits in another order.
check_packages=(clang clang-format binutils dpkg-dev patch gdb libevent-dev rpm zsh mypy prometheus cmake meson systemd locales
    "${docs_packages[@]}")
# What bench/plot.py draws with.
plot_packages=(python3-matplotlib)
# Other libraries that take the same locks. ZooKeeper's own recipes come with its server.
interop_packages=(default-jdk-headless libcurator-recipes-java python3-kazoo)
# Stores that refuse late writes.
store_packages=(redis-server postgresql locales)
# The locks that zkl is measured beside. Debian may start redis, etcd and postgresql as services;
# tests and the benchmark use none of those, they have their own.
bench_packages=(etcd-server golang-go golang-etcd-server-dev redis-server
    libhiredis-dev postgresql libpq-dev)
# What makes clean roots. Their own packages are installed in them.
deb_packages=(mmdebstrap iproute2)
# What libzookeeper is built with for TLS and SASL, and what its tests need.
tls_packages=(dpkg-dev libssl-dev libsasl2-dev libsasl2-modules openssl stunnel4 python3 libnetty-java
    libnetty-tcnative-java libslf4j-java)
# libFuzzer is C++.
fuzz_packages=(clang libclang-rt-14-dev g++)

installed() { # PACKAGE
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs those that are missing, and only those.
need_packages() { # PACKAGE…
    local package missing=() sudo=()
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "this is no Debian, so it is up to you that there is what Debian calls: $*"
        return
    fi
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "these packages are missing, and without root or sudo I cannot install them: ${missing[*]}"
        sudo=(sudo)
    fi
    say "installing with apt: ${missing[*]}"
    step "apt-get update" "${sudo[@]}" apt-get update
    step "apt-get install" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"
}
