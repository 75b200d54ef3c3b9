#!/bin/bash
# What is refused before any server is asked, and what happens when there is none.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
begin
: "${top_srcdir:=$PWD}"
unset ZKL_CONNECT
ran=$scratch/ran

# Help and version.
run "$ZKL" --version
expect "--version" "0" "$status"
expect_match "--version names itself" '^zkl [0-9]+\.[0-9]+\.[0-9]+$' "$out"
run "$ZKL" help
expect_match "help lists the commands" '  elect .*  limit .*  lock .*  ls .*  watch ' "${out//$'\n'/ }"
expect "help succeeds" "0" "$status"
run "$ZKL" help help
expect_match "help help does as well" '^0:.*  elect .*  lock .*  ls .*  watch ' "$status:${out//$'\n'/ }"
for args in "lock --help" "help lock" "--connect x lock --help" "elect --help" "elect /a me --help" "-h lock" "-h elect /a me true"; do
    # shellcheck disable=SC2086
    run "$ZKL" $args
    expect "$args: succeeds" 0 "$status"
    expect_match "$args: has the verb's options" '--conflict-exit-code' "$out"
    expect_match "$args: has the global options" '--session-timeout' "$out"
done
run "$ZKL" ls --help
expect_match "ls --help" '--json' "$out"
run "$ZKL" watch --help
expect_match "watch --help" '--once.*--connect' "${out//$'\n'/ }"
run "$ZKL" elect --help
expect_match "elect --help" '--yield' "$out"
# A verb's page and those that it refers to describe each option of the verb once, and no other. No page names one
# that no verb has.
offered() { # [VERB]
    "$ZKL" "$@" --help | grep -oE '^  (-., )?--[a-z-]+' | grep -oE '\-\-.*' | sort
}
man=$top_srcdir/man
on_pages() { # REGEX-OF-LINES PAGE…
    sed 's/\\-/-/g' "${@:2}" | grep -E "$1" | grep -oE ' -[a-z][a-z-]+' | sed 's/ /-/' | sort
}
differs() { # LIST LIST
    diff <(echo "$1") <(echo "$2") | grep '^[<>]'
}
mapfile -t verbs < <("$ZKL" help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | grep -vx help)
for verb in "${verbs[@]}"; do
    mapfile -t pages < <(sed -nE "/^\.Sh OPTIONS/,/^\.(Bl|Sh EXIT)/s,^\.Xr ([a-z-]+) ([0-9]).*,$man/\1.\2,p" "$man/zkl-$verb.1")
    pages+=("$man/zkl-$verb.1")
    expect "zkl-$verb(1): the options that there are" "" "$(differs "$(offered "$verb")" "$(on_pages '^\.It Fl' "${pages[@]}")")"
    expect_match "$verb --help names the page" "zkl-$verb\(1\)" "$("$ZKL" "$verb" --help)"
done
expect "no page names another option" "" "$(comm -13 <({ offered; for verb in "${verbs[@]}"; do offered "$verb"; done; } | sort -u) \
    <(on_pages '\bFl ' "$man"/zkl*.1 "$man/zkl-guard.7" | sort -u))"
expect "every page in section 1 is that of a verb" "" "$(differs "$(printf 'zkl-%s.1\n' "${verbs[@]}" | sort)" \
    "$(cd "$man" && printf '%s\n' zkl-*.1 | sort)")"
expect "shards have none for one lock alone" "" "$("$ZKL" shards --help | grep -E -e '--(timeout|nonblock|name|on-revoke)\b')"
if [ -e /dev/full ]; then
    for args in --version --help help "lock --help" "help ls"; do
        # shellcheck disable=SC2086
        "$ZKL" $args >/dev/full 2>"$scratch/err"
        expect "$args: output that cannot be written" 74 "$?"
    done
fi

