# Sourced by the tests with other libraries, after tests/cli/lib.sh: starts and asks their programs,
# which obey one command a line and answer by one line. With the subcommand `locks` all of them take:
#
#   hold PATH KIND         acquires: "ok TOKEN NODE"; the token is the node's czxid
#   try PATH KIND          the same if nobody is to be waited for, else "busy"
#   release                what was taken: "ok"
#   list PATH KIND         "ok", and the contenders that the library sees, in its words
#   contend PATH KIND COUNTER HISTORY SECONDS GRANTS FENCED
#                          begins to increment under the lock in a thread: "ok" at once
#   join                   waits for the end of that: "ok GRANTS ERRORS"
#   stop                   the same, after the present turn
#   now                    "ok NANOSECONDS" by CLOCK_MONOTONIC
#
#   bset PATH, bremove PATH, bwait PATH MS       a barrier: "ok", or "late" when it was not opened
#   denter PATH MEMBERS MS, dleave MS            a double barrier: the same
#   add PATH 4|8 SECONDS   increments a counter of so many bytes: "ok INCREMENTS"
#   gjoin PATH ID DATA, gleave                   Java and zkl: a member of a group: "ok"
#   glist PATH             the members that it sees: "ok ID=DATA,..."; Java sees those of its own group
#   pnode PATH ID DATA, pdrop                    Java alone: Curator's PersistentNode of that name
#   pjoin PATH ID, gleave, plist PATH            kazoo and zkl: a party: "ok", "ok ID,ID..."
#   gset PATH ID DATA      zkl alone: other data
#   blind PATH 8 SECONDS   zkl's alone: reads and writes it in two steps
#
# Java alone takes `revoke NODE`, Java and zkl `asked` ("ok COUNT": how often the holder was asked to give
# way; a curator-revocable, or a zkl since `heed`), Python alone `persist PATH KIND` (a hold that outlives its session),
# Python and zkl `number PATH` (zkl: of 8 bytes),
# zkl alone `wanted` ("ok COUNT": how often it heard since `heed` that another waits), `state`, `heed` and `fenced PATH DATA` (a node made in a fenced transaction).
#
# Contending ends when SECONDS have passed and GRANTS were had, each of which is a step for the watchdog, or when
# that is late. COUNTER is a file with
# three numbers, the last token, the count, and which turn of that token it was (0 but for zkl-retain;
# it may be left out); reading and writing it are two steps, now and then with a pause between. A kind of
# -read reads twice instead, always with a pause, and must see the same; one of -numbered has permits of
# four and tells their numbers, a bit for each, in place of the count; one of -permitN reads, too, and has M permits at once if it is of -permitNxM. With FENCED 1 a step with a lower
# token than the last, or the same and a lower turn, is refused, which is an error.
# HISTORY gets a line at the beginning and, unless there is an error, at the end of each turn:
#   NANOSECONDS 0 PID begin|write|read|numbers COUNT TOKEN TURN KIND
# with the count found and the one left: an event as in tests/history/history.h, and the kind. Errors are told on
# standard error too.
#
# Kinds: zkl and, with other options, zkl-kazoo, zkl-retain, which contends by several
# threads, zkl-read, zkl-write, zkl-numbered, zkl-multi and zkl-multi-timed, which gives up after 0.3 s, the two at PATH and PATH-and
# zkl-permit3 and others in the layout of Curator's semaphore, zkl-own-permit3 and another in zkl's own
# (zkl_lock.c); curator-permitN, curator-permitNxM and kazoo-permitN, of semaphores with that limit;
# curator-multi and curator-multi-reversed at the same paths (MultiHold.java); curator, curator-revocable,
# curator-read, curator-write, apache (ZooKeeper's WriteLock; Locks.java); kazoo and those of
# peer_locks.py. PEER_SESSION_MS is the session timeout of them all.
# shellcheck shell=bash disable=SC2154

here=$(dirname "${BASH_SOURCE[0]}")
curator=/usr/share/java/curator-recipes.jar # names all that it needs
write_lock=/usr/share/java/zookeeper-recipes-lock.jar
javac_options=(-J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC) # a short run
declare -A to_peer from_peer pid_of_peer

