#!/bin/bash
# Where credentials come from, and that nobody sees them: not in lists of processes, nor in the command's
# environment, in what is written, or in nodes.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
umask 077 # files that others may read are refused
L=/cli/credentials
unset ZKL_AUTH ZKL_AUTH_FILE
export ran=$scratch/ran

# Like nothing else on this machine; the allocator writes over the beginning of what is freed.
secret=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf %s "$secret" >"$scratch/secret"
mine="digest:me:$(printf %032d 0)$secret"
yours=digest:you:other
printf '%s\n' "$mine" >"$scratch/mine"
printf '\n%s\r\n\n%s' "$yours" "$mine" >"$scratch/both"
acl="world:anyone:r,auth::cdrwa"

# ---- where they come from ----

"$ZKL" lock $L/free true
"$ZKL" --auth "$mine" --acl "$acl" lock $L/mine true
"$ZKL" --auth $yours --acl "$acl" lock $L/yours true
refused "with none" 77 "^zkl: $L/mine: the server refused to create a child of it: the permission create \(c\) is missing\$" lock $L/mine touch "$ran"
refused "with another's" 77 "create \(c\)" --auth $yours lock $L/mine touch "$ran"
allowed() { # WHAT PATH ARG...
    run "$ZKL" "${@:3}" lock "$2" true
    expect "$1" "0:" "$status:$err"
}
for path in $L/mine $L/yours; do
    allowed "two --auth: $path" $path --auth "$mine" --auth=$yours
    allowed "--auth-file of two: $path" $path --auth-file "$scratch/both"
    ZKL_AUTH_FILE=$scratch/both allowed "ZKL_AUTH_FILE of two: $path" $path
    ZKL_AUTH=$mine$'\n'$yours allowed "ZKL_AUTH of two: $path" $path
done
allowed "--auth-file that is a pipe" $L/mine --auth-file <(cat "$scratch/both")
ZKL_AUTH=$yours allowed "an option wins over ZKL_AUTH" $L/mine --auth "$mine"
ZKL_AUTH_FILE=$scratch/none allowed "an option wins over ZKL_AUTH_FILE" $L/mine --auth-file "$scratch/mine"
ZKL_AUTH_FILE='' allowed "an empty ZKL_AUTH_FILE is none" $L/free

refused "--auth and --auth-file" 64 "^zkl: --auth and --auth-file exclude" --auth "$mine" --auth-file "$scratch/mine" lock $L touch "$ran"
ZKL_AUTH=$mine ZKL_AUTH_FILE=$scratch/mine refused "both variables" 64 "^zkl: ZKL_AUTH and ZKL_AUTH_FILE exclude" lock $L touch "$ran"
ZKL_AUTH='' refused "an empty ZKL_AUTH" 64 "^zkl: ZKL_AUTH: no credentials\$" lock $L touch "$ran"
ZKL_AUTH=me:$'\n' refused "ZKL_AUTH that is wrong" 64 "^zkl: ZKL_AUTH: expected SCHEME" lock $L touch "$ran"
ZKL_AUTH_FILE=$scratch/none refused "ZKL_AUTH_FILE that is not there" 64 "^zkl: ZKL_AUTH_FILE: $scratch/none: " lock $L touch "$ran"
: >"$scratch/empty"
refused "--auth-file of nothing" 64 "^zkl: --auth-file: $scratch/empty: no credentials\$" --auth-file "$scratch/empty" lock $L touch "$ran"
echo "$secret" >"$scratch/odd"
refused "--auth-file without a scheme, which is not shown" 64 "^zkl: --auth-file: $scratch/odd: expected SCHEME:CREDENTIALS, as in digest:user:password\$" --auth-file "$scratch/odd" lock $L touch "$ran"
refused "too much" 64 "^zkl: credentials: more than 64 KiB\$" --auth "digest:me:$(printf %065536d 0)" lock $L touch "$ran"

