#!/bin/bash
# The programs of man/zkl_*.3 do what they say.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
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
finish