# Other programs of others: nothing for the sanitizers to see.
need_others() {
    [ -n "${ZKL_INSTRUMENTED-}" ] || return 0
    skip "other libraries: not with instrumented builds"
    finish
}

lacking() { # WHAT
    missing "$1"
    finish
}

need_curator() {
    need_others
    command -v javac >/dev/null || lacking javac
    [ -r $curator ] || lacking $curator
    [ -r $write_lock ] || lacking $write_lock
}

# Not every Python on a machine is the one that Debian's packages are for.
need_kazoo() {
    need_others
    for python in python3 /usr/bin/python3; do
        "$python" -c "import kazoo" 2>/dev/null && return
    done
    lacking kazoo
}

# Once for all scripts: whoever comes first compiles, the others wait for that.
build_peer() {
    local classes=$top_builddir/tests/interop/classes lock
    class_path=$curator:$write_lock:/usr/share/java/slf4j-simple.jar:$classes
    mkdir -p "$classes"
    exec {lock}>"$classes/lock"
    flock "$lock"
    status=0 err=
    if [ ! -e "$classes/made" ] || [ -n "$(find "$here" -maxdepth 1 \( -name '*.java' -o -type d \) -newer "$classes/made")" ]; then
        touch "$classes/begun"
        run javac "${javac_options[@]}" -Xlint:all,-classfile,-path -Werror -cp "$class_path" -d "$classes" "$here"/*.java
        [ "$status" -ne 0 ] || mv "$classes/begun" "$classes/made"
    fi
    exec {lock}>&-
    expect "the Java programs compile" "0:" "$status:$err"
    [ "$status" -eq 0 ] || finish
}

# The program about to run closes its ends of the others' lines. With them open, the others would
# not end when we close ours.
hang_up() {
    local fd
    for fd in "${to_peer[@]}" "${from_peer[@]}"; do exec {fd}>&-; done
}

# Leaves its process in $peer.
start_program() { # NAME COMMAND...
    local name=$1 in out
    shift
    mkfifo "$scratch/$name.in" "$scratch/$name.out"
    (hang_up; exec "$@") <"$scratch/$name.in" >"$scratch/$name.out" 2>"$scratch/$name.err" &
    peer=$!
    remember "$peer"
    exec {in}>"$scratch/$name.in" {out}<"$scratch/$name.out"
    to_peer[$name]=$in
    from_peer[$name]=$out
    pid_of_peer[$name]=$peer
}

start_peer() { # NAME SUBCOMMAND ARG...
    local name=$1
    shift
    start_program "$name" java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$class_path" Peer "$ZKL_CONNECT" "$@"
}

start_kazoo() { # NAME SUBCOMMAND ARG...
    local name=$1
    shift
    start_program "$name" "$python" -B "$here/peer.py" "$ZKL_CONNECT" "$@"
}

# The number in its name chooses which of these it is.
zkl_peers=("${ZKL_PEER:-$top_builddir/tests/interop/zkl-peer}")
start_zkl() { # NAME
    start_program "$1" "${zkl_peers[${1//[!0-9]/} % ${#zkl_peers[@]}]}" "$ZKL_CONNECT" locks
}

# A server, and all programs ready to be started, with sessions so long that a slow machine does not
# look as if something failed.
begin_peers() {
    need_curator
    need_kazoo
    need_server
    begin
    build_peer
    export PEER_SESSION_MS=20000
}

# All that take locks: NUMBER programs of Java's, and OTHERS of Python's and of C, or two.
start_lockers() { # NUMBER [OTHERS]
    local i
    for ((i = 1; i <= $1; i++)); do start_peer "java$i" locks; done
    for ((i = 1; i <= ${2:-2}; i++)); do
        start_kazoo "kazoo$i" locks
        start_zkl "zkl$i"
    done
}

# None of them has had to say anything but answers, and zkl, that it saw one behind it that will not
# wait.
expect_quiet() {
    local name
    for name in "${!to_peer[@]}"; do
        # Nor is it one that a busy machine connects slowly.
        expect "$name had no trouble" "" "$(without_outages "$scratch/$name.err" | grep -vE ": its recipe does not wait for the contenders here; give it another path( \(.*\))?\$")"
    done
}

# All that were started.
end_peers() {
    local name pid
    for name in "${!to_peer[@]}"; do
        pid=${pid_of_peer[$name]}
        end_peer "$name"
        status_of "$pid"
        expect "$name ends well" 0 "$?"
    done
}

is_empty() { # PATH: no child of any name, or no node, which the servers have removed
    local names
    names=$("$ADMIN" list "$1") && [ -z "$names" ]
}

expect_empty() { # WHAT PATH
    if wait_until "$1" is_empty "$2"; then pass "$1"; fi
}

# The family of programs that has a kind.
family_of() { # KIND
    case $1 in
    zkl*) echo zkl ;;
    kazoo* | none) echo kazoo ;;
    *) echo java ;;
    esac
}

tell() { # NAME COMMAND
    echo "$2" >&"${to_peer[$1]}"
}

# Its answer is in $answer. One that does not answer has nothing more to say either. A second may end within
# a line, whose blanks count.
hear() { # NAME
    local part
    answer=
    until IFS= read -r -t 1 part <&"${from_peer[$1]}"; do
        # Above 128 the second is over, else the program has ended.
        if (($? <= 128)) || is_late; then
            fail "$1 answers" "$(tail -n 3 "$scratch/$1.err")"
            finish
        fi
        answer+=$part
    done
    answer+=$part
    answer=${answer% } # of a list without names
}

ask() { # NAME COMMAND
    tell "$1" "$2"
    hear "$1"
}

end_peer() { # NAME
    local in=${to_peer[$1]} out=${from_peer[$1]}
    exec {in}>&- {out}<&-
    unset "to_peer[$1]" "from_peer[$1]" "pid_of_peer[$1]"
}

# ---- processes that contend, and what they have recorded ----

least=3 # turns of each process, however long that takes
cells=0

# The names of two processes for each kind, no process twice, and which group they are of.
choose() { # KIND... [+ KIND...]...
    local kind family group=
    local -A used=()
    names=() kinds=() groups=()
    for kind; do
        if [ "$kind" = + ]; then
            group=$((group + 1))
            continue
        fi
        family=$(family_of "$kind")
        used[$family]=$((${used[$family]:-0} + 2))
        names+=("$family$((used[$family] - 1))" "$family${used[$family]}")
        kinds+=("$kind" "$kind")
        groups+=("$group" "$group")
    done
}

# All of a group at one path, of a name that has nothing to say to any library. What the first group
# came to is in $out, the figures first, and in $status.
contend() { # SECONDS KIND... [+ KIND...]...
    local time=$1 i group path
    shift
    cells=$((cells + 1)) path=/interop/cell$cells
    choose "$@"
    turns=()
    for group in "${groups[@]}"; do
        echo "0 0" >"$scratch/counter$group"
        : >"$scratch/history$group"
    done
    for i in "${!names[@]}"; do
        group=${groups[i]}
        tell "${names[i]}" "contend $path${group:+-$group} ${kinds[i]} $scratch/counter$group $scratch/history$group $time $least 0"
    done
    for i in "${!names[@]}"; do
        hear "${names[i]}"
        [ "$answer" = ok ] || fail "${names[i]} begins" "$answer"
    done
    errors=0
    for i in "${!names[@]}"; do
        ask "${names[i]}" join
        [[ $answer =~ ^ok\ ([0-9]+)\ ([0-9]+)$ ]] || fail "${names[i]} ends" "$answer"
        turns[i]="${pid_of_peer[${names[i]}]}=${BASH_REMATCH[1]}"
        errors=$((errors + BASH_REMATCH[2]))
    done
    judge ""
}

judge() { # GROUP
    local i had=()
    for i in "${!names[@]}"; do
        if [ "${groups[i]}" = "$1" ]; then had+=("${turns[i]}"); fi
    done
    run "$python" -B "$here/judge.py" "$scratch/counter$1" "$scratch/history$1" "$least" "${had[@]}"
}