# The command line.
refused "no verb" 64 "no command"
refused "unknown verb" 64 "frobnicate" frobnicate
refused "help of an unknown verb" 64 "frobnicate" help frobnicate
refused "unknown option" 64 "--frob" lock --frob /a true
refused "unknown option after PATH" 64 "--frob" lock /a --frob true
refused "unknown option: its value is not told" 64 "^zkl: --auht: unknown option$" --auht=digest:user:secret lock /a true
refused "unknown letter: nor what follows it" 64 "^zkl: -u: unknown option$" lock -vusecret /a true
refused "--timeout is told as it was given" 64 "^zkl: --timeout: .*: abc$" lock --timeout=abc /a touch "$ran"
refused "--timeout after PATH, too" 64 "^zkl: --timeout: .*: abc$" lock /a --timeout abc -- touch "$ran"
refused "--timeout beside --wait-children, too" 64 "^zkl: --timeout: .*: abc$" lock --timeout=abc --wait-children /a touch "$ran"
refused "--conflict-exit-code too large" 64 "--conflict-exit-code: .*: 256$" lock --conflict-exit-code 256 /a touch "$ran"
refused "lock without PATH" 64 "PATH" lock
refused "lock without a command" 64 "/a: no command" lock /a
refused "lock with -- and no command" 64 "/a: no command" lock /a --
refused "ls without PATH" 64 "PATH" ls
refused "ls of two" 64 "/b" ls /a /b
refused "remaining without a lock" 64 "^zkl: no lock to ask for: ZKL_DEADLINE is not set" remaining touch "$ran"
refused "remaining --within 0" 64 "--within: .*: 0$" remaining --within 0 touch "$ran"
refused "remaining --least no time" 64 "--least: .*: soon$" remaining --least soon
refused "watch without PATH" 64 "PATH" watch
refused "watch of two" 64 "/b" watch --once /a /b
refused "watch: --connect-timeout no time" 64 "--connect-timeout" --connect-timeout 0 watch /a
refused "-s and -x" 64 "-s and -x" lock -s -x /a touch "$ran"
refused "-n and -w" 64 "-n and -w" lock -n -w 1 /a touch "$ran"
refused "-w below 0" 64 "-w" lock -w -1 /a touch "$ran"
refused "-w no number" 64 "soon" lock -w soon /a touch "$ran"
for seconds in inf -inf nan -nan 1e99 "" 1x; do
    refused "-w \"$seconds\"" 64 "^zkl: -w: .*: $seconds\$" lock -w "$seconds" /a touch "$ran"
    refused "--grace \"$seconds\"" 64 "^zkl: --grace: .*: $seconds\$" lock --grace "$seconds" /a touch "$ran"
    refused "--kill-after \"$seconds\"" 64 "^zkl: --kill-after: .*: $seconds\$" lock --kill-after "$seconds" /a touch "$ran"
done
# Every time takes units, and the error says what a bare number would be.
no_time='not a time in seconds, nor one with a unit \(500ms, 30s, 5m, 1h\): 5d$'
for option in -w --grace --kill-after --on-lost-timeout --connect-timeout --session-timeout; do
    refused "lock $option 5d" 64 "^zkl: $option: $no_time" lock $option 5d /a touch "$ran"
done
refused "shards --drain 5d" 64 "^zkl: --drain: $no_time" shards --drain 5d /a 2 touch "$ran"
for given in 0 0.1 400ms 0.1s 1000h; do
    refused "--session-timeout $given" 64 "^zkl: --session-timeout $given: must be 401ms to 1000000s\$" --session-timeout $given lock /a touch "$ran"
done
# More than five minutes needs a unit: such a number was meant in milliseconds.
for number in 301 300.5 301. 1e3 30000; do
    refused "--session-timeout $number" 64 "^zkl: --session-timeout $number: a number counts seconds now; write ${number}ms or ${number}s\$" \
        --session-timeout $number lock /a touch "$ran"
done
for given in 401ms=0.4 300=300 0101=101 301s=301 20m=1200 1500ms=1.5; do
    refused "--session-timeout ${given%=*} is taken" 64 "--grace: .* a session timeout of ${given#*=}(\.0)? s" \
        --session-timeout "${given%=*}" lock --grace 1h /a touch "$ran"
