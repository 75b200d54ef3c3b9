#!/bin/bash
# Each kind of lock is tried while another is held on the same path, which shows which kind waits for which.
# These are facts about the other libraries, in the versions that are here, which zkl's formats and
# the table in recipes/rule.c rest upon. A holder of zkl must see whoever waits for it.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
begin_peers
pairs=0

# Names of what no program here makes, or of no lock.
uuid=_c_2f1a3c5e-7b9d-4f1e-8a2c-4e6f8a0b2c4d
declare -A node_of=([zoo_lock.c]=x-0100f6a2c3d4e5b7- [zk-ruby]=ex [latch]=$uuid-latch- [lease]=$uuid-lease-)

# What WAITER makes of HOLDER.
tried() { # WAITER HOLDER
    local path waiter holder node=${node_of[$2]-}
    pairs=$((pairs + 1)) path=/interop/pair$pairs
    waiter=$(family_of "$1")2 holder=$(family_of "$2")1
    if [ -n "$node" ]; then
        "$ADMIN" create $path "" && "$ADMIN" sequence "$path/$node" ""
    else
        ask "$holder" "hold $path $2"
        [[ $answer = "ok "* ]] || fail "$2 is held" "$answer"
    fi
    ask "$waiter" "try $path $1"
    case $answer in
    busy) verdict=waits ;;
    "ok "*)
        verdict=passes
        ask "$waiter" release
        ;;
    "error: the directory has children of an incompatible recipe") verdict=refuses ;;
    *) verdict=$answer ;;
    esac
    if [ -n "$node" ]; then
        "$ADMIN" delete "$path/${node}0000000000"
    else
        ask "$holder" release
        expect "$2 is let go" ok "$answer"
    fi
    expect_empty "$1 beside $2: nothing is left" "$path"
}

are_two() { # PATH
    [ "$("$ADMIN" list "$1" | wc -l)" = 2 ]
}

hears_of_it() { # NAME
    ask "$1" wanted
    [ "$answer" != "ok 0" ]
}

# HOLDER, of zkl, hears that WAITER waits for it, and so do those who list.
seen() { # WAITER HOLDER
    local path=/interop/pair$pairs-seen waiter holder
    waiter=$(family_of "$1")2 holder=$(family_of "$2")1
    ask "$holder" "hold $path $2"
    tell "$waiter" "hold $path $1"
    wait_until "$1 waits" are_two $path
    ask "$holder" heed
    wait_until "$2 hears that $1 waits" hears_of_it "$holder"
    run "$ZKL" ls --json $path
    expect "one of them holds" "0:1" "$status:$(grep -c '"state": "holds"' "$scratch/out")"
    ask "$holder" release
    hear "$waiter"
    expect_match "$1 has waited for $2" "^ok " "$answer"
    ask "$waiter" release
}

# The first line names the holders, the others a waiter each and what it does.
table() {
    local holders waiter wanted i
    read -r -a holders
    while read -r waiter wanted; do
        local found=()
        for i in "${!holders[@]}"; do
            tried "$waiter" "${holders[i]}"
            found+=("$verdict")
        done
        read -r -a wanted <<<"$wanted"
        for i in "${!holders[@]}"; do
            expect "$waiter ${wanted[i]} where ${holders[i]} holds" "${wanted[i]}" "${found[i]}"
            [[ ${wanted[i]} != waits || ${holders[i]} != zkl* ]] || seen "$waiter" "${holders[i]}"
        done
    done
}

start_lockers 2
"$ADMIN" create /interop ""
# Where a lock that zkl would not wait for is first, it refuses to be next. No package has zoo_lock.c:
# a node with a name of its stands there in its place.
table <<'T'
              zkl    zkl-kazoo curator kazoo-curator kazoo  apache  zoo_lock.c
zkl           waits  waits     waits   waits         waits  waits   waits
zkl-retain    waits  waits     waits   waits         waits  waits   waits
zkl-multi     waits  waits     waits   waits         waits  waits   waits
zkl-kazoo     waits  waits     waits   waits         waits  refuses refuses
zkl-read      waits  waits     waits   waits         waits  refuses refuses
zkl-write     waits  waits     waits   waits         waits  refuses refuses
curator       waits  passes    waits   waits         passes passes  passes
kazoo-curator waits  passes    waits   waits         passes passes  passes
kazoo-extra   waits  waits     waits   waits         waits  passes  passes
kazoo         passes waits     passes  passes        waits  passes  passes
apache        waits  passes    waits   waits         passes waits   waits
T
# Either side of a read-write lock. The waiting kazoo with extra patterns sees Curator's, not the
# reverse; zkl sees all.
table <<'T'
                    zkl-read zkl-write curator-read curator-write kazoo-curator-read kazoo-curator-write kazoo-read kazoo-write
zkl-read            passes   waits     passes       waits         passes             waits               passes     waits
zkl-write           waits    waits     waits        waits         waits              waits               waits      waits
curator-read        passes   waits     passes       waits         passes             waits               passes     passes
curator-write       waits    waits     waits        waits         waits              waits               passes     passes
kazoo-curator-read  passes   waits     passes       waits         passes             waits               passes     passes
kazoo-curator-write waits    waits     waits        waits         waits              waits               passes     passes
kazoo-read          passes   passes    passes       passes        passes             passes              passes     waits
kazoo-write         passes   passes    passes       passes        passes             passes              waits      waits
kazoo-extra-read    passes   waits     passes       waits         passes             waits               passes     waits
kazoo-extra-write   waits    waits     waits        waits         waits              waits               waits      waits
T
# A mutex and a read-write lock do not mix, except where kazoo gives both the same name. Only those of
# zkl notice, and its readers and writers wait for what came first.
table <<'T'
              zkl-read zkl-write curator-read curator-write kazoo-read kazoo-write
zkl           refuses  refuses   refuses      refuses       refuses    waits
curator       passes   passes    passes       passes        passes     passes
kazoo         passes   passes    passes       passes        passes     waits
T
table <<'T'
              zkl    curator kazoo
zkl-read      waits  waits   waits
zkl-write     waits  waits   waits
curator-read  passes passes  passes
curator-write passes passes  passes
kazoo-read    passes passes  waits
kazoo-write  passes passes  waits
T
# What is no lock: only ZooKeeper's own lock goes by the number alone.
table <<'T'
              latch   lease   zk-ruby
zkl           refuses refuses refuses
zkl-read      refuses refuses refuses
curator       passes  passes  passes
curator-write passes  passes  passes
kazoo         passes  passes  passes
kazoo-extra   passes  passes  passes
apache        waits   waits   passes
T
table <<'T'
              zkl-read zkl-write
apache        passes   passes
kazoo-extra   passes   passes
T
expect_quiet
end_peers
finish
