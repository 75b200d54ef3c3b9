#!/bin/bash
# The programs of man/zkl_*.3 and the examples with which the command's pages open do what they say.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/../interop/page.sh"
need_server
begin
: "${top_builddir:=$PWD}" "${top_srcdir:=$PWD}"

declare -A prints=(
    [barrier]=$'closed: others wait here\nopen'
    [cleanup]="locked to the end of this scope"
    [counter]=42
    [election]="web1 leads"
    [error]='invalid argument: path "jobs/nightly": it must begin with a slash'
    [glib]="acquired, in the main loop"
    [grant]="held for more than a second"
    [member]="web1 at 10.0.0.1:80"
    [multi]="written under the lock"
    [multilock]=$'/accounts/b has a token of its own\n/accounts/a has a token of its own'
    [mutex]=$'locked\nat work'
    [once]=$'migrating to v7\nv7 is recorded'
    [op]="the other thread ended the wait"
    [queue]="one holds it"
    [rwlock]=$'writing, alone\nreading, with other readers'
    [semaphore]="slot 0 of 4"
    [session]="a session of 6000 ms"
    [stats]="1 connection"
    [version]="compiled and running with the same version"
    [watch]="read the queue now"
    [zookeeper]="written under the lock"
)

for source in "$top_srcdir"/man/examples/*.c; do
    name=${source##*/} name=${name%.c}
    run "$top_builddir/man/examples/$name" "$ZKL_CONNECT/of-$name"
    expect "$name" "0:${prints[$name]-}:" "$status:$out:$err"
done

# The display behind a line of a page.
display() { # PAGE LINE
    sed -n "/^$2\$/,/^\.Ed\$/p" "$top_srcdir/man/$1" | sed 1d | plain
}

# A status, what is printed, and what is said.
declare -A shows=(
    [zkl.1]='^0:mine, with token [1-9][0-9]*:$'
    [zkl-break.1]='^75:'
    [zkl-elect.1]="^0:$(hostname) leads:\$"
    [zkl-guard.7]=$'^0::waiting\nheld [0-9]+\nstarted [0-9]+\nended 0\nreleased$'
    [zkl-limit.1]='^0:4:$'
    [zkl-lock.1]='^0:mine, with token [1-9][0-9]*:$'
    [zkl-ls.1]=$'^0:STATE +TOKEN .*\nHOLDS [^\n]*:$'
    [zkl-member.1]=$'^0:ID +TOKEN .*\nweb1 +[0-9]+ +0x[0-9a-f]+ +10.0.0.1:80:$'
    [zkl-once.1]='^0:migrated:$'
    [zkl-revoke.1]='^143:'
)
declare -A lines_of=([zkl-shards.1]=4 [zkl-watch.1]=1) # these two run until they are ended

mkdir "$scratch/bin"
ln -s "$ZKL" "$scratch/bin/zkl"
export PATH=$scratch/bin:$PATH SHELL=/bin/sh
for page in "$top_srcdir"/man/zkl*.1 "$top_srcdir/man/zkl-guard.7"; do
    page=${page##*/}
    display "$page" '\.Sh EXAMPLE' >"$scratch/example"
    if [ -z "${lines_of[$page]-}" ]; then
        sh "$scratch/example" >"$scratch/out" 2>"$scratch/err" <<<""
        expect_match "$page" "${shows[$page]-no line for this page}" "$?:$(<"$scratch/out"):$(<"$scratch/err")"
    else
        (eval "exec $(<"$scratch/example")") >"$scratch/$page" 2>"$scratch/err" &
        remember $!
        if wait_until "$page" lines "$page" "${lines_of[$page]}"; then pass "$page"; fi
        kill "$!"
        status_of "$!"
    fi
done
expect "the shards are all there" $'shard 0 of 4\nshard 1 of 4\nshard 2 of 4\nshard 3 of 4' "$(sort "$scratch/zkl-shards.1")"

# The script that locks itself does so under a lock at another path, too, and does not wait for itself.
# shellcheck disable=SC2016
{ display zkl-lock.1 '\.Ss A script that locks itself'; echo 'echo "$ZKL_PATH ($1) ($2)"'; } >"$scratch/script"
chmod +x "$scratch/script"
for around in "" "zkl lock /elsewhere" "zkl lock /jobs/nightly"; do
    # shellcheck disable=SC2086
    run $around "$scratch/script" "a b" c
    expect_match "a script that locks itself: $around" \
        $'^0:one at a time, with token [1-9][0-9]*\n/jobs/nightly \(a b\) \(c\):$' "$status:$out:$err"
done
finish
