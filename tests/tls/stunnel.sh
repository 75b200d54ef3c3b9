#!/bin/bash
# docs/guide/tls.md: zkl beside a real stunnel, with the configuration of that page.
# shellcheck source=tests/cli/lib.sh disable=SC2154
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/tls/servers.sh
. "$(dirname "$0")/servers.sh"
: "${top_srcdir:=$PWD}"
begin
stunnel=$(command -v stunnel4 || command -v stunnel) || { missing stunnel4; finish; }

authority ca
certificate right ca DNS:localhost
certificate elsewhere ca DNS:elsewhere.example
certificate me ca DNS:me
start_server good right
start_server named elsewhere
for server in "$good_plain" "$named_plain"; do
    wait_until "the server at $server serves" serves "$server" || finish
done
for server in "$good_secure" "$named_secure"; do
    wait_until "the server at $server speaks TLS" speaks_tls "$server" || finish
done

# The page's lines, with our folder, server and port.
tunnel() { # NAME SERVER
    local port
    hold_port
    sed -n '/^```ini$/,/^```$/p' "$top_srcdir/docs/guide/tls.md" | grep -v '^```' |
        sed "s|/etc/zkl/|$scratch/|; s|127.0.0.1:21811|127.0.0.1:$port|; s|zk1.example:2281|$2|; s|zk1.example|localhost|" >"$scratch/$1.conf"
    "$stunnel" -fd 0 < <(printf 'foreground = yes\npid =\noutput = %s\n' "$scratch/$1.log" && cat "$scratch/$1.conf") \
        >>"$scratch/$1.log" 2>&1 &
    tunnel=$!
    remember "$tunnel"
    tunnels+=("$tunnel")
    entry=127.0.0.1:$port
    wait_until "the tunnel $1 is open" listens "$port" || { cat "$scratch/$1.log"; finish; }
}
# shellcheck disable=SC2317
listens() { # PORT
    (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}
tunnels=()

tunnel right "$good_secure"
run "$ZKL" --connect "$entry" --connect-timeout 1000 lock /tunnel/a true
expect "a lock through the tunnel" "0:" "$status:$err"
ZKL_CONNECT=$entry
export ZKL_CONNECT
hold /tunnel/a --session-timeout 20
run "$ZKL" lock -n /tunnel/a true
expect "it excludes" 1 "$status"

# The tunnel goes for a moment, and the lock stays.
kill "$tunnel"
wait "$tunnel" 2>/dev/null
"$stunnel" -fd 0 < <(printf 'foreground = yes\npid =\noutput = %s\n' "$scratch/again.log" && cat "$scratch/right.conf") >>"$scratch/again.log" 2>&1 &
tunnels+=("$!")
remember "$!"
wait_until "the tunnel is open again" listens "${entry##*:}"
let_go
expect "who held it held it all the time" 0 "$?"

tunnel wrong "$named_secure"
refused "a server of another name" 69 "$entry: no server answers" --connect "$entry" --connect-timeout 4 lock /tunnel/a true
if wait_until "stunnel says why" grep -qE 'CERT: |certificate verify failed' "$scratch/wrong.log"; then
    pass "stunnel says why"
fi

kill "${tunnels[@]}" "${servers[@]}" 2>/dev/null
finish
