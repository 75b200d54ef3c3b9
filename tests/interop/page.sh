# Sourced by the tests of zkl-interop(7): its programs, taken out of the page, built and run.
# shellcheck shell=bash disable=SC2154

: "${top_srcdir:=$PWD}"
page=$top_srcdir/man/zkl-interop.7

# Takes the marks of troff off what stands between .Bd and .Ed.
plain() {
    sed '/^\.\\"/d; /^\.Bd /d; /^\.Ed$/d; s/\\-/-/g; s/\\(aq/'\''/g; s/\\(ga/`/g; s/\\(ha/^/g; s/\\(ti/~/g; s/^\\&//; s/\\e/\\/g'
}

snippet() { # FILE
    sed -n '/^\.\\" snippet '"$1"'\( .*\)\{0,1\}$/,/^\.\\" end$/p' "$page" | plain
}

# Every program to a file: as it stands, or, where the page says so, as another with the line that
# makes the lock exchanged.
take_programs() { # FOLDER
    local file base
    while read -r file base; do
        if [ -n "$base" ]; then
            snippet "$file" >"$scratch/line"
            snippet "$base" | sed -e "/^lock = /{r $scratch/line" -e 'd}' >"$1/$file"
        else
            snippet "$file" >"$1/$file"
        fi
    done < <(sed -n 's/^\.\\" snippet //p' "$page")
}

library_flags=(-I "$top_srcdir/include" -I "$top_builddir/include" -L "$top_builddir/lib/.libs"
    -lzkl "-Wl,-rpath,$top_builddir/lib/.libs")

build_c() { # NAME
    # shellcheck disable=SC2086
    run ${CC:-cc} -Wall -Wextra -Werror -o "$programs/$1" "$programs/$1.c" "${library_flags[@]}"
    expect "the C program compiles" "0:" "$status:$err"
}

# A server, and the programs, made once; each is then run from there.
begin_programs() {
    need_curator
    need_kazoo
    need_server
    begin
    programs=$scratch/programs
    class_path=$write_lock:$curator:/usr/share/java/slf4j-simple.jar
    mkdir "$programs"
    take_programs "$programs"
    run javac "${javac_options[@]}" -Xlint:all,-classfile,-path -Werror -cp "$class_path" -d "$programs" "$programs"/*.java
    expect "the Java programs compile" "0:" "$status:$err"
    build_c nightly
    mkdir "$programs/bin"
    ln -s "$ZKL" "$programs/bin/zkl"
    [ "$failed" -eq 0 ] || finish
}

# What a program says when it was kept waiting.
refusal() { # FILE
    case $1 in
    standby.sh | election.sh) echo "zkl: /services/web: not acquired within 5 s" ;;
    *.sh) echo "zkl: /jobs/nightly: not acquired within 5 s" ;;
    *) echo "not within 5 s" ;;
    esac
}

# What the second one said, but for who holds.
said_without_holder() { # NAME
    sed -E '1s/^(zkl: .* not acquired within 5 s); held by .*/\1/' "$scratch/$1.said"
}

execute() { # FILE
    case $1 in
    *.sh) PATH=$programs/bin:$PATH exec sh "$programs/$1" ;;
    *.py) exec "$python" -B "$programs/$1" ;;
    *.c) exec "$programs/${1%.c}" ;;
    *.java)
        exec java -Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData \
            -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$class_path:$programs" "${1%.java}"
        ;;
    esac
}

declare -A pid_of

# In the background, with a tree of its own by a chroot (and parents, which not every library makes).
# NAME.out is what it prints, NAME.said what it says. Its input never ends, but by let_end.
start() { # FILE NAME TREE [INPUT]
    rm -f "$scratch/$2".*
    mkfifo "$scratch/$2.in"
    "$ADMIN" create "/$3" "" 2>/dev/null
    "$ADMIN" create "/$3/jobs" "" 2>/dev/null
    ZKL_CONNECT=$ZKL_CONNECT/$3 execute "$1" <>"${4-$scratch/$2.in}" >"$scratch/$2.out" 2>"$scratch/$2.said" &
    pid_of[$2]=$!
    remember $!
}

# The program, in a tree where another may hold, to its end: $status. It waits 5 s for its turn and
# for everything else, which a busy machine may not give it: one that is to be LET in tries again.
come() { # FILE NAME TREE LET
    while :; do
        start "$1" "$2" "$3" /dev/null
        wait "${pid_of[$2]}"
        status=$?
        if [ "$status:$4" != 1:let ] || is_late; then break; fi
        echo "    $1 was not let in"
    done
}

holds() { # NAME
    [ -s "$scratch/$1.out" ]
}

token() { # NAME
    head -n 1 "$scratch/$1.out"
}

let_end() { # NAME
    echo 1<>"$scratch/$1.in"
}

# Waits for its end: $status.
await() { # NAME
    status_of "${pid_of[$1]}"
    status=$?
}
