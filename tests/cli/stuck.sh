#!/bin/bash
# docs/guide/stuck.md shows what the commands print: each of its commands is run, in its order.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
: "${top_srcdir:=$PWD}"
page=$top_srcdir/docs/guide/stuck.md

# What differs from run to run, and the page's shortening of nodes' names.
same() {
    sed -E 's/_c_[0-9a-f.-]*-(lock|__READ__)/_c_ID-\1/; s/0x[0-9a-f]+/SESSION/; s/ [0-9]+ +[0-9]+s / N AGE /; s/ +/ /g; s/ zkl ('"$(uname -n)"'|web1) / zkl HOST /; s/ on [^ ]+ \(pid [0-9]+, for [0-9]+ s\)/ on HOST (pid N)/'
}

hold() { # PATH NAME OPTION...
    "$ZKL" "${@:3}" lock "$1" --name "$2" -- sleep 1000 2>"$scratch/$2" &
    remember $!
}

hold /jobs/nightly web1
web1=$!
wait_until "web1 holds" has_contenders /jobs/nightly 1
hold /jobs/nightly web2
wait_until "web2 waits" has_contenders /jobs/nightly 2
"$ZKL" lock -s /data -- sleep 1000 &
remember $!
wait_until "a reader holds" has_contenders /data 1
echo digest:admin:secret >"$scratch/auth"
chmod o-rw "$scratch/auth"
"$ZKL" --auth-file "$scratch/auth" --acl auth::cdrwa lock /secret -- true

# The page's blocks of code, a command and what it prints.
command='' shown='' statuses=''
check() {
    [ -n "$command" ] || return 0
    local words
    read -ra words <<<"${command#zkl }"
    run "$ZKL" "${words[@]}"
    statuses+=" $status"
    expect "$command" "$(same <<<"$shown")" "$(same <<<"$out$err")"
}

while IFS= read -r line; do
    case $line in
    "    \$ zkl "*) check; command=${line#*\$ } shown='' ;;
    "    zkl: /jobs/nightly: the lock is lost"*) lost=${line#    } ;;
    "    "*) shown+=${shown:+$'\n'}${line#    } ;;
    *) check; command='' ;;
    esac
done <"$page"
expect "all commands of the page" 8 "$passed"
expect "the statuses that it names" " 0 1 1 69 65 77 0 0" "$statuses"

status_of "$web1"
expect "the holder that was removed" 75 "$?"
expect "what it says" "${lost-}" "$(<"$scratch/web1")"
finish
