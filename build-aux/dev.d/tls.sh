# ./dev tls: zkl over a libzookeeper that has TLS and SASL, on real servers. Debian's has neither, so
# its source package is built with OpenSSL and Cyrus SASL, once, in _build/zookeeper-tls.
# shellcheck shell=bash disable=SC2154

client=$root/_build/zookeeper-tls

# OpenSSL 3 has no FIPS_mode(); the library only prints what it returns. The generator of the
# protocol's code is in the server's package.
build_client() {
    local source=$client/source folder
    rm -rf "$client"
    mkdir -p "$client/apt/lists/partial" "$client/apt/cache/archives/partial" "$source"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" \
        >"$client/apt/sources.list"
    local apt=(apt-get -o "Dir::Etc::sourcelist=$client/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$client/apt/lists" -o "Dir::Cache=$client/apt/cache")
    step "apt-get update (sources)" "${apt[@]}" update
    (cd "$source" && step "apt-get source zookeeper" "${apt[@]}" source zookeeper)
    folder=$(echo "$source"/zookeeper-*/zookeeper-client/zookeeper-client-c)
    mkdir -p "$folder/generated"
    echo '#define FIPS_mode() 0' >"$client/fips.h"
    (
        cd "$folder/generated" && step "jute" java -cp /usr/share/java/zookeeper-jute.jar \
            org.apache.jute.compiler.generated.Rcc -l c ../../../zookeeper-jute/src/main/resources/zookeeper.jute
        cd .. && step "autoreconf zookeeper" autoreconf -if
        step "configure zookeeper" ./configure --without-cppunit --with-openssl --with-sasl --disable-static \
            --prefix="$client" CFLAGS='-O2 -g -w' CPPFLAGS="-include $client/fips.h"
        step "build zookeeper" make -j"$jobs" libzookeeper_mt.la
        step "install zookeeper" make install-libLTLIBRARIES install-pkgincludeHEADERS \
            lib_LTLIBRARIES=libzookeeper_mt.la
    )
    : >"$client/built"
}

tls() {
    local test again=()
    [ -e "$client/built" ] || build_client
    build tls tools/zkl lib/libzkl.la tests/support/zkl-watchdog tests/unit/unit
    failed=0
    one_test tls tests/unit/unit _build/tls/tests/unit/unit session.files_of_tls_are_read_whole
    for test in tls stunnel; do
        one_test tls tests/tls/$test.sh bash tests/tls/$test.sh
    done
    show_again "${again[@]}"
    say "$passed passed, $failed failed, $skipped skipped, in $SECONDS s"
    ((failed == 0)) || exit 1
}