done
refused "--grace in milliseconds" 64 "--grace: 4\.6 s.*30\.0 s.*4\.500 s" --session-timeout 0.5m lock --grace 4600ms /a touch "$ran"
refused "-n and -w nan" 64 "-n and -w" lock -n -w nan /a touch "$ran"
refused "an attached value that is none" 64 "5x" lock -nE5x /a touch "$ran"

# A value for an option that takes none is not ignored: --nonblock=no would mean yes.
for flag in nonblock=no verbose=0 exclusive=no shared=no help=; do
    refused "lock --$flag" 64 "^zkl: --${flag%=*}: takes no value\$" lock --$flag /a touch "$ran"
    refused "lock --$flag behind PATH" 64 "^zkl: --${flag%=*}: takes no value\$" lock /a --$flag touch "$ran"
done
for flag in once=no yield=false listen=0 leader=no json=false; do
    refused "elect --$flag" 64 "^zkl: --${flag%=*}: takes no value\$" elect --$flag /a me touch "$ran"
done
refused "ls --json=false" 64 "--json: takes no value" ls /a --json=false
refused "watch --json=false" 64 "--json: takes no value" watch --json=false /a
refused "watch --once=no" 64 "--once: takes no value" watch /a --once=no
refused "--version=2" 64 "--version: takes no value" --version=2
refused "-n=no" 64 "^zkl: -n: takes no value$" lock -n=no /a touch "$ran"
refused "help of two" 64 "ls" help lock ls

# Numbers are decimal, and all of the text.
for number in "" 0x10 1x " 1" 1.5 99999999999; do
    refused "-E \"$number\"" 64 "^zkl: -E: not a whole number: $number\$" lock -E "$number" /a touch "$ran"
    refused "elect --priority \"$number\"" 64 "^zkl: --priority: .*: $number\$" elect /a me --priority "$number" touch "$ran"
done
for seconds in 0x10 " 1" "" 1x; do
    refused "--connect-timeout \"$seconds\"" 64 "^zkl: --connect-timeout: .*: $seconds\$" --connect-timeout "$seconds" ls /a
    refused "--session-timeout \"$seconds\"" 64 "^zkl: --session-timeout: .*: $seconds\$" "--session-timeout=$seconds" ls /a
done
refused "-E too large" 64 "-E.*256" lock -E 256 /a touch "$ran"
refused "-E below 0" 64 "-E" lock -E -1 /a touch "$ran"
refused "-c and a command" 64 "-c" lock /a -c true touch "$ran"
refused "--parents" 64 "twigs" lock --parents twigs /a touch "$ran"
for peer in "" KAZOO zk-ruby kazo; do
    refused "--peer \"$peer\"" 64 "^zkl: --peer: must be curator or kazoo, not $peer\$" lock --peer "$peer" /a touch "$ran"
done
refused "--name that is empty" 64 "--name.*empty" lock --name= /a touch "$ran"
refused "--peer without a value" 64 "--peer" lock /a --peer
refused "elect has no --peer" 64 "--peer" elect /a me --peer kazoo touch "$ran"
refused "--grace more than steady" 64 "--grace: 4\.6 s.*30\.0 s.*4\.500 s" lock --grace 4.6 /a touch "$ran"
refused "--grace below 0" 64 "--grace" lock --grace -1 /a touch "$ran"
refused "--auth without a scheme" 64 "SCHEME" --auth secret lock /a touch "$ran"
refused "--auth without credentials" 64 "SCHEME" --auth digest: lock /a touch "$ran"
printf 'digest:a:b\ndigest\n' >"$scratch/two"
printf 'digest:a:b\0c\n' >"$scratch/nul"
chmod o-rw "$scratch/two" "$scratch/nul"
for file in two nul; do
    refused "--auth-file that is not lines of credentials: $file" 64 "^zkl: --auth-file: .*$scratch/$file" --auth-file "$scratch/$file" lock /a touch "$ran"
