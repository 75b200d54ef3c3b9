#!/bin/bash
# The programs of man/zkl_*.3 and of zkl-cpp(7), and the examples with which the command's pages open do what they say.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/../interop/page.sh"
need_server
begin
: "${top_srcdir:=$PWD}"

# What the comment behind it says.
prints() { # SOURCE
    sed '1,/^\/\* It prints:$/d; s/^ \* //; s/ \*\/$//' "$1"
}

for source in "$top_srcdir"/man/examples/*.c*; do
    name=${source##*/} name=${name%.c*}
    [ -x "$top_builddir/man/examples/$name" ] || [ "$name" != cpp ] || { missing "a C++ compiler" && continue; }
    run "$top_builddir/man/examples/$name" "$ZKL_CONNECT/of-$name"
    expect "$name" "0:$(prints "$source"):" "$status:$out:$err"
done

# The display behind a line of a page.
display() { # PAGE LINE
    sed -n "/^$2\$/,/^\.Ed\$/p" "$top_srcdir/man/$1" | sed 1d | plain
}

# What a comment behind the example says of its status, of what it prints, and of what it says: a regular expression, in
# which HOST is this one.
shows() { # PAGE
    local shown
    shown=$(sed -n 's/^\.\\" status:output:errors = //p' "$top_srcdir/man/$1")
    shown=${shown//HOST/$(hostname)}
    printf %b "${shown:-no comment in this page}"
}

# The figures of zkl(7): what is left, syncs and reads, with a tick of 2 s and without one, by one report and by two.
"$top_builddir/tests/unit/unit" proofs >"$scratch/proofs"
for tick in '2000 ms' '0 ms' '2000 ms, relayed' '0 ms, relayed'; do
    sed -nE "s/^  S 10000 ms, tick $tick: (.*) reads, (.*) syncs,.* ([0-9]+)([0-9])[0-9]{2} ms left\$/\\3.\\4 \\2 \\1/p" "$scratch/proofs" | sed 1q
done >"$scratch/figures"
expect "zkl(7): the figures" "$(paste -sd' ' "$scratch/figures")" \
    "$(sed -n '/^At S = 10 s and a tick/,/(printed by/p' "$top_srcdir/man/zkl.7" | grep -oE '[0-9]+\.[0-9]+' | paste -sd' ')"

declare -A lines_of=([zkl-shards.1]=4 [zkl-watch.1]=1) # these two run until they are ended

mkdir "$scratch/bin"
ln -s "$ZKL" "$scratch/bin/zkl"
export PATH=$scratch/bin:$PATH SHELL=/bin/sh
for page in "$top_srcdir"/man/zkl*.1 "$top_srcdir/man/zkl-guard.7"; do
    page=${page##*/}
    display "$page" '\.Sh EXAMPLE' >"$scratch/example"
    if [ -z "${lines_of[$page]-}" ]; then
        sh "$scratch/example" >"$scratch/out" 2>"$scratch/err" <<<""
        status=$?
        expect_match "$page" "$(shows "$page")" "$status:$(<"$scratch/out"):$(<"$scratch/err")"
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

# What stands in a page for a lock in the middle of a script, in both shells; the last way has the function elsewhere.
part() { # NUMBER SHELL
    sed -n '/^\.Ss A part of a script$/,/^\.Ss While it waits$/p' "$top_srcdir/man/zkl-lock.1" |
        awk -v n="$1" '/^\.Bd / { count++ } count == n { print } /^\.Ed$/ && count == n { exit }' | plain |
        sed "s,^#!.*,#!$(command -v "$2"),; s/ sh -/ $2 -/"
}
for shell in dash bash; do
    command -v $shell >/dev/null || {
        missing $shell
        continue
    }
    part 2 $shell | grep '^copy() ' >"$scratch/functions"
    for way in "1:a b" "2:a b to c" "3:a b to c"; do
        part "${way%%:*}" $shell >"$scratch/script"
        chmod +x "$scratch/script"
        cd "$scratch" || exit
        run $shell "$scratch/script" "a b" c
        cd "$OLDPWD" || exit
        expect_match "a part of a script, way ${way%%:*}, $shell" "^0:${way#*:}, with token [1-9][0-9]*:\$" "$status:$out:$err"
    done
done
finish
