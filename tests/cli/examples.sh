#!/bin/bash
# The daemons of examples/ that lead or follow, and the service that makes any program one.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${top_srcdir:=$PWD}"
need_server
begin
E=/cli/examples

# shellcheck disable=SC2317
says() { grep -qE "^$2" "$scratch/$1"; }
mkdir "$scratch/store"
follow() { # LOOP ID: $daemon
    local store=()
    [ "$1" != epoll ] || store=("$scratch/store")
    "$top_builddir/examples/leader-$1" "$ZKL_CONNECT" $E "$2" "${store[@]}" >"$scratch/$2" 2>"$scratch/$2.err" &
    daemon=$!
    remember "$daemon"
}

# Each loop leads and follows the other; one is killed without warning, the other is asked to end.
for pair in "glib epoll" "epoll glib"; do
    read -r one other <<<"$pair"
    follow "$one" "one-$one"
    first=$daemon
    wait_until "$one: the first leads" says "one-$one" "leading with token"
    wait_until "$one: it works" grep -q working "$scratch/one-$one.err"
    follow "$other" "two-$one"
    second=$daemon
    wait_until "$one: the second follows" has_contenders $E 2
    expect "$one: the first is known as leader" "one-$one" "$("$ZKL" elect --leader $E)"
    expect "$other: who follows does not work" ":" "$(<"$scratch/two-$one"):$(without_outages "$scratch/two-$one.err")"
    kill -9 "$first"
    status_of "$first"
    if wait_until "$other: leads when the first was killed" says "two-$one" "leading with token"; then
        pass "$other: leads when the first was killed"
    fi
    kill -TERM "$second"
    status_of "$second"
    expect "$other: ends when asked to" 0 "$?"
    expect_match "$other: and has resigned" $'^leading with token ([0-9]+)\nfollowing, after token [0-9]+$' "$(<"$scratch/two-$one")"
    expect_no_node "$other: nothing is left" $E
    run "$top_builddir/examples/leader-$one" x
    expect "$one: usage" 64 "$status"
done

# What a leader by epoll writes is fenced by the token of its term.
fenced() { "$top_builddir/examples/fenced-store" "$scratch/store" "$@"; }
follow epoll writes
wait_until "epoll: it leads" says writes "leading with token"
token=$(sed -n 's/^leading with token //p' "$scratch/writes")
wait_until "epoll: it writes" grep -q working "$scratch/writes.err"
run fenced get leader "$token"
expect "epoll: it has written its id" "0:writes" "$status:$out"
run fenced put leader $((token - 1)) late
expect "epoll: a former leader writes too late" 1 "$status"
run fenced get leader $((token + 1))
# shellcheck disable=SC2317
refused_by_store() { grep -q "Stale file handle" "$scratch/writes.err"; }
if wait_until "epoll: it is told that its write comes too late" refused_by_store; then pass "epoll: a write that comes too late is refused"; fi
kill -TERM "$daemon"
status_of "$daemon"
expect "epoll: the store has what was written in time" "writes" "$(fenced get leader)"

# Deposed by an administrator, it campaigns again.
if [ -x "$ADMIN" ]; then
    for loop in glib epoll; do
        follow $loop $loop
        wait_until "$loop: leads" says $loop "leading with token"
        "$ADMIN" delete "$E/$("$ZKL" ls $E | sed -n '2s/.* //p')"
        # shellcheck disable=SC2317
        again() { [ "$(grep -c '^leading' "$scratch/$loop")" = 2 ]; }
        if wait_until "$loop: leads again" again; then pass "$loop: leads again"; fi
        expect_match "$loop: heard that it was deposed" $'^leading with token ([0-9]+)\nfollowing, after token [0-9]+\nleading' "$(<"$scratch/$loop")"
        kill -TERM "$daemon"
        status_of "$daemon"
    done
else
    missing zk-admin "deposed"
fi