done
# What this build may not have: `./dev tls` tests it where it is there.
refused "--cacert alone" 64 "^zkl: --cacert, --cert, --key: all of them are needed\$" --cacert "$scratch/a" lock /a touch "$ran"
refused "a comma in a file's name" 64 "^zkl: --cacert, --cert, --key: .*comma" --cacert a,b --cert c --key d lock /a touch "$ran"
run "$ZKL" --cacert "$scratch/none" --cert c --key d lock /a touch "$ran"
expect_match "TLS that is not there says what to build" "^64:zkl: --cacert, --cert, --key: (this libzookeeper has no TLS: build .*--with-zookeeper.*|$scratch/none: .*)\$" "$status:$err"
run "$ZKL" --connect 127.0.0.1:1 --connect-timeout 0.5 --auth sasl:a:b lock /a touch "$ran"
expect_match "SASL that is not there says what to build" "^(64:zkl: --auth: this libzookeeper has no SASL: build .*--with-zookeeper|69:).*" "$status:$err"
refused "--auth-file that is not there" 64 "$scratch/none" --auth-file "$scratch/none" lock /a touch "$ran"
for seconds in -1 0 nan inf; do
    refused "--connect-timeout $seconds" 64 "--connect-timeout.*$seconds" --connect-timeout $seconds lock /a touch "$ran"
    refused "--connect-timeout $seconds, by ls" 64 "--connect-timeout.*$seconds" --connect-timeout $seconds ls /a
done

# Elections.
refused "elect without PATH" 64 "PATH" elect
refused "elect without ID" 64 "no ID" elect /a
refused "elect without a command" 64 "/a: no command.*zkl elect --help" elect /a me
refused "elect: an empty ID" 64 "ID.*empty" elect /a "" touch "$ran"
refused "elect: an ID that is no UTF-8" 64 'ID.*xff' elect /a $'\xff' touch "$ran"
refused "elect: an ID of more than 1 KiB" 64 "1024" elect /a "$(head -c 1025 /dev/zero | tr '\0' a)" touch "$ran"
refused "elect: --layout" 64 "--layout.*bunch" elect --layout bunch /a me touch "$ran"
for priority in -1 1000; do
    refused "elect: --priority $priority" 64 "--priority.*$priority" elect /a me --priority $priority touch "$ran"
done
refused "elect: --priority in kazoo's layout" 64 "--priority: .*kazoo" elect /a me --priority 1 --layout kazoo touch "$ran"
refused "elect: no layout of that name" 64 "latch, selector or kazoo, not lock" elect --layout lock /a me touch "$ran"
for option in -n -w1 -E7; do
    refused "elect: $option without --once" 64 "--once" elect /a me $option touch "$ran"
done
refused "elect: --once and --yield" 64 "--once" elect /a --yield me --once touch "$ran"
refused "elect: options again behind each operand" 64 "bunch" --acl x elect --layout latch --on-lost a --acl y -c a /a \
    --layout latch --on-lost b -c b me --layout bunch --acl z touch "$ran"
refused "lock: options again behind PATH" 64 "twigs" lock --name a --parents container -w 1 /a --name b --parents twigs --wait 2 touch "$ran"
refused "elect: --json and a command" 64 "--json" elect /a me --json touch "$ran"
refused "elect: an option of lock" 64 "--name" elect /a me --name x touch "$ran"
refused "elect: --grace more than steady" 64 "--grace: 4\.6 s" elect --grace 4.6 /a me touch "$ran"
refused "elect: --status-fd that is not there" 64 "--status-fd.*77" elect --status-fd 77 /a me touch "$ran"
for look in --listen --leader; do
    refused "$look without PATH" 64 "PATH" elect $look
    refused "$look and a command" 64 "me: .*no command" elect $look /a me touch "$ran"
    refused "$look behind ID" 64 "me: .*no command" elect /a me $look touch "$ran"
    refused "$look and -c" 64 "touch: .*no command" elect $look /a -c touch
