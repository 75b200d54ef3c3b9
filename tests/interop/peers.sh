# Sourced by the tests with other libraries, after tests/cli/lib.sh: starts and asks their programs,
# which obey one command a line and answer by one line.
# shellcheck shell=bash disable=SC2154

here=$(dirname "${BASH_SOURCE[0]}")
curator=/usr/share/java/curator-recipes.jar # names all that it needs
answer_limit=90                             # seconds; only a hang reaches it
declare -A to_peer from_peer

# Other programs of others: nothing for the sanitizers to see.
need_curator() {
    if [ -n "${ZKL_INSTRUMENTED-}" ]; then
        skip "other libraries: not with instrumented builds"
        finish
    fi
    command -v javac >/dev/null && [ -r $curator ] && return
    if [ "${ZKL_REQUIRE_SERVER-}" = 1 ]; then
        fail "there is no javac or no $curator"
    else
        skip "no javac or no $curator"
    fi
    finish
}

build_peer() {
    class_path=$curator:/usr/share/java/slf4j-simple.jar:$scratch/classes
    run javac -Xlint:all,-classfile,-path -Werror -cp "$class_path" -d "$scratch/classes" "$here"/*.java
    expect "the Java programs compile" "0:" "$status:$err"
    [ "$status" -eq 0 ] || finish
}

# Leaves its process in $peer.
start_peer() { # NAME SUBCOMMAND ARG...
    local name=$1 in out
    shift
    mkfifo "$scratch/$name.in" "$scratch/$name.out"
    java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$class_path" Peer "$ZKL_CONNECT" "$@" \
        <"$scratch/$name.in" >"$scratch/$name.out" 2>"$scratch/$name.err" &
    peer=$!
    remember "$peer"
    exec {in}>"$scratch/$name.in" {out}<"$scratch/$name.out"
    to_peer[$name]=$in
    from_peer[$name]=$out
}

# Its answer is in $answer, empty if there was none.
ask() { # NAME COMMAND
    answer=
    echo "$2" >&"${to_peer[$1]}"
    # shellcheck disable=SC2034
    read -r -t $answer_limit answer <&"${from_peer[$1]}"
}

end_peer() { # NAME
    local in=${to_peer[$1]} out=${from_peer[$1]}
    exec {in}>&- {out}<&-
}