# At HUP a leader lets the next one lead, here itself; and it has said where it is.
follow glib hup
wait_until "glib: leads before HUP" says hup "leading with token"
if wait_until "glib: has said where it is" grep -qx proclaimed "$scratch/hup.err"; then pass "glib: has said where it is"; fi
kill -HUP "$daemon"
# shellcheck disable=SC2317
led_twice() { [ "$(grep -c '^leading' "$scratch/hup")" = 2 ]; }
if wait_until "glib: leads again after HUP" led_twice; then pass "glib: leads again after HUP"; fi
kill -TERM "$daemon"
status_of "$daemon"
expect "glib: ends when asked to, after HUP" 0 "$?"

# Three processes share a batch: they begin together, pause together, do each piece once, and end together.
echo "$ZKL_CONNECT" >"$scratch/servers"
if [ -x "$ADMIN" ]; then
    B=$E/batch
    "$ADMIN" create "$B" x
    "$ADMIN" create "$B"/pause x
    batch=()
    for id in a b c; do
        "$top_builddir/examples/batch" "$scratch/servers" "$B" 3 $id >"$scratch/batch-$id" 2>"$scratch/batch-$id.err" &
        batch+=("$!")
        remember $!
    done
    # shellcheck disable=SC2317
    pausing() { [ "$("$ZKL" member --list "$B"/workers | grep -c 'piece 0, 0 of mine')" = 3 ]; }
    wait_until "all have begun" pausing
    kill -HUP "${batch[0]}"
    if wait_until "the servers are read again" grep -qx "a: other servers: success" "$scratch/batch-a.err"; then pass "the servers are read again"; fi
    expect "nobody does a piece while all pause" "" "$("$ZKL" ls --children "$B" | grep piece)"
    "$ADMIN" delete "$B"/pause
    for pid in "${batch[@]}"; do
        status_of "$pid"
        expect "batch: a worker ends by itself" 0 "$?"
    done
    expect "each piece was done once" 20 "$(cat "$scratch"/batch-[abc] | awk '{ sum += $1 } END { print sum }')"
    expect "and is recorded" 20 "$("$ZKL" ls --children "$B" | grep -c '^piece-')"
    expect "nobody is left" "" "$("$ZKL" ls --children "$B"/workers)"
    "$top_builddir/examples/batch" "$scratch/servers" "$B" 2 d >"$scratch/batch-d" &
    lonely=$!
    remember $lonely
    # shellcheck disable=SC2317
    waits() { "$ZKL" member --list "$B"/workers | grep -q waits; }
    wait_until "one waits for another" waits
    kill -TERM $lonely
    status_of $lonely
    expect "batch: ends when asked to" "0:0 pieces" "$?:$(<"$scratch/batch-d")"
    expect "and leaves nothing" "" "$("$ZKL" ls --children "$B"/together)"
else
    missing zk-admin "a batch"
fi
run "$top_builddir/examples/batch" x
expect "batch: usage" 64 "$status"

# The threads of one process share a lock that is retained; another process gets it all the same.
# shellcheck disable=SC2317
turns() { [ "$(grep -c ' turn ' "$scratch/turns")" -ge "$1" ]; }
"$top_builddir/examples/retained" "$ZKL_CONNECT" $E/turns >"$scratch/turns" &
daemon=$!
remember "$daemon"
wait_until "turns of one token" turns 20
expect "one token for all of them" 1 "$(sed -n 's/.* token \(.*\) turn .*/\1/p' "$scratch/turns" | sort -u | wc -l)"
run "$ZKL" lock -w 60 $E/turns true
expect "another process gets the lock" 0 "$status"
if wait_until "the holder hears of it" grep -q wanted "$scratch/turns"; then pass "the holder heard of it"; fi
# shellcheck disable=SC2317
anew() { [ "$(grep -c ' turn 0$' "$scratch/turns")" -ge 2 ]; }
if wait_until "it gets the lock again" anew; then pass "then it had another token"; fi
kill -TERM "$daemon"
status_of "$daemon"
expect "retained: ends when asked to" 0 "$?"
rises() { sort -cs "$scratch/fences" && [ -z "$(uniq -d "$scratch/fences")" ]; }
sed -n 's/ token .*//p' "$scratch/turns" >"$scratch/fences"
if LC_ALL=C rises; then
    pass "the pairs rise, as text"
