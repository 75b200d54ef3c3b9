#!/bin/bash
# Which verb exits with which status: the table in zkl(1), a row a line, as far as a command line brings a
# status about. Other scripts have the rest: where a lock is lost (75) or work is overdue (79), for example.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
[ -x "$ADMIN" ] || { missing zk-admin; finish; }
begin
S=/statuses
verbs=(break elect limit lock ls member once revoke shards watch)

exits() { # STATUS ARGUMENT…
    run "$ZKL" "${@:2}"
    expect "${*:2}" "$1" "$status"
}

# What each verb is given, to ask about a path and to end by itself.
words() { # VERB PATH
    case $1 in
    break) echo "break --yes $2" ;;
    elect) echo "elect --once $2 me true" ;;
    lock | once) echo "$1 $2 true" ;;
    member) echo "member $2 me true" ;;
    shards) echo "shards $2 2 --id me true" ;;
    watch) echo "watch --once $2" ;;
    *) echo "$1 $2" ;;
    esac
}

"$ADMIN" create $S x
"$ZKL" --auth digest:me:secret --acl auth::cdrwa lock --parents=persistent $S/closed true
"$ADMIN" create $S/data x
"$ADMIN" create $S/data/record x
"$ZKL" lock $S/free true
hold $S/held
for verb in "${verbs[@]}"; do
    exits 64 "$verb"
    exits 0 "$verb" --help
    if [ -e /dev/full ]; then
        "$ZKL" "$verb" --help >/dev/full 2>"$scratch/err"
        expect "$verb --help, and nobody can read it" 74 "$?"
    fi
    # shellcheck disable=SC2046
    exits 77 $(words "$verb" $S/closed)
    # A host of shards waits for the servers.
    # shellcheck disable=SC2046
    [ "$verb" = shards ] || exits 69 --connect 127.0.0.1:1 --connect-timeout 0.2 $(words "$verb" $S/free)
done

exits 1 break --yes $S/free
exits 1 elect --leader $S/free
exits 1 limit $S/none
exits 1 lock -n $S/held true
exits 1 ls $S/none
exits 1 member --list $S/free
exits 1 once -n $S/held true
exits 1 once $S/free --status
exits 1 revoke $S/free
exits 1 watch --once $S/none

exits 65 elect --once $S/held me true
exits 65 limit $S/data
exits 65 lock --slots 2 $S/data true
node=$("$ZKL" ls --json $S/held | sed -nE 's/.*"node": "([^"]*)".*/\1/p')
exits 65 member "$S/held/$node/group" me true
exits 65 once $S/data true

for verb in elect lock member once shards; do
    # shellcheck disable=SC2046
    read -r -a line < <(words "$verb" $S/free)
    unset 'line[-1]'
    exits 127 "${line[@]}" "$scratch/none"
    exits 126 "${line[@]}" "$scratch"
done
# A guard that was killed. (Other scripts do that to a lock, a term and a shard.)
for verb in member once; do
    # shellcheck disable=SC2046
    read -r -a line < <(words "$verb" $S/free)
    unset 'line[-1]'
    # shellcheck disable=SC2016
    "$ZKL" "${line[@]}" sh -c 'echo >"$1"; exec sleep 1000' sh "$scratch/$verb" 2>"$scratch/err" &
    tool=$!
    remember $tool
    wait_until "$verb: its command runs" test -e "$scratch/$verb"
    kill -9 "$(guard_of $tool)"
    status_of $tool
    expect "$verb: its guard was killed" 70 "$?"
done
exits 0 revoke $S/held
let_go
finish
