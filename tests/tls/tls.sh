#!/bin/bash
# TLS and SASL on real servers, with a libzookeeper that has them: what is right works, and each thing
# that is wrong is told by its name.
# shellcheck source=tests/cli/lib.sh disable=SC2154
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/tls/servers.sh
. "$(dirname "$0")/servers.sh"
begin

authority ca
authority other
certificate right ca IP:127.0.0.1,DNS:localhost
certificate elsewhere ca DNS:elsewhere.example
certificate past ca IP:127.0.0.1 -1
certificate me ca DNS:me
certificate stranger other DNS:me
cat >"$scratch/jaas" <<'JAAS'
Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    user_ann="right: password";
};
JAAS
start_server good right -Djava.security.auth.login.config="$scratch/jaas"
start_server named elsewhere
start_server old past
for server in "$good_plain" "$named_plain" "$old_plain"; do
    wait_until "the server at $server serves" serves "$server" || finish
done

for server in "$good_secure" "$named_secure" "$old_secure"; do
    wait_until "the server at $server speaks TLS" speaks_tls "$server" || finish
done

# The tool with certificate NAME for servers of AUTHORITY.
tls=(--cacert "$scratch/ca.pem" --cert "$scratch/me.pem" --key "$scratch/me.key")
quick=(--connect-timeout 6)

run "$ZKL" "${tls[@]}" --connect "$good_secure" lock /tls/a sh -c 'echo $ZKL_PATH'
expect "the right certificate" "0:/tls/a:" "$status:$out:$err"
run "$ZKL" "${tls[@]}" --connect "localhost:${good_secure#*:}" lock -v /tls/a true
expect "by name" 0 "$status"
run "$ZKL" "${tls[@]}" --connect "$good_secure" ls /tls/a
expect "another command" "0:zkl: /tls/a: no contenders" "$status:$err"

refused "an unknown authority" 69 "^zkl: $good_secure: its certificate is not accepted: .*(self-signed|issuer)" \
    --cacert "$scratch/other.pem" "${tls[@]:2}" --connect "$good_secure" "${quick[@]}" lock /tls/a true
refused "another name" 69 "^zkl: $named_secure: its certificate is not accepted: .*mismatch" \
    "${tls[@]}" --connect "$named_secure" "${quick[@]}" lock /tls/a true
refused "another name, by name" 69 "its certificate is not accepted: .*[Hh]ostname mismatch" \
    "${tls[@]}" --connect "localhost:${named_secure#*:}" "${quick[@]}" lock /tls/a true
refused "a certificate that has expired" 69 "^zkl: $old_secure: its certificate is not accepted: certificate has expired" \
    "${tls[@]}" --connect "$old_secure" "${quick[@]}" lock /tls/a true
refused "a server without TLS" 69 "^zkl: $good_plain: it does not speak TLS" \
    "${tls[@]}" --connect "$good_plain" "${quick[@]}" lock /tls/a true
refused "a server that does not accept our certificate" 69 "^zkl: $good_secure: it (does not accept our|closed the connection).*certificate" \
    "${tls[@]:0:2}" --cert "$scratch/stranger.pem" --key "$scratch/stranger.key" --connect "$good_secure" "${quick[@]}" lock /tls/a true
refused "a server with TLS, and we without" 69 "^zkl: $good_secure: .*(TLS|not ZooKeeper|no server answers)" \
    --connect "$good_secure" "${quick[@]}" lock /tls/a true
refused "nobody there" 69 "127.0.0.1:1: no server answers" \
    "${tls[@]}" --connect 127.0.0.1:1 --connect-timeout 3 lock /tls/a true

# Servers that say nothing, the second one after hands were shaken.
say_nothing() { # KIND FILE...
    python3 "$(dirname "$0")/../cli/fake_server.py" "$@" >"$scratch/port" 2>"$scratch/$1.log" &
    remember $!
    servers+=("$!")
    wait_until "a server listens: $1" test -s "$scratch/port"
    mute=127.0.0.1:$(<"$scratch/port")
    rm "$scratch/port"
}
say_nothing silent
refused "a server that says nothing" 69 "^zkl: $mute: no server answers: nothing comes back\$" \
    "${tls[@]}" --connect "$mute" "${quick[@]}" lock /tls/a true
say_nothing handshake "$scratch/right.both.pem" "$scratch/ca.pem"
refused "a server that says nothing after the handshake" 69 "^zkl: $mute: no server answers: nothing comes back\$" \
    "${tls[@]}" --connect "$mute" "${quick[@]}" lock /tls/a true
run "$ZKL" "${tls[@]}" --connect "$mute,$good_secure" --connect-timeout 1000 lock /tls/a true
expect "one good server beside one that says nothing" "0:" "$status:$err"

# Those of several servers that will do.
run "$ZKL" "${tls[@]}" --connect "$named_secure,127.0.0.1:1,$good_secure" --connect-timeout 1000 lock /tls/a true
expect "one good server among others" "0:" "$status:$err"

# Files.
refused "a file that is not there" 64 "$scratch/none.pem: " "${tls[@]:0:4}" --key "$scratch/none.pem" lock /tls/a true
refused "another's key" 64 "$scratch/stranger.key: key values mismatch" "${tls[@]:0:4}" --key "$scratch/stranger.key" lock /tls/a true
refused "no key" 64 "all of them are needed" "${tls[@]:0:4}" lock /tls/a true

# DIGEST-MD5.
A=(--connect "$good_plain" --auth "sasl:ann:right: password")
run "$ZKL" "${A[@]}" --acl sasl:ann:cdrwa lock /tls/sasl/b true
expect "SASL: the right password" "0:" "$status:$err"
refused "SASL: nobody else" 77 "/tls/sasl" --connect "$good_plain" lock /tls/sasl/b true
run "$ZKL" "${A[@]}" lock /tls/sasl/b true
expect "SASL: the same one again" "0:" "$status:$err"
refused "SASL: a wrong password" 77 "$good_plain: the server refused the credentials" \
    --connect "$good_plain" --auth "sasl:ann:wrong" "${quick[@]}" lock /tls/sasl/b true
refused "SASL and TLS" 64 "TLS and SASL together" --auth sasl:ann:x "${tls[@]}" lock /tls/a true

kill "${servers[@]}"
finish
