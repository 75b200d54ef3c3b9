#!/bin/bash
# Nothing of the command outlives its lock, wherever it went: kinds of processes, ways to lose the
# lock or to end the command. The next holder's start is later than the worker's last act.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_options=(--tick 200)
need_server
begin
begin_gate
export scratch tools gate
heard=(env "--default-signal=INT,QUIT")
session=12 at_once=6 verb=lock
[ -z "${ZKL_INSTRUMENTED-}" ] || at_once=3
export session

# Notes its process and acts until it is ended; $1 as stamp takes it.
cat >"$scratch/worker" <<'END'
#!/bin/sh
echo $$ >"$MINE.pid"
exec "$tools/stamp" "$MINE" "$1"
END
cat >"$scratch/inner" <<'END'
#!/bin/sh
path=$1 script=$2
shift 2
exec "$ZKL" --connect "$THERE" --session-timeout $session lock "$path" -- sh -c "$script" sh "$@"
END
cat >"$scratch/deepest" <<'END'
#!/bin/sh
"$scratch/inner" $LOCK-third 'true; "$scratch/worker" $1; echo' "$1"
echo
END
cat >"$scratch/makefile" <<'END'
all:
	@"$$scratch/inner" "$$LOCK-inner" 'true; "$$scratch/worker" $$1; echo' $(MS)
END
chmod +x "$scratch"/{worker,inner,deepest}

# What is run under the lock: a worker is somewhere in it.
declare -A script=(
    [below]='true; "$scratch/worker" $1; echo'
    [setsid]='setsid "$scratch/worker" $1 & wait'
    [orphan]='(setsid "$scratch/worker" $1 &); sleep 1000'
    [group]='set -m; "$scratch/worker" $1 & wait'
    [timeout]='timeout 0 "$scratch/worker" $1; echo'
    [nested]='"$scratch/inner" $LOCK-inner "true; \"\$scratch/worker\" \$1; echo" $1; echo'
    [deep]='"$scratch/inner" $LOCK-inner "exec \"\$scratch/deepest\" \$1; echo" $1; echo'
    [make]='make -s -f "$scratch/makefile" MS=$1; echo'
)

do_way() { # WAY HOLDER
    case $1 in
    guard) kill -9 "$(guard_of "$2")" ;;
    cut)
        touch "$MINE.ready"
        wait_until "all are cut off" test -e "$scratch/cut"
        ;;
    twice)
        kill -TERM "$2"
        wait_until "the command ends" grep -q '^ended' "$MINE.lines"
        insist "a second TERM" TERM "$2" gone "$2"
        ;;
    *) kill -"$1" "$2" ;;
    esac
}

# Prints what went wrong; the gap in ns is in the file gap.
round() { # KIND WAY MS [OPTION...]
    local kind=$1 way=$2 ms=$3 holder next last first what="$1 $2 $3"
    local MINE=$scratch/$kind.$way.$ms LOCK=/cli/tree/$kind/$way$ms THERE=$ZKL_CONNECT
    export MINE LOCK THERE
    shift 3
    [ "$way" != cut ] || THERE=$gate
    "${heard[@]}" "$ZKL" --connect "$THERE" --session-timeout $session $verb "$LOCK" --status-fd 9 "$@" -- \
        bash -c "${script[$kind]}" bash "$ms" 9>"$MINE.lines" >/dev/null 2>"$MINE.err" &
    holder=$!
    wait_until "$what: the worker acts" test -s "$MINE" || return
    "$ZKL" $verb "$LOCK" "$tools/stamp" >"$MINE.first" 2>"$MINE.next.err" &
    next=$!
    wait_until "$what: the next one queues" has_contenders "$LOCK" 2 || return
    do_way "$way" $holder
    status_of $next || echo "$what: the next one: status $?"
    gone "$(<"$MINE.pid")" || {
        echo "$what: the worker lives"
        kill -9 "$(<"$MINE.pid")"
    }
    first=$(<"$MINE.first")
    last=$(<"$MINE")
    ((10#$first > 10#$last)) || echo "$what: overlap"
    echo "$what $((10#$first - 10#$last))" >"$MINE.gap"
    kill -CONT $holder 2>/dev/null
    [ "$way" = cut ] || status_of $holder
    echo $? >"$MINE.status"
}

# Rounds side by side.
batch=()
begin_round() { # KIND WAY MS [OPTION...]
    round "$@" >"$scratch/$1.$2.$3.trouble" 2>&1 &
    batch+=($!)
    remember $!
    [ "$2" = cut ] || ((${#batch[@]} < at_once)) || end_rounds
}
end_rounds() {
    wait "${batch[@]}"
    batch=()
}
expect_no_trouble() { # WAY MS
    expect "$1 $2: no overlap, no trouble" "" "$(cat "$scratch"/*."$1.$2".trouble)"
    expect "$1 $2: kinds" ${#script[@]} "$(cat "$scratch"/*."$1.$2".gap | wc -l)"
    echo "$1 $2: smallest gap $(cat "$scratch"/*."$1.$2".gap | awk '{print int($4 / 1000000)}' | sort -n | head -n 1) ms"
}

# The worker is deaf, where the lock is lost or TERM is to be followed by KILL; or it cleans up.
for way in STOP KILL guard TERM; do
    for kind in "${!script[@]}"; do begin_round "$kind" $way -1 --kill-after 0.5; done
    end_rounds
    expect_no_trouble $way -1
done
for kind in "${!script[@]}"; do begin_round "$kind" TERM 700; done
end_rounds
expect_no_trouble TERM 700
expect "TERM 700: nobody was killed" "" "$(grep -l 'rest KILL' "$scratch"/*.TERM.700.lines)"
for kind in "${!script[@]}"; do begin_round "$kind" twice -1 --kill-after 1000; done
end_rounds
expect_no_trouble twice -1
# A run that is not recorded: the next one begins it again.
verb=once
for way in STOP KILL; do
    for kind in "${!script[@]}"; do begin_round "$kind" $way -2 --kill-after 0.5; done
    end_rounds
    expect_no_trouble $way -2
done
verb=lock
# A shell in the foreground of timeout(1) does not end by INT.
unset 'script[timeout]'
for kind in "${!script[@]}"; do begin_round "$kind" INT 700; done
end_rounds
expect_no_trouble INT 700
for kind in "${!script[@]}"; do begin_round "$kind" cut -1; done
for kind in "${!script[@]}"; do wait_until "$kind cut: queued" test -e "$scratch/$kind.cut.-1.ready"; done
gate silence
touch "$scratch/cut"
end_rounds
gate heal
expect_no_trouble cut -1
finish