done
# What they would not obey is not taken either.
for option in -n -w1 -w=nan -E7 --grace=soon --grace=1 --on-suspect=term --on-outgrown=term --on-lost=x --status-fd=1 --parents=twigs \
    --metrics-file=x --once --priority=1 --wait-children --yield --kill-after=1 --leave-daemons --on-lost-timeout=1; do
    for look in --listen --leader; do
        refused "$look and $option" 64 "$look: .*--layout and --json" elect $option $look /a
        refused "$look PATH $option" 64 "$look: .*--layout and --json" elect $look /a $option
    done
done
for option in -n -w1 -E7 --grace=1 --kill-after=1 --leave-daemons --wait-children --on-suspect=term --on-outgrown=term --on-lost=x \
    --on-lost-timeout=1 --status-fd=1 --metrics-file=x --parents=container; do
    for look in --list --listen; do
        refused "member: $look and $option" 64 "^zkl: $look: only --layout and --json" member $option $look /a
        refused "member: $look PATH $option" 64 "^zkl: $look: only --layout and --json" member $look /a $option
    done
done
for look in --list --listen; do refused "member: $look and -c" 64 "touch: .*no command" member $look /a -c touch; done
refused "--listen and --leader" 64 "--listen and --leader" elect --listen --leader /a

# Paths, for all verbs.
for path in "" a a/b // //a /a//b /a/ /a/. /a/./b /a/../b /..; do
    refused "lock: path \"$path\"" 64 "${path:-path}" lock "$path" touch "$ran"
    refused "ls: path \"$path\"" 64 "${path:-path}" ls "$path"
    refused "elect: path \"$path\"" 64 "${path:-path}" elect "$path" me touch "$ran"
    refused "elect --leader: path \"$path\"" 64 "${path:-path}" elect --leader "$path"
done
refused "a path of 100 KiB" 64 "/aaa" lock "/$(head -c 100000 /dev/zero | tr '\0' a)" touch "$ran"

# Connect strings and what goes with them.
for hosts in "" : host: :2181 host:port host:0 host:65536 "a,,b" "[::1" "host/no//chroot" "host/end/"; do
    refused "--connect \"$hosts\"" 64 "connect.*${hosts//[/\\[}" --connect "$hosts" lock /a touch "$ran"
done
refused "--tick -1" 64 "^zkl: --tick: not a time .*: -1\$" --tick -1 lock /a touch "$ran"
refused "--tick 20" 64 "^zkl: --tick: 20 s is too much for a session timeout of 30\.0 s: no lock could be renewed in time\$" \
    --tick 20 lock /a touch "$ran"
refused "--tick for ever" 64 "^zkl: --tick: .* is too much for a session timeout of 2\.0 s" \
    --session-timeout 2 --tick 10000000 lock /a touch "$ran"
refused "--session-timeout -1" 64 "^zkl: --session-timeout: not a time .*: -1\$" --session-timeout -1 lock /a touch "$ran"
refused "--session-timeout no number" 64 "long" --session-timeout long lock /a touch "$ran"
refused "an IPv6 address without brackets" 64 'connect string "::1": .*brackets' --connect ::1 lock /a touch "$ran"
refused "and with a port" 64 'connect string "a,fe80::1:2181": .*brackets' --connect a,fe80::1:2181 lock /a touch "$ran"
refused "a chroot behind each server" 64 'connect string "a:1/x,b:1/x": .*once, after the last server, as in "host1,host2/chroot"' --connect a:1/x,b:1/x lock /a touch "$ran"
for acl in auth::cdrwa world:anyone:r,auth:ann:cdrwa; do
    refused "--acl $acl without credentials" 64 "^zkl: --acl $acl: .*credentials.*--auth" --acl $acl lock /a touch "$ran"
done
for acl in nonsense world:anyone: world:anyone:x; do
    refused "--acl $acl" 64 "--acl $acl: " --acl "$acl" lock /a touch "$ran"
done

