#!/bin/bash
# What zkl-interop(7) says beside its table: elections, other recipes on the path of a lock, and each
# trap, sprung. Programs of the page that lack a line must fail.
# shellcheck disable=SC2016,SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/page.sh"
begin_programs
trees=0

# A program holds, in a tree of its own: the holder is h$tree, and its tree of that name too.
holding() { # FILE
    trees=$((trees + 1))
    tree=tree$trees
    start "$1" "h$tree" $tree
    wait_until "$1 holds" holds "h$tree" || finish
}

# It ends, and well.
over() {
    let_end "h$tree"
    await "h$tree"
    expect "the holder ends well" "0:" "$status:$(<"$scratch/h$tree.said")"
}

kept_out() { # WHAT FILE
    come "$2" second $tree kept
    expect "$1" "1::$(refusal "$2")" "$status:$(<"$scratch/second.out"):$(said_without_holder second)"
}

lets_in() { # WHAT FILE
    come "$2" second $tree let
    expect_match "$1" '^0:[1-9][0-9]*:$' "$status:$(head -n 1 "$scratch/second.out"):$(<"$scratch/second.said")"
}

zkl_here() { # ARG...
    run "$ZKL" --connect "$ZKL_CONNECT/$tree" "$@"
}

# ---- elections ----

leads() { # FILE OTHER LAYOUT
    holding "$1"
    zkl_here elect --leader -v --layout "$3" /services/web
    expect_match "$1: its token is the leader's" "^0:$(token "h$tree") " "$status:$out"
    kept_out "$2 waits while $1 leads" "$2"
    over
    lets_in "and leads then" "$2"
    expect "with a higher token" 1 "$(($(token second) > $(token "h$tree")))"
}

leads Standby.java standby.sh latch
leads standby.sh Standby.java latch
leads election.py election.sh kazoo
leads election.sh election.py kazoo

# ---- in C ----

holding nightly.c
zkl_here ls --json /jobs/nightly
expect_match "its token is the czxid of its node" '"token": '"$(token "h$tree")," "$out"
kept_out "kazoo as it is waits for a C program with its peer set" stock.py
over
holding stock.py
kept_out "and the program for kazoo" nightly.c
over

# ---- a line less ----

without() { # LINE FILE CLASS: FILE is made
    grep -v "$1" "$programs/nightly.py" >"$programs/$2"
}

without _EXCLUDE_NAMES blind.py
without _NODE_NAME unseen.py
holding nightly.sh
lets_in "without _EXCLUDE_NAMES it takes the lock beside zkl" blind.py
over
holding unseen.py
lets_in "without _NODE_NAME Curator takes the lock beside it" Nightly.java
lets_in "and so does another such program" unseen.py
kept_out "zkl does not" nightly.sh
over
grep -v 'options\.peer' "$programs/nightly.c" >"$programs/untold.c"
build_c untold
holding untold.c
lets_in "without its peer kazoo as it is takes the lock beside it" stock.py
over

# ---- other recipes on the path of a lock ----

shown() {
    sed -n '/^\.\\" output$/,/^\.\\" end$/p' "$page" | plain
}

# Without what is new each time.
masked() {
    sed -E 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/'
}

holding Standby.java
zkl_here lock -n /services/web -- true
expect "a lock refuses the path of a latch" "65:$(shown | masked)" "$status:$(masked <<<"$err")"
over

# A lock on the path of the elections.
sed 's,/jobs/nightly,/services/web,' "$programs/nightly.sh" >"$programs/web.sh"
holding web.sh
zkl_here elect --once /services/web shell -- true
expect_match "a latch refuses the path of a lock" '^65:.* is of a lock' "$status:$err"
lets_in "Curator's latch takes no notice of a lock" Standby.java
over

# Recipes of kazoo, with the program of the two lines around them.
recipe() { # FILE EXPRESSION
    printf '%s\n' "$2" >"$scratch/line"
    sed -e "/^lock = /{r $scratch/line" -e 'd}' "$programs/nightly.py" >"$programs/$1"
}

recipe reader.py 'lock = zk.ReadLock("/jobs/nightly", "reader")'
recipe writer.py 'lock = zk.WriteLock("/jobs/nightly", "writer")'
recipe semaphore.py 'lock = zk.Semaphore("/jobs/nightly", "lease"); lock.node = lock.create_path.split("/")[-1]'
holding reader.py
for peer in curator kazoo; do
    zkl_here lock -n --peer=$peer /jobs/nightly -- true
    expect_match "a lock refuses the path of kazoo's reader" '^65:.* is of a read-write lock: use one of that kind, or another path$' "$status:$err"