else
    fail "the pairs rise, as text" "$(head -50 "$scratch/fences")"
fi
expect_no_node "retained: nothing is left" $E/turns

# If the lock is refused, the daemon says so once a second, and asks no more often than that.
"$ZKL" elect --once $E/led me sleep 100000 &
remember $!
led=$!
wait_until "somebody leads" eval '"$ZKL" ls $E/led | grep -q HOLDS'
token() { "$ZKL" lock $E/token -- sh -c 'echo "$ZKL_TOKEN"'; }
before=$(token)
"$top_builddir/examples/retained" "$ZKL_CONNECT" $E/led >"$scratch/refused" 2>&1 &
daemon=$!
remember "$daemon"
# shellcheck disable=SC2317
refused() { [ "$(grep -c "of a latch's election" "$scratch/refused")" -ge 9 ]; }
wait_until "it is refused nine times" refused
kill -TERM "$daemon"
status_of "$daemon"
expect "retained: ends where it is refused" 0 "$?"
changes=$(($(token) - before)) lines=$(wc -l <"$scratch/refused")
expect "it asks as often as it says so" yes "$([ "$changes" -le $((20 * lines)) ] && echo yes || echo "$changes changes, $lines lines")"
kill -TERM "$led"
status_of "$led"

# Shards are shared out; who is killed is replaced, and who comes back gets its own again.
# shellcheck disable=SC2317
serve() { # ID: $daemon
    "$top_builddir/examples/shards" "$ZKL_CONNECT" $E/work 8 "$1" >>"$scratch/shards-$1" &
    daemon=$!
    remember "$daemon"
}
lines_of() { wc -l <"$scratch/shards-$1"; }
# Which shards a host works on: it works on each again and again.
works_on() { # ID SHARDS
    tail -n "+$((since + 1))" "$scratch/shards-$1" | sed -n 's/^shard \([0-9]*\) .*/\1/p' | sort -u | paste -sd' ' | grep -qx "$2"
}
now_works_on() { # WHAT ID SHARDS
    local since
    # shellcheck disable=SC2317
    settled() {
        since=$(lines_of "$1")
        for ((round = 0; round < 20; round++)); do pause; done
        works_on "$1" "$2"
    }
    if wait_until "$1" settled "$2" "$3"; then pass "$1"; fi
}
serve a
a=$daemon
now_works_on "one has all shards" a "0 1 2 3 4 5 6 7"
serve b
b=$daemon
serve c
c=$daemon
now_works_on "a has its own" a "0 2 4"
now_works_on "b has its own" b "1 5 6 7"
now_works_on "c has its own" c "3"
kill -9 "$b"
status_of "$b"
now_works_on "b was killed: a has more" a "0 [0-7 ]*2 [0-7 ]*4.*"
expect "two have all" 8 "$(cat "$scratch"/shards-[ac] | sed -n 's/^shard \([0-9]*\) .*/\1/p' | sort -u | wc -l)"
serve b
b=$daemon
now_works_on "b is back, and has its own" b "1 5 6 7"
now_works_on "and a no more" a "0 2 4"
kill -TERM "$a" "$b" "$c"
for daemon in "$a" "$b" "$c"; do
    status_of "$daemon"
    expect "shards: ends when asked to" 0 "$?"
done
for id in a b c; do sed 's/.* fence //' "$scratch/shards-$id" | sort -u; done | sort | uniq -d >"$scratch/twice"
expect "no two hosts have one fence" "" "$(<"$scratch/twice")"
expect_no_node "shards: nothing is left" $E/work/shards/0

# A command and the program are members of one group.
serve a
a=$daemon
now_works_on "the program has all" a "0 1 2 3 4 5 6 7"
"$ZKL" shards --id b $E/work 8 -- sh -c 'echo "$ZKL_SHARD" >>"$0"; exec sleep 1000' "$scratch/commands" 2>/dev/null &
command=$!
remember $command
now_works_on "and leaves to the command what is its own" a "0 2 4"
wait_until "which runs for them" test -s "$scratch/commands"
expect_match "which runs for them" "^[0-7]$" "$(sed -n 1p "$scratch/commands")"
kill -TERM "$a"
status_of "$a"
# shellcheck disable=SC2317
has_all() { [ "$(sort -u "$scratch/commands" | wc -l)" = 8 ]; }
if wait_until "the command has all in the end" has_all; then pass "the command has all in the end"; fi
kill -TERM $command
status_of $command

# A table of a database: the jobs of each shard are done by whom has its lock.
partition() { # ID: $daemon
    python3 "$top_srcdir/examples/partition.py" "$ZKL_CONNECT" $E/jobs 4 "$1" "$scratch/jobs.db" &
    daemon=$!
    remember "$daemon"
}
sql() { python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None).execute(sys.argv[2]), sep="\n")' "$scratch/jobs.db" "$1"; }
if python3 -c 'import sqlite3' 2>/dev/null && [ -e "$top_builddir/lib/.libs/libzkl.so" ] && [ -z "${ZKL_INSTRUMENTED-}" ]; then
    run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" install-dist_zklpythonDATA pythondir="$scratch/python" DESTDIR=
    export PYTHONPATH=$scratch/python ZKL_LIBRARY=$top_builddir/lib/.libs/libzkl.so
    sql "CREATE TABLE jobs (id INTEGER PRIMARY KEY, done TEXT, fence TEXT)"
    sql "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 299) INSERT INTO jobs(id) SELECT i FROM n"
    partition a
    a=$daemon
    partition b
    b=$daemon
    for daemon in "$a" "$b"; do
        status_of "$daemon"
        expect "partition: ends when all is done" 0 "$?"
    done
    expect "each job is done once, under one fence for each shard and member" "(300, 1)" \
        "$(sql 'SELECT count(done), (SELECT max(n) FROM (SELECT count(DISTINCT done) AS n FROM jobs GROUP BY fence)) FROM jobs')"

    # One that waits for its shard ends when it is asked to, and is no member any more.
    hold $E/other/shards/0
    cp "$scratch/jobs.db" "$scratch/other.db"
    python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute("UPDATE jobs SET done = NULL")' "$scratch/other.db"
    python3 "$top_srcdir/examples/partition.py" "$ZKL_CONNECT" $E/other 1 c "$scratch/other.db" &
    c=$!
    remember "$c"
    wait_until "it waits for its shard" eval '"$ZKL" ls $E/other/shards/0 | grep -q waiting'
    kill -TERM "$c"
    status_of "$c"
    expect "partition: ends when asked to" 0 "$?"
    expect "and is no member" "" "$("$ZKL" ls --children $E/other/members)"
    let_go
else
    skip "no sqlite3 for Python"
fi
run "$top_builddir/examples/shards" x
expect "shards: usage" 64 "$status"

# The unit: what systemd would run, with its words put in, does run; and tells that it is ready.
unit=$top_srcdir/examples/zkl-standby@.service
line=$(sed -n 's/^ExecStart=//p' "$unit")
expect_match "one line starts it" '^/usr/bin/zkl elect [^'$'\n'']+$' "$line"
unit_words "$unit" 'echo "$ZKL_PATH $ZKL_CANDIDATE"; exit 5'
"$tools/notified" "$scratch/socket" >"$scratch/told" &
manager=$!
remember $manager
wait_until "somebody listens" grep -q listening "$scratch/told"
run env NOTIFY_SOCKET="$scratch/socket" "${words[@]}"
expect "the unit's command runs" "5:/standby/web $HOSTNAME" "$status:$out"
wait_until "all is told" grep -q STOPPING "$scratch/told"
expect "the unit's type is right: ready is told" "READY=1" "$(grep READY "$scratch/told")"
kill $manager
status_of $manager

# What systemd must not start again, and what else is no failure.
unit_value() { sed -n "s/^$1=//p" "$unit"; }
prevented=" $(unit_value RestartPreventExitStatus) "
permanent=$(sed -nE 's/^ *\{(STATUS_[A-Z]*), RETRY_(REFUSED|NEVER),.*/\1/p' "$top_srcdir/tools/failure.c" |
    while read -r name; do sed -n "s/^ *$name = \([0-9]*\),.*/\1/p" "$top_srcdir/tools/failure.h"; done)
expect "the unit is not started again after the permanent statuses" " ${permanent//$'\n'/ } " "$prevented"
expect_ending() { # WHAT STATUS YES_OR_NO WORD...
    local what=$1 wanted=$2 whether=$3 again=yes
    shift 3
    run "$@"
    [[ $prevented != *" $status "* ]] || again=no
    expect "$what: status, and whether it is started again" "$wanted $whether" "$status $again"
}
expect_ending "a wrong option" 64 no "${words[@]}" --frob
expect_ending "no COMMAND" 127 no "${words[@]:0:5}" "exec $scratch/none"
expect_ending "a COMMAND that cannot be executed" 126 no "${words[@]:0:5}" "exec $scratch"
expect_ending "a COMMAND that has failed" 5 yes "${words[@]}"
hold $E/lock
expect_ending "somebody's lock on the path" 65 yes "${words[@]:0:2}" --once $E/lock "${words[@]:3}"
let_go
run "$ZKL" --auth digest:me:secret --acl auth::cdrwa lock $E/mine true
expect_ending "no permission" 77 no "${words[@]:0:2}" $E/mine "${words[@]:3}"
"${words[@]:0:5}" "touch $scratch/runs; exec sleep 1000" 2>/dev/null &
asked=$!
remember $asked
wait_until "it runs" test -e "$scratch/runs"
kill $asked
status_of $asked
status=$?
expect "asked to end by systemd: no failure" "$(unit_value SuccessExitStatus)" $status

# What the guard needs: a cgroup to divide, and for a user without privileges the limit of real-time priorities.
expect "the unit leaves the guard what it needs" "Delegate=pids LimitRTPRIO=1" \
    "$(grep -E '^(Delegate|LimitRTPRIO|ProtectControlGroups|ProtectProc|RestrictNamespaces|RestrictRealtime)=' "$unit" | paste -sd ' ')"
# shellcheck disable=SC2317
has_started() { grep -q ^started "$scratch/lines"; }
policy_of_guard() { # LIMIT: that of sched_setscheduler(2), of the guard of an ordinary user
    local content
    rm -f "$scratch/lines"
    prlimit --rtprio="$1" "${stranger[@]}" "${words[@]:0:5}" "exec sleep 1000" --status-fd 9 2>/dev/null 9>"$scratch/lines" &
    candidate=$!
    remember $candidate
    wait_until "the command of an ordinary user runs" has_started
    read_file "/proc/$(guard_of "$(child_of $candidate)")/stat"
    # shellcheck disable=SC2086
    set -- ${content##*) }
    policy=${39}
    kill $candidate
    status_of $candidate
}
if prlimit --rtprio=1 "${stranger[@]}" chrt -r 1 true 2>/dev/null && "${stranger[@]}" "$ZKL" --version >/dev/null 2>&1; then
    policy_of_guard 0
    expect "an ordinary user's guard has no real-time priority" 0 "$policy"
    policy_of_guard "$(unit_value LimitRTPRIO)"
    expect "with the limit of the unit it has" 2 "$policy"
else
    skip "no other user, or no real-time priority for one: the guard's"
fi
finish
