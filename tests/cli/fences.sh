#!/bin/bash
# The stores of docs/guide/fences.md, as that page shows them, refuse what a holder writes that wakes late. ZKL_STORES
# says which: file, sqlite, redis, postgres; ./dev soak has all. Their servers are private, and end with this script.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
: "${top_srcdir:=$PWD}" "${ZKL_STORES:=file sqlite}"
page=$(cd "$top_srcdir" && pwd)/docs/guide/fences.md
L=/reports
export scratch ZKL_STORES
command -v python3 >/dev/null || { missing python3; finish; }

# What a section of the page shows: each program is a file by the name before it, and the lines of a shell are commands.
take_section() { # TITLE FOLDER
    mkdir "$2"
    awk -v title="## $1" -v folder="$2" '
        /^## / { mine = $0 == title }
        !mine { next }
        /^```./ { file = folder "/" name; next }
        /^```$/ { file = ""; next }
        file { print >file; next }
        match($0, /`[^`]*`:$/) { name = substr($0, RSTART + 1, RLENGTH - 3) }
        /^    / { print substr($0, 5) >(folder "/commands") }' "$page"
}

# Runs each command of a store's section. Prints for each of them a line: its status, and what it says of an error.
offer() { # STORE FENCE TEXT
    local line said
    while IFS= read -r line; do
        # shellcheck disable=SC2086 # words
        said=$(cd "$scratch/$1" && env $DANISH fence="$2" text="$3" sh -c "$line" 2>&1 >/dev/null </dev/null)
        echo "$? ${said//$'\n'/ }"
    done <"$scratch/$1/commands"
}

offer_to_all() { # FENCE TEXT
    for store in $ZKL_STORES; do offer "$store" "$1" "$2" >"$scratch/$store/$2"; done
}
declare -f offer offer_to_all >"$scratch/offers" # for other shells

text_in() { # STORE
    cd "$scratch/$1" || return
    case $1 in
    file) cat report ;;
    sqlite)
        python3 -c 'import sqlite3; print(*sqlite3.connect("reports.db").execute("SELECT text FROM reports").fetchone())'
        ;;
    redis) redis-cli HGET reports text ;;
    postgres) psql -X -A -t -c 'SELECT text FROM reports' ;;
    esac
}

next_fence() { # FENCE [TOKENS]
    printf '%016x%016x' $((16#${1:0:16} + ${2-1})) 0
}

expect_answers() { # WHAT REGEX ANSWERS: each is one
    if [ -n "$3" ] && ! grep -qvE "$2" <<<"$3"; then pass "$1"; else fail "$1" "wanted: $2"$'\n'"found: $3"; fi
}

expect_text() { # WHAT STORE TEXT
    expect "$2: $1" "$3" "$(text_in "$2" 2>&1)"
}

expect_written() { # WHAT STORE ANSWERS TEXT
    expect_answers "$2: $1" '^0 $' "$3"
    expect_text "$1: its text stands" "$2" "$4"
}

expect_stale() { # WHAT STORE FENCE ANSWERS TEXT
    local said
    case $2 in
    file) said="75 report: the fence $3 is stale$" ;;
    sqlite) said="1 .*IntegrityError: the fence is stale$" ;;
    redis) said="1 STALE the fence $3 is stale" ;;
    postgres) said="3 .*ERROR:  reports: the fence $3 is stale" ;;
    esac
    expect_answers "$2: $1: refused" "^$said" "$4"
    expect_text "$1: nothing has changed" "$2" "$5"
}

# Servers have a folder of their own, and run as nobody: PostgreSQL refuses root.
servers=$(mktemp -d) running=() unprivileged=()
if [ "$(id -u)" = 0 ]; then
    unprivileged=(setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups)
    chown nobody "$servers"
fi

# All compare in a language in which "aa" comes after "b", if they compare words.
DANISH=
if localedef -i da_DK -f UTF-8 "$servers/da_DK.UTF-8" 2>/dev/null; then
    DANISH="LC_ALL=da_DK.UTF-8 LOCPATH=$servers"
    chmod a+rx "$servers/da_DK.UTF-8"
else
    missing locales "Danish"
fi
export DANISH

end_servers() {
    [ ${#running[@]} -eq 0 ] || { kill -INT "${running[@]}"; wait "${running[@]}"; }
    rm -rf "$servers"
}
trap 'end_servers 2>/dev/null; end_of_script' EXIT

launch_server() { # COMMAND...
    # shellcheck disable=SC2086 # words
    (cd "$servers" && exec "${unprivileged[@]}" env $DANISH setpriv --pdeathsig INT "$@") >"$scratch/$1.log" 2>&1 &
    remember $!
    running+=($!)
}

begin_file() { :; }

script_sqlite() { # SQL
    python3 -c 'import sqlite3, sys; sqlite3.connect("reports.db").executescript(sys.argv[1])' "$1"
}

begin_sqlite() {
    script_sqlite "$(<fences.sql)"
}

begin_redis() {
    REDIS_CLI=$(command -v redis-cli) && command -v redis-server >/dev/null || return
    export REDIS_CLI REDIS_SOCKET=$servers/redis.sock
    # The page has no address.
    mkdir "$scratch/bin"
    printf '#!/bin/sh\nexec "$REDIS_CLI" -s "$REDIS_SOCKET" "$@"\n' | install /dev/stdin "$scratch/bin/redis-cli"
    PATH=$scratch/bin:$PATH
    launch_server redis-server --port 0 --unixsocket "$REDIS_SOCKET" --dir "$servers" --save '' --appendonly no
    wait_until "Redis serves" redis-cli -e PING
}

begin_postgres() {
    local programs=(/usr/lib/postgresql/*/bin)
    PATH=${programs[-1]}:$PATH
    command -v initdb >/dev/null && command -v psql >/dev/null || return
    (cd "$servers" && "${unprivileged[@]}" initdb -D "$servers/data" -U postgres -A trust -N -E UTF8 \
        --locale-provider=icu --icu-locale=da >"$scratch/initdb.log") || return
    launch_server postgres -D "$servers/data" -k "$servers" -c listen_addresses= -F
    export PGHOST=$servers PGUSER=postgres PGDATABASE=postgres
    wait_until "PostgreSQL serves" pg_isready -q
    psql -X -q -v ON_ERROR_STOP=1 -f fences.sql
}

declare -A title=([file]="A file" [sqlite]=SQLite [redis]=Redis [postgres]=PostgreSQL)
take_section "The fence" "$scratch/fence"
export ZKL_TOKEN=18446744073709551615
eval "$(<"$scratch/fence/commands")"
expect "the fence of a shell" ffffffffffffffff0000000000000000 "${fence-}"
unset ZKL_TOKEN
for store in $ZKL_STORES; do
    take_section "${title[$store]}" "$scratch/$store"
    cd "$scratch/$store" || finish
    "begin_$store" || { missing "$store"; finish; }
done
cd "$scratch" || finish

# A holder writes, and stands still with its zkl and its guard, as on a machine that is stopped. The next one writes. The
# command of the first one wakes before its guard.
"$ZKL" --session-timeout 9 lock $L -- bash -c '
    . ./offers
    eval "$(<fence/commands)"
    offer_to_all "$fence" first
    echo "$$ $fence" >ready.new; mv ready.new ready
    until [ -e wake ]; do sleep 0.02; done
    offer_to_all "$fence" late
    : >woken' 2>"$scratch/holder.err" &
holder=$!
remember "$holder"
wait_until "the first one has written" test -e ready || finish
read -r command first <ready
guard=$(guard_of "$holder")
remember "$guard" "$command"
for store in $ZKL_STORES; do expect_written "a holder writes" "$store" "$(<"$store/first")" first; done
freeze "$guard" "$holder" "$command"
run "$ZKL" lock $L -- bash -c '. ./offers; eval "$(<fence/commands)"; offer_to_all "$fence" next; echo "$fence"'
next=$out
expect "the next one has the lock" "0:" "$status:$err"
expect "its fence is higher" yes "$([[ $next > $first ]] && echo yes)"
for store in $ZKL_STORES; do expect_written "the next one writes" "$store" "$(<"$store/next")" next; done
: >wake
kill -CONT "$command"
wait_until "the first one wakes" test -e woken
for store in $ZKL_STORES; do expect_stale "a holder that wakes late" "$store" "$first" "$(<"$store/late")" next; done
kill -CONT "$guard" "$holder"
status_of "$holder"
expect "the first one has lost its lock" 75 "$?"

# Two turns of one token.
"$top_builddir/examples/retained" "$ZKL_CONNECT" $L >turns &
retained=$!
remember $retained
turns_of_a_token() {
    awk '$2 == "token" { if ($3 == token) { print fence, $1; found = 1; exit } token = $3; fence = $1 }
        END { exit !found }' turns
}
wait_until "a token has a second turn" turns_of_a_token
read -r turn later < <(turns_of_a_token)
kill -TERM $retained
status_of $retained
expect "one token" "${turn:0:16}" "${later:0:16}"
for store in $ZKL_STORES; do
    expect_written "a turn writes" "$store" "$(offer "$store" "$later" turn)" turn
    expect_written "an equal fence writes again" "$store" "$(offer "$store" "$later" again)" again
    expect_stale "an earlier turn of that token" "$store" "$turn" "$(offer "$store" "$turn" late)" again
    expect_stale "an earlier token" "$store" "$next" "$(offer "$store" "$next" late)" again
done

# A fence that is passed for reading counts. Its command is the first of two.
above=$(next_fence "$later")
for store in $ZKL_STORES; do
    mapfile -t lines <"$store/commands"
    [ ${#lines[@]} -gt 1 ] || continue
    run env -C "$store" fence="$above" sh -c "${lines[0]}"
    expect "$store: the next one reads" "0:again:" "$status:$out:$err"
    expect_stale "who was there before it was read" "$store" "$later" "$(offer "$store" "$later" late)" again
done

# Languages have orders of their own.
below=${above:0:16}00000000000000aa above=${above:0:16}00000000000000b0
for store in $ZKL_STORES; do
    expect_written "with aa" "$store" "$(offer "$store" "$below" aa)" aa
    expect_written "with b, which is higher" "$store" "$(offer "$store" "$above" again)" again
    expect_stale "with aa" "$store" "$below" "$(offer "$store" "$below" late)" again
done

# What is no fence: a token in decimal would be compared as text, too.
no_fence='^(64 .* is no fence|1 .*CHECK constraint failed|1 BADFENCE|3 .*violates check)'
for store in $ZKL_STORES; do
    for bad in "" $((16#${above:0:16})) "${above/0/F}" "${above/0/g}" "${above}0" "${above:1}" "$above "; do
        expect_answers "$store: \"$bad\" is no fence" "$no_fence" "$(offer "$store" "$bad" bad)"
    done
    expect_text "nothing has changed" "$store" again
done

# Many at once: the highest fence wins.
competitor() { # STORE NUMBER
    local i fence
    RANDOM=$2
    for ((i = 0; i < 4; i++)); do
        fence=$(printf '%016x%016x' $((16#${above:0:16} + RANDOM)) "$RANDOM")
        echo "$fence"
        offer "$1" "$fence" "$fence" >>"$1/answers.$2"
    done >"$1/tried.$2"
}
highest_of() { # STORE
    sort "$1"/tried.* | tail -n 1
}
for store in $ZKL_STORES; do
    competitors=()
    for number in 1 2 3 4; do
        competitor "$store" $number &
        remember $!
        competitors+=($!)
    done
    wait "${competitors[@]}"
    expect "$store: of many at once none fails" "" "$(grep -hvE '^0 |is stale' "$store"/answers.*)"
    expect_text "of many at once the highest fence wins" "$store" "$(highest_of "$store")"
done

# A step of the file is one: it first waits, and then compares. Its fence is there before its text.
one_step_of_a_file() {
    local writer below highest lock
    below=$(highest_of file)
    highest=$(next_fence "$below")
    exec {lock}>>file/report.lock
    flock "$lock"
    (exec {lock}>&-; offer file "$below" late) >waits &
    writer=$!
    remember $writer
    wait_until "a writer waits for the one before it" grep -qE -- "-> FLOCK .*:$(stat -c %i file/report.lock) " /proc/locks
    echo "$highest" >file/report.fence
    echo passed >file/report
    exec {lock}>&-
    status_of $writer
    expect_stale "what has waited" file "$below" "$(<waits)" passed

    sed -i 1d file/commands # what reads passes the fence, too
    below=$highest
    highest=$(next_fence "$below")
    mkdir crashes
    printf '#!/bin/sh\nif [ "$2" = report ]; then kill -9 $PPID; else exec %s "$@"; fi\n' "$(command -v mv)" |
        install /dev/stdin crashes/mv
    expect_answers "file: a crash before the text is there" '^137 ' \
        "$(PATH=$scratch/crashes:$PATH offer file "$highest" crashed)"
    expect_text "the old text stands" file passed
    expect_stale "who was there before the crash" file "$below" "$(offer file "$below" late)" passed
}
[[ " $ZKL_STORES " != *" file "* ]] || one_step_of_a_file

# A fence is passed with what is written, or not at all.
one_step_of_sqlite() {
    local highest
    highest=$(highest_of sqlite)
    cd sqlite || return
    script_sqlite 'ALTER TABLE reports RENAME TO away'
    expect_answers "sqlite: a write that fails" '^1 .*no such table: reports' "$(offer sqlite "$(next_fence "$highest")" failed)"
    script_sqlite 'ALTER TABLE away RENAME TO reports'
    cd ..
    expect_written "and has not passed its fence" sqlite "$(offer sqlite "$highest" kept)" kept
}
[[ " $ZKL_STORES " != *" sqlite "* ]] || one_step_of_sqlite

# A writer of PostgreSQL that is within its transaction, to which it is told what comes next by $to_writer.
begin_transaction() { # FENCE TEXT: it has passed its fence
    rm -f within passed
    mkfifo within
    psql -X -q -v ON_ERROR_STOP=1 -v fence="$1" -v text="$2" <within >"writer.$2" 2>&1 &
    writer=$!
    remember $writer
    exec {to_writer}>within
    (sed '/^INSERT/,$d' postgres/write.sql; echo '\! touch passed') >&"$to_writer"
    wait_until "a writer has passed its fence, or has ended" eval '[ -e passed ] || gone $writer'
    expect "postgres: a writer has passed its fence" yes "$([ -e passed ] && echo yes)"
    [ -e passed ]
}
is_waiting_for_a_lock() {
    [ "$(psql -X -A -t -c "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")" = 1 ]
}
end_transaction() { # its status
    sed -n '/^INSERT/,$p' postgres/write.sql >&"$to_writer"
    exec {to_writer}>&-
    status_of $writer
}

within_a_transaction() {
    local fences offerer highest i
    highest=$(highest_of postgres)
    for ((i = 1; i <= 4; i++)); do fences[i]=$(next_fence "$highest" "$i"); done
    begin_transaction "${fences[1]}" still || return
    (exec {to_writer}>&-; offer postgres "${fences[2]}" next) >waits &
    offerer=$!
    remember $offerer
    status_of $offerer
    expect_written "after a writer that has stood still" postgres "$(<waits)" next
    end_transaction
    expect "postgres: who stood still cannot go on" 2 "$?"
    expect_match "postgres: and hears why" "idle-in-transaction timeout" "$(<writer.still)"
    expect_text "nothing has changed" postgres next

    sed -i '/^SET LOCAL/d' postgres/write.sql # what now stands still may do so for long
    begin_transaction "${fences[4]}" last || return
    (exec {to_writer}>&-; offer postgres "${fences[3]}" late) >waits &
    offerer=$!
    remember $offerer
    wait_until "a late writer waits" is_waiting_for_a_lock
    end_transaction
    expect "postgres: the transaction ends" "0:" "$?:$(<writer.last)"
    status_of $offerer
    expect_stale "who has waited for a higher fence" postgres "${fences[3]}" "$(<waits)" last
}
[[ " $ZKL_STORES " != *" postgres "* ]] || within_a_transaction
finish