# The permissions of the file itself count, and not those of a link to it.
cp "$scratch/mine" "$scratch/judged"
ln -s judged "$scratch/link"
for mode in 400 600 640 660 711; do
    chmod $mode "$scratch/judged"
    allowed "--auth-file of mode $mode" $L/mine --auth-file "$scratch/judged"
    allowed "--auth-file by a link, of mode $mode" $L/mine --auth-file "$scratch/link"
done
for mode in 604 602 644 666; do
    chmod $mode "$scratch/judged"
    refused "--auth-file of mode $mode" 64 "^zkl: --auth-file: $scratch/judged: others may read or write it: chmod o-rw\$" --auth-file "$scratch/judged" lock $L/mine touch "$ran"
    refused "--auth-file by a link, of mode $mode" 64 "^zkl: --auth-file: $scratch/link: others may read or write it" --auth-file "$scratch/link" lock $L/mine touch "$ran"
    ZKL_AUTH_FILE=$scratch/judged refused "ZKL_AUTH_FILE of mode $mode" 64 "^zkl: ZKL_AUTH_FILE: $scratch/judged: others may read or write it" lock $L/mine touch "$ran"
done
mkfifo -m 666 "$scratch/fifo"
cat "$scratch/mine" >"$scratch/fifo" &
remember $!
allowed "--auth-file that is a named pipe" $L/mine --auth-file "$scratch/fifo"
# A pipe holds them for all sessions of a zkl that has one after the other.
for verb in "elect $L/mine me" "shards $L/mine 1"; do
    # shellcheck disable=SC2086
    "$ZKL" -v --connect 127.0.0.1:1 --connect-timeout 0.1 --auth-file <(cat "$scratch/both") $verb touch "$ran" 2>"$scratch/again.err" &
    again=$!
    remember "$again"
    # shellcheck disable=SC2317
    tried_again() { [ "$(grep -c "connecting to" "$scratch/again.err")" -ge 3 ] || gone "$again"; }
    wait_until "${verb%% *}: three sessions" tried_again
    kill -TERM "$again" 2>/dev/null
    status_of "$again"
    expect "${verb%% *}: --auth-file that is a pipe, for three sessions" 143 "$?"
done
# Nobody writes to a pipe: a signal ends the wait for that.
for verb in "lock $L/mine touch" "once $L/mine touch" "elect $L/mine me touch" "member $L/mine me touch" "shards $L/mine 1 touch"     "elect --leader $L/mine" "watch $L/mine"; do
    # shellcheck disable=SC2086
    "$ZKL" --auth-file "$scratch/fifo" $verb &
    waits=$!
    remember "$waits"
    wait_until "$verb: it waits" in_state "$waits" S
    kill -TERM "$waits"
    status_of "$waits"
    expect "$verb: --auth-file that nobody writes, and TERM" 143 "$?"
done
expect "nothing of it ran" "" "$(ls "$ran" 2>/dev/null)"

# ---- who sees them ----

# The files in which the secret is; those of processes that have just ended cannot be read.
shown_in() { # FILE...
    grep -rlaF -f "$scratch/secret" "$@" 2>/dev/null
}

mkfifo "$scratch/never"
planted() { # VARIABLE=VALUE WORD
    env "$1" sh -c 'echo >"$1"; read x <"$2"' sh "$scratch/planted" "$scratch/never" "$2" &
    remember $!
    wait_until "it is planted" test -e "$scratch/planted"
}
planted PLANTED="$secret" "$secret"
expect "a secret in a command line would be seen" "/proc/$!/cmdline" "$(shown_in /proc/[0-9]*/cmdline)"
expect "a secret in an environment would be seen" "/proc/$!/environ" "$(shown_in /proc/[0-9]*/environ)"
kill -9 $!
wait $! 2>/dev/null

