# Sourced by the command-line tests: a server, counting, waiting for conditions. Each script can be
# run alone: ZKL is the command; ZKL_SERVER starts a throwaway server around the script, or
# ZKL_CONNECT alone names one that is there.
# shellcheck shell=bash

set -u
export LC_ALL=C.UTF-8
# script(1) and `zkl lock -c` run it. A dash would die of the Ctrl-C that its command answers.
export SHELL=/bin/bash
# Absolute, since scripts go elsewhere.
top_builddir=$(realpath -s "${top_builddir:-.}")
ZKL=$(realpath -s "${ZKL:-$top_builddir/tools/zkl}")
: "${ZKL_SERVER=$top_builddir/tests/support/zkl-server}"
: "${ADMIN:=$top_builddir/tests/cli/zk-admin}"
export ZKL ADMIN
tools=$top_builddir/tests/cli # gate, stamp, linger

server_options=() # a script may want others
reap_ms=86400000  # an empty container goes by then, and with it who may do what there
# shellcheck source=tests/support/count.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/count.sh"

# Whether the watchdog's limit has passed without a step: a loop that waits then gives up.
is_late() {
    [ -n "${ZKL_PROGRESS-}" ] && [ -e "$ZKL_PROGRESS.late" ]
}

if [ ! -x "$ZKL" ]; then
    fail "zkl is no program: is top_builddir the folder of a build?" "$ZKL"
    finish
fi

# Starts the script again with a server around it, unless that has been done. The environment's own
# ZKL_CONNECT is not trusted while we can have a server of our own: it may be somebody's.
need_server() {
    local status
    if [ "${ZKL_CLI_INSIDE-}" != "$0" ] && [ -x "$ZKL_SERVER" ]; then
        ZKL_CLI_INSIDE=$0 "$ZKL_SERVER" "${server_options[@]}" --java "-Dznode.container.checkIntervalMs=$reap_ms" -- bash "$0"
        status=$?
        [ "$status" -eq 69 ] || exit "$status"
        no_server
    elif [ -z "${ZKL_CONNECT-}" ]; then
        no_server
    fi
}

# Its first line, in $content: without a process of its own, as whoever waits for a condition reads
# the same files again and again.
read_file() { # FILE
    { read -r content <"$1"; } 2>/dev/null
}

# The child of ours that is the server: we started it, by way of the program around this script.
server_pid() {
    local stat content
    for stat in /proc/[0-9]*/stat; do
        read_file "$stat" || continue
        [[ $content = *"(java) "* ]] || continue
        # shellcheck disable=SC2086
        set -- ${content##*) }
        [ "$2" = "$PPID" ] && echo "${content%% *}"
    done
}

no_server() {
    missing "a server"
    finish
}

# A filter of LINE,LINE,... told of a lost lock: both zkl and its guard kill the command then, and say
# so afterwards. Where zkl was faster the guard may say first how it ended.
kill_told_first() {
    sed -E 's/(^|,)ended 137,(ending KILL( [0-9]+)?)(,|$)/\1\2,ended 137\4/'
}

# Everything a script leaves in the background is ended with it, each by its own id.
begin() {
    # Commands record, too, which errors they saw: tests/seen/seen.c. What records is not instrumented, and takes
    # nothing of a sanitizer's.
    if [ -n "${ZKL_SEEN-}" ]; then
        export LD_PRELOAD="${ZKL_SEEN_PRELOAD-$top_builddir/tests/seen/.libs/libpreload.so}"
        export ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS-}"
    fi
    scratch=$(mktemp -d)
    mkfifo "$scratch/.silent" # what nobody writes to
    background=()
    trap end_of_script EXIT
}