# What only the library refuses is told in the words of the command line.
long=$(head -c 2000 /dev/zero | tr '\0' n)
for verb in lock once; do refused "$verb: a long --name" 64 "^zkl: --name is longer than [0-9]+ bytes\$" $verb --name "$long" /a touch "$ran"; done
refused "a long ID" 64 "^zkl: /a: ID: it is longer than [0-9]+ bytes\$" elect /a "$long" touch "$ran"
refused "a short --every" 64 "^zkl: --every must be, in milliseconds, 10 to [0-9]+\$" once --every 9ms /a touch "$ran"
refused "a long --slack" 64 "^zkl: --slack must be less than half of --every\$" once --every 1h --slack 40m /a touch "$ran"
mapfile -t many < <(for i in {1..64}; do printf '%s\n' --and "/a/$i"; done)
refused "65 paths" 64 "^zkl: /a/0: the number of paths must be 1 to 64\$" lock "${many[@]}" /a/0 touch "$ran"

# No server: port 1 is nobody's, and .invalid never resolves.
nobody=127.0.0.1:1
refused "a refused port" 69 "$nobody" --connect $nobody --connect-timeout 0.5 lock /a touch "$ran"
for v6 in "[::1]:1" "[::1]:1,127.0.0.1:1" "a:1,[::ffff:127.0.0.1]:1/b"; do
    refused "$v6 is shown as it was given" 69 "$(sed 's/\[/\\[/; s,/b$,,' <<<"$v6"): " --connect "$v6" --connect-timeout 0.5 lock /a touch "$ran"
done
refused "a refused port, by ls" 69 "$nobody" --connect $nobody --connect-timeout 0.5 ls /a
refused "a refused port, by elect --once" 69 "$nobody" --connect $nobody --connect-timeout 0.5 elect --once /a me touch "$ran"
refused "a refused port, by elect --leader" 69 "$nobody" --connect $nobody --connect-timeout 0.5 elect --leader /a
refused "-w is shorter than --connect-timeout" 69 "$nobody" --connect $nobody --connect-timeout 1h lock -w .5 /a touch "$ran"
refused "-n waits for a server" 69 "$nobody" --connect $nobody --connect-timeout 0.5 lock -n /a touch "$ran"
refused "global options after the verb" 69 "$nobody" lock --connect $nobody --connect-timeout 0.5 /a touch "$ran"
refused "and after PATH" 69 "$nobody" lock /a --connect $nobody --connect-timeout 0.5 touch "$ran"
refused "an unknown host" 69 "no.such.host.invalid" --connect no.such.host.invalid --connect-timeout 0.5 lock /a touch "$ran"
ZKL_CONNECT=$nobody refused "ZKL_CONNECT" 69 "$nobody" --connect-timeout 0.5 lock /a touch "$ran"
ZKL_CONNECT=127.0.0.1:2 refused "--connect goes before ZKL_CONNECT" 69 "$nobody" --connect $nobody --connect-timeout 0.5 lock /a touch "$ran"

# Why no server answers, for each kind of it.
refused "nobody listens" 69 "^zkl: $nobody: no server answers: connection refused\$" --connect $nobody --connect-timeout 3 ls /a
fakes() { # KIND REGEX
    local port
    mkfifo "$scratch/$1.port"
    python3 "$top_srcdir/tests/cli/fake_server.py" "$1" >"$scratch/$1.port" 2>/dev/null &
    remember $!
    read -r port <"$scratch/$1.port"
    refused "a server that is $1" 69 "^zkl: 127\.0\.0\.1:$port: $2\$" --connect "127.0.0.1:$port" --connect-timeout 3 ls /a
}
fakes silent "no server answers: nothing comes back"
fakes hangs-up "no server answers: it closes the connection at once; it may have too many from this address"
fakes not-serving "the server that answers there does not serve: it is starting, or has no quorum"
fakes foreign "the server that answers there is not ZooKeeper"
fakes tls "the server that answers there speaks TLS, and this connection does not"
# Each step is told in our words.
run "$ZKL" -v --connect $nobody --connect-timeout 3 lock /a touch "$ran"
expect_match "-v says what happens" "zkl: connecting to $nobody" "$err"
expect "-v: and nothing of libzookeeper's own work" "" "$(grep -E 'ZOO_(INFO|DEBUG)@' "$scratch/err")"

if [ -e "$ran" ]; then fail "no command was run"; else pass "no command was run"; fi
finish