# How often the secret is in a process's memory: in what a core dump has of it, and in the rest.
cat >"$scratch/count.py" <<'PYTHON'
import re, sys
secret, found = open(sys.argv[2], "rb").read(), [0, 0]
with open(f"/proc/{sys.argv[1]}/smaps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as memory:
    for low, high, flags in re.findall("^([0-9a-f]+)-([0-9a-f]+) rw.*?^VmFlags:(.*?)$", maps.read(), re.M | re.S):
        if int(high, 16) - int(low, 16) < 1 << 28:  # larger ones are a sanitizer's
            memory.seek(int(low, 16))
            found["dd" in flags.split()] += memory.read(int(high, 16) - int(low, 16)).count(secret)
print(*found)
PYTHON
copies() { # PID
    python3 "$scratch/count.py" "$1" "$scratch/secret" 2>&1
}
can_look=
command -v python3 >/dev/null && [[ $(copies $$) =~ ^[1-9][0-9]*\ 0$ ]] && can_look=1
# AddressSanitizer keeps a copy of the whole environment for itself.
[ -z "${ZKL_INSTRUMENTED-}" ] || can_look=
[ -n "$can_look" ] || skip "the memory of processes cannot be read"

server=$(server_pid)
unseen() { # WHAT
    expect "$1: no command line has it" "" "$(shown_in /proc/[0-9]*/cmdline)"
    expect "$1: no environment has it" "" "$(shown_in /proc/[0-9]*/environ)"
    expect "$1: the command has no ZKL_AUTH" "" "$(tr '\0' '\n' <"/proc/$command/environ" | grep '^ZKL_AUTH=')"
    [ -z "$server" ] || expect "$1: no node has it" "" "$(shown_in "/proc/$server/cwd/")"
    [ -z "$can_look" ] || expect "$1: the guard has a copy that is in no core dump" "0 1" "$(copies "$(guard_of "$holder")")"
    let_go
    expect "$1: the command ends well" 0 "$?"
    expect "$1: nothing that is written has it" "" "$(shown_in "$scratch/holder.err" "$scratch/lines")"
}
exec 9>"$scratch/lines"
hold $L/mine -v --status-fd 9 --acl "$acl" --auth "$mine"
unseen "--auth"
hold $L/mine -v --status-fd 9 --acl "$acl" --auth="$mine"
unseen "--auth="
hold $L/mine -v --status-fd 9 --acl "$acl" --auth-file "$scratch/mine"
unseen "--auth-file"
ZKL_AUTH=$mine hold $L/mine -v --status-fd 9 --acl "$acl"
unseen "ZKL_AUTH"
ZKL_AUTH_FILE=$scratch/mine hold $L/mine -v --status-fd 9 --acl "$acl"
unseen "ZKL_AUTH_FILE"
exec 9>&-

# Each term is a process of its own.
export ZKL_AUTH=$mine
lead $L/elect me -v --acl "$acl"
unset ZKL_AUTH
wait_until "the first term" has_led me 1
"$ZKL" --auth "$mine" break --yes $L/elect >"$scratch/break" 2>&1
wait_until "the second term, with the same credentials" has_led me 2
expect "elect: no command line has it" "" "$(shown_in /proc/[0-9]*/cmdline)"
expect "elect: no environment has it" "" "$(shown_in /proc/[0-9]*/environ)"
expect "elect: nothing that is written has it" "" "$(shown_in "$scratch"/me.*)"

# ---- refused on a later connection ----

begin_gate
lookers=()
for look in watch "elect --listen" "member --listen"; do
    # shellcheck disable=SC2086
    ZKL_AUTH=$mine "$ZKL" --connect "$gate" $look $L/elect >"$scratch/$look.out" 2>"$scratch/$look.err" &
    lookers+=("$!")
    remember $!
    wait_until "$look: it looks" test -s "$scratch/$look.out"
done
gate refuse
for look in watch "elect --listen" "member --listen"; do
    status_of "${lookers[0]}"
    expect "$look: its credentials are refused" "77:zkl: $L/elect: the server refused the credentials" "$?:$(<"$scratch/$look.err")"
    lookers=("${lookers[@]:1}")
done
finish