# When the process began: with its id that names it for ever, as an id alone does not.
born() { # PID
    local content
    read_file "/proc/$1/stat" || return
    # shellcheck disable=SC2086
    set -- ${content##*) }
    echo "${20}"
}

# To be ended with the script, if it has not ended by then.
remember() { # PID...
    local pid
    for pid; do background+=("$pid $(born "$pid")"); done
}

end_of_script() {
    local one pid time
    for one in "${background[@]}"; do
        read -r pid time <<<"$one"
        [ -z "$time" ] || [ "$(born "$pid")" != "$time" ] || kill -9 "$pid" 2>/dev/null
    done
    rm -rf "$scratch"
}

# A machine that is slow to connect is no trouble.
without_outages() { # FILE
    grep -vE '^zkl: (no connection for |.*: connected again after )' "$1"
}

# Runs a command to its end; its status, output and messages are in these three.
run() { # COMMAND...
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    out=$(<"$scratch/out")
    err=$(<"$scratch/err")
    [[ $err != *"zkl: no connection for "* ]] || err=$(without_outages "$scratch/err")
}

expect() { # WHAT WANTED FOUND
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted: $2"$'\n'"found:  $3${err:+$'\n'stderr: $err}"; fi
}

expect_match() { # WHAT REGEX TEXT
    if [[ $3 =~ $2 ]]; then pass "$1"; else fail "$1" "wanted a match of: $2"$'\n'"found: $3"; fi
}

# shellcheck disable=SC2317
lines() { # FILE NUMBER
    [ "$(wc -l <"$scratch/$1")" -ge "$2" ]
}

# Listens into $scratch/free, and into $scratch/stalled, which nobody reads until unstall.
stall() { # ARG...
    mkfifo "$scratch/pipe"
    exec 7<>"$scratch/pipe"
    "$ZKL" "$@" >"$scratch/pipe" 2>"$scratch/stalled.err" 7>&- &
    stalled=$!
    "$ZKL" "$@" >"$scratch/free" 2>"$scratch/free.err" 7>&- &
    free=$!
    remember "$stalled" "$free"
}
unstall() {
    cat "$scratch/pipe" >"$scratch/stalled" &
    remember $!
    exec 7>&-
}

# Runs zkl and expects a status, silence on stdout, and one line on stderr that names something.
refused() { # WHAT STATUS REGEX ARG...
    local what=$1 wanted=$2 regex=$3
    shift 3
    run "$ZKL" "$@"
    if [ "$status" = "$wanted" ] && [ -z "$out" ] && [[ $err != *$'\n'* && $err = "zkl: "* ]] &&
        [[ $err =~ $regex ]]; then
        pass "$what"
    else
        fail "$what" "wanted $wanted and $regex"$'\n'"found $status and: $err"$'\n'"stdout: $out"
    fi
}

# 50 ms, and no process for it; up to 200 ms where a condition is long in coming, which may be a command that asks the server.
pause() { # [TIMES]: how often one has paused
    local ms=$((50 + ${1:-0} * 5)) time
    printf -v time 0.%03d $((ms < 200 ? ms : 200))
    read -r -t "$time" _ <>"$scratch/.silent" || true
}

# Waits for a condition, which is a step when it has come. Only the watchdog has a limit.
wait_until() { # WHAT COMMAND...
    local what=$1 pauses=0
    shift
    until "$@" >/dev/null 2>&1; do
        if is_late; then
            fail "$what" "this does not come: $*"
            return 1
        fi
        pause $((pauses++))
    done
    step
}

# What comes to be so, and need not be so at once.
expect_soon() { # WHAT WANTED COMMAND...
    local what=$1 wanted=$2 found pauses=0
    shift 2
    until
        found=$("$@")
        [ "$found" = "$wanted" ] || is_late
    do pause $((pauses++)); done
    expect "$what" "$wanted" "$found"
}

# By itself, as some commands are given it.
gone() { # PID: ended, reaped or not
    local content
    { read -r content <"/proc/$1/stat"; } 2>/dev/null || return 0
    [[ ${content##*) } = [ZX]* ]]
}

# Asks again and again, for a second request counts only some time after the first.
insist() { # WHAT SIGNAL PID COMMAND...: until that succeeds
    local what=$1 signal=$2 pid=$3
    shift 3
    # shellcheck disable=SC2317
    asked_again() { "$@" || { kill -"$signal" "$pid" && false; }; }
    wait_until "$what" asked_again "$@"
}

in_state() { # PID LETTER
    local content
    read_file "/proc/$1/stat" && [[ $content = *") $2 "* ]]
}

# kill() returns when one thread has been told: the others may run on for a moment.
stands_still() { # PID...
    local pid task content
    for pid; do
        for task in "/proc/$pid/task/"[0-9]*/stat; do
            ! read_file "$task" || [[ ${content##*) } = [TZX]* ]] || return 1
        done
    done
}
freeze() { # PID...
    kill -STOP "$@"
    wait_until "$* stands still" stands_still "$@"
}

# A user that nobody else is: a limit on a user's processes counts those of $stranger alone.
stranger=(setpriv --reuid=$((200000 + $$)) --regid=$((200000 + $$)) --clear-groups)

# Whether zkl runs as that, and such a limit is kept.
stranger_is_limited() {
    local limited=("${stranger[@]}" prlimit --nproc=1:)
    "${stranger[@]}" "$ZKL" --version && "${limited[@]}" true && ! "${limited[@]}" sh -c '(:); :'
} >/dev/null 2>&1

# By the same user: in a container root may be refused.
limit_forks() { # PID
    "${stranger[@]}" prlimit --pid "$1" --nproc=1:
}
allow_forks() { # PID
    "${stranger[@]}" sh -c 'prlimit --pid "$1" --nproc="$(prlimit --pid "$1" --nproc --noheadings --output HARD | tr -d " ")":' sh "$1"
}

# The guard of a tool.
guard_of() { # PID
    local stat content
    for stat in /proc/[0-9]*/stat; do
        read_file "$stat" && [[ $content = *"(lock-guard) "?" $1 "* ]] && echo "${content%% *}"
    done
}

# Waits for a process of this shell to end, and gives its status.
status_of() { # PID
    local status
    { # bash tells here which signal ended it
        wait_until "process $1 ends" gone "$1" || return 1
        wait "$1"
        status=$?
    } 2>/dev/null
    # bash gives -1 for a child of the shell that this one is a copy of.
    if [ "$status" -lt 0 ]; then
        echo "status_of: a shell in \$( ) or ( ) cannot wait for a process $1 that began outside" >&2
        return 1
    fi
    return "$status"
}

# A process that retains, and obeys the words of tests/cli/retain.c.
retain() { # PATH
    coproc RETAIN { "$tools/retain" "$ZKL_CONNECT" "$1"; }
    retain=$RETAIN_PID
    remember "$retain"
}

retainer() { # WORD
    local line
    echo "$1" >&"${RETAIN[1]}"
    read -r line <&"${RETAIN[0]}" && [ "$line" = success ]
}

retainer_ends() {
    exec {RETAIN[1]}>&-
    status_of "$retain"
}

contenders() { # PATH: how many
    "$ZKL" ls "$1" --json 2>/dev/null | grep -c '"node"'
}

has_contenders() { # PATH NUMBER
    [ "$(contenders "$1")" = "$2" ]
}

expect_no_node() { # WHAT PATH
    if wait_until "$1" has_contenders "$2" 0; then pass "$1"; fi
}

# A holder in the background whose command waits for let_go: $holder is its process, $command that
# of the command.
hold() { # PATH [OPTION...]
    rm -f "$scratch/ready" "$scratch/letgo"
    mkfifo "$scratch/letgo"
    # shellcheck disable=SC2016
    "$ZKL" lock "$@" -- sh -c 'echo $$ >"$1/ready.new"; mv "$1/ready.new" "$1/ready"; read x <"$1/letgo"' \
        sh "$scratch" 2>"$scratch/holder.err" &
    holder=$!
    remember "$holder"
    wait_until "the holder of $1 holds" test -e "$scratch/ready" || return 1
    # For the scripts.
    # shellcheck disable=SC2034
    command=$(<"$scratch/ready")
}

let_go() { # the holder's status
    echo >"$scratch/letgo"
    status_of "$holder"
}

# A holder in the background at $L, by a name, whose command shows a variable in NAME.has and runs
# until there is NAME.go.
hold_as() { # VARIABLE NAME OPTION...
    local variable=$1 name=$2
    shift 2
    # shellcheck disable=SC2016
    "$ZKL" lock "$@" --name "$name" "$L" sh -c \
        'printenv "$2" >"$1.has"; until [ -e "$1.go" ]; do sleep 0.02; done' sh "$scratch/$name" "$variable" &
    remember $!
}

runs() { # NAME
    [ -s "$scratch/$1.has" ]
}

# The contenders in line at $L: state, kind and name, a line each.
states() {
    "$ZKL" ls --json "$L" | sed -nE 's/.*"state": "([a-z]+)".*"kind": "([a-z]+)".*"owner": "([a-z0-9]+)".*/\1 \2 \3/p'
}

# A candidate in the background, $candidate, whose command, after the options, runs until it is told
# to end by TERM or by a file. What happens is in the files ID.terms (one line for each: process,
# token), ID.termed, ID.lines and ID.err.
lead() { # PATH ID [OPTION...]
    local path=$1 id=$2
    shift 2
    rm -f "$scratch/$id".*
    # shellcheck disable=SC2016
    "$ZKL" elect "$path" "$id" --status-fd 9 "$@" -- bash -c '
        trap "echo >>$1.termed; exit" TERM
        echo "$$ $ZKL_TOKEN" >>"$1.terms"
        until [ -e "$1.quit" ]; do sleep 0.05; done; exit 3' bash "$scratch/$id" \
        9>>"$scratch/$id.lines" 2>"$scratch/$id.err" &
    candidate=$!
    remember "$candidate"
}

has_led() { # ID TIMES
    [ "$(wc -l <"$scratch/$1.terms")" -ge "$2" ]
}

# The process of the present, or last, term's command.
leading_command() { # ID
    tail -n 1 "$scratch/$1.terms" | cut -d' ' -f1
}

# The file that a page shows in that language.
snippet() { # LANGUAGE PAGE
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2" | sed '1d;$d'
}

# What systemd starts for a unit's instance web, by this zkl: $words.
unit_words() { # UNIT COMMAND
    local line i
    line=$(sed -n 's/^ExecStart=//p' "$1")
    line=${line//%i/web}
    read -r -a words <<<"${line//%H/$HOSTNAME}"
    words[0]=$ZKL
    for i in "${!words[@]}"; do
        # shellcheck disable=SC2016
        [ "${words[i]}" != '${COMMAND}' ] || words[i]=$2
    done
}

# The process of a candidate's present term.
child_of() { # PID
    local stat content
    for stat in /proc/[0-9]*/stat; do
        read_file "$stat" && [[ ${content##*) } = ?" $1 "* ]] && echo "${content%% *}"
    done
}

# The processes that end or close the session of a zkl in whose environment SESSION_OF is NAME.
closing_for() { # NAME
    local process content
    for process in /proc/[0-9]*; do
        read_file "$process/comm" && [ "$content" = zkl-closing ] &&
            tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "SESSION_OF=$1" && echo "${process#/proc/}"
    done
}

# Whether linger works.
can_trace() {
    "$tools/linger"
}

# Holds the `linger FILE` that is to come.
hold_at_exit() { # FILE
    rm -f "$1" "$1".{pid,held}
    "$tools/linger" "$1" hold &
    remember $!
}

# A proxy before the server: $gate is its address, and gate says what it is to do.
begin_gate() {
    coproc "$tools/gate"
    # shellcheck disable=SC2034
    read -r gate <&"${COPROC[0]}"
}

gate() { # silence|deafen|cut|refuse|mute|heal|await|undeleted
    local answer
    echo "$1" >&"${COPROC[1]}"
    read -r answer <&"${COPROC[0]}"
    [ "$answer" = ok ] || fail "the gate obeys: $1" "$answer"
}