done
over
holding writer.py
kept_out "a lock waits for kazoo's writer" nightly.sh
over
holding semaphore.py
zkl_here lock -n /jobs/nightly -- true
expect "a lock takes no notice of kazoo's semaphore" 0 "$status"
over
holding nightly.sh
kept_out "kazoo's semaphore takes a lock for a lease" semaphore.py
over

# ---- traps ----

# The directory goes between two turns of one object.
sed 's,^lock\.release(),&; zk.delete("/jobs/nightly"); lock.acquire(),' "$programs/nightly.py" >"$programs/kept.py"
come kept.py kept kept kept
expect_match "a kept Lock object of kazoo fails where its directory was removed" '^1:.*NoNodeError' "$status:$(<"$scratch/kept.said")"

holding nightly.sh
"$ADMIN" create "/$tree/jobs/nightly/0" ""
over
kept_out "a child 0 blocks Curator" Nightly.java
lets_in "and not zkl" nightly.sh
lets_in "nor kazoo" nightly.py

number() {
    sed -n 's/.*"number": \(-*[0-9]*\).*/\1/p' <<<"$out"
}

holding nightly.sh
over
holding nightly.sh
zkl_here ls --json /jobs/nightly
before=$(number)
first=$(token "h$tree")
over
"$ADMIN" delete "/$tree/jobs/nightly"
start nightly.sh again "$tree"
wait_until "it holds again" holds again || finish
zkl_here ls --json /jobs/nightly
expect "numbers begin again with the directory" "$before" "$(number)"
expect "tokens do not" 1 "$(($(token again) > first))"
let_end again
await again

holding nightly.py
run "$ZKL" lock -n "/$tree/jobs/nightly" -- true
expect "chroot and path make one path" 1 "$status"
over

# Nodes that only some may read.
sed 's/^zkl /&--auth digest:me:secret --acl auth::cdrwa /' "$programs/nightly.sh" >"$programs/private.sh"
holding private.sh
for file in nightly.py Nightly.java; do
    come "$file" second $tree kept
    expect_match "$file: without credentials it fails" '^1::.*NoAuth' "$status:$(<"$scratch/second.out"):$(<"$scratch/second.said")"
done
over

# ---- as the reader runs them ----

cat >"$programs/bin/pkg-config" <<P
#!/bin/sh
echo '${library_flags[*]}'
P
chmod +x "$programs/bin/pkg-config"
ln -s "$(command -v "$python")" "$programs/bin/python3"
cd "$programs" || exit
export PATH=$programs/bin:$PATH
run sh run.sh
mapfile -t tokens < <(grep . <<<"$out")
expect "each of the programs runs" "0::4" "$status:$err:${#tokens[@]}"
expect "with tokens that rise" "${tokens[*]}" "$(printf '%s\n' "${tokens[@]}" | sort -nu | paste -sd ' ')"

# The first of the README's commands holds, while the others are run.
grep -E '^(J=|export CLASSPATH)' run.sh >environment.sh
sed -n '/^## With Java and Python/,$p' "$top_srcdir/README.md" |
    sed -n '/^    \$ /,/^## /s/^    //p' >readme.txt
mapfile -t commands < <(sed -n 's/^\$ //p' readme.txt)
mkfifo enter
bash -c "${commands[0]}" <>enter >first.txt 2>&1 &
first=$!
remember $first
wait_until "the README's first program holds" test -s first.txt || finish
{
    echo "\$ ${commands[0]}"
    cat first.txt
    for command in "${commands[@]:1}"; do
        echo "\$ $command"
        bash -c ". ./environment.sh; $command" </dev/null 2>&1
    done
} >shown.txt
echo 1<>enter
status_of $first
alike() { sed -E 's/^[0-9]{2,}$/TOKEN/; s/\(for [0-9]+ s\)/(for N s)/' "$1"; }
run diff <(alike readme.txt) <(alike shown.txt)
expect "the README shows what happens" "0:" "$status:$out"
sed -n '/^## With Java and Python/,$p' "$top_srcdir/README.md" |
    sed -n '/^```python$/,/^```$/{p;/^```$/q}' | sed '1d;$d' >lines
expect "and the lines that kazoo needs" "$(sed -n '/^class /,/^$/p' nightly.py)" "$(<lines)"
finish
