#!/bin/bash
# Which way the layers look: include <- recipes <- lib <- tests, and tools -> include; within lib as common.sh says.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

pure_headers='stdint.h stdbool.h stddef.h string.h limits.h assert.h'
c99_headers="$pure_headers inttypes.h stdarg.h stdio.h stdlib.h errno.h time.h"
cxx_headers='atomic chrono cstddef cstdint cstdio exception functional memory mutex optional stop_token string string_view '
cxx_headers+='system_error type_traits unordered_map utility vector'

# The file that an #include means, as a path from the root, in $target; system headers as they are
# written. There are thousands: a process only where folders have to be gone up.
resolve() { # ROOT FILE HEADER
    for target in "${2%/*}/$3" "$3" "include/$3"; do
        if [ -e "$1/$target" ] || [ -e "$1/$target.in" ]; then
            [[ $target != *./* ]] || target=$(cd "$1" && realpath -m --relative-to=. "$target")
            return
        fi
    done
    target=$3
}

# May a file in lib/FROM include one in lib/TO?
below() { # FROM TO
    [ "$1" = "$2" ] || in_list "${folders_below[$1]-}" "$2"
}

folder() { # PATH below lib
    local rest=${1#lib/}
    echo "${rest%%/*}"
}

# May FILE include TARGET, a path as resolve() gives it?
allowed() { # FILE TARGET
    case $2 in
    *zookeeper.h | zookeeper/*) [[ $1 =~ ^(lib/(store|lock)/store_zk(_[a-z]+)?\.[ch]|include/zkl-zookeeper\.h|tools/children\.c|tests/.*|bench/.*)$ ]] ;;
    tests/*) [[ $1 == tests/* ]] ;;
    tools/guard/cgroup_path.h | tools/guard/pace.h | tools/guard/tree.h | tools/duration.h | tools/failure.h) [[ $1 =~ ^(tools|tests)/ ]] ;; # pure
    tools/guard/processes.h | tools/guard/ps_name.h) [[ $1 =~ ^(tools|tests/unit|tests/fuzz)/ ]] ;; # they know nothing else of tools/
    tools/guard/shared.h | tools/guard/deadline.h) [[ $1 =~ ^(tools|tests/unit|tests/fuzz)/ ]] ;; # memory, and nothing else of tools/
    tools/guard/* | tools/credentials_shared.h | tools/events.h | tools/orphan.h | tools/terminal.h | tools/tool.h) [[ $1 =~ ^(tools|tests/fuzz)/ ]] ;;
    tools/*) [[ $1 =~ ^(tools|tests/fuzz)/ && $1 != tools/guard/* ]] ;;
    examples/* | bench/*) [ "${1%%/*}" = "${2%%/*}" ] ;;
    lib/store/store_zk*.h) [[ $1 =~ ^(lib/(store|lock)/store_zk|tests/unit/store_|tests/live/xid) ]] ;;
    lib/*) [[ $1 == tests/* ]] || { [[ $1 == lib/* ]] && below "$(folder "$1")" "$(folder "$2")"; } ;;
    recipes/shard.h) [[ $1 =~ ^(recipes|lib|tests|tools)/ ]] ;; # zkl shards decides as libzkl does
    recipes/*) [[ $1 =~ ^(recipes|lib|tests)/ ]] ;;
    include/*.hpp) [[ $1 =~ ^(include|examples|tests)/.*\.[ch]pp$ ]] ;;
    include/*) [[ $1 != recipes/* ]] ;;
    glib*.h | gio/*) [[ $1 != recipes/* && ($1 != include/* || $1 == include/zkl-glib.h) ]] ;;
    *)
        case $1 in
        recipes/*) in_list "$pure_headers" "$2" ;;
        include/*.hpp) in_list "$cxx_headers" "$2" ;;
        include/*) in_list "$c99_headers" "$2" ;;
        esac
        ;;
    esac
}

# Every include that looks the wrong way, one "file: header" a line.
offences() { # ROOT
    local file header target
    (cd "$1" && grep -rEo --include='*.[ch]' --include='*.[ch]pp' --include='*.h.in' \
        '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]+[>"]' \
        recipes lib include tools examples bench tests 2>/dev/null) |
        sed -E 's/:.*[<"]([^>"]+)[>"]$/ \1/' |
        while read -r file header; do
            resolve "$1" "$file" "$header"
            allowed "$file" "$target" || echo "$file: $header"
        done
}

expect_none "layers look the right way" "$(offences "$top_srcdir")"

# Each line plants one offence in an otherwise empty tree.
while read -r file header; do
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree"/{recipes,lib/{base,store,session,grant,lock,queue,member},include/zkl,tools/guard,examples,bench,tests/support}
    touch "$tree"/{recipes/name,include/zkl,tools/tool,tools/hold,tests/support/server}.h "$tree/include/zkl.hpp"
    touch "$tree"/lib/{base/log,store/store,store/store_zk,session/core,grant/grant,lock/handle,queue/queue,member/member}.h
    echo "#include $header" >"$tree/$file"
    expect_some "sees $header in $file" "$(offences "$tree")"
done <<'PLANTED'
recipes/name.c <stdlib.h>
recipes/name.c <time.h>
recipes/name.c <glib.h>
recipes/name.c <zkl.h>
recipes/name.c "../lib/store/store.h"
include/zkl/lock.h <glib.h>
include/zkl/lock.h <pthread.h>
include/zkl/lock.h "lib/store/store.h"
include/zkl/lock.h <zookeeper/zookeeper.h>
include/zkl.h <zkl.hpp>
include/zkl.hpp <pthread.h>
include/zkl.hpp <thread>
lib/session/driver.c <zkl.hpp>
lib/session/driver.c <zookeeper/zookeeper.h>
tools/hold.c <zookeeper/zookeeper.h>
lib/session/driver.c <zkl-zookeeper.h>
lib/session/driver.c "lib/store/store_zk.h"
lib/session/driver.c "tools/tool.h"
lib/session/driver.c "tests/support/server.h"
lib/base/driver.c "lib/store/store.h"
lib/base/driver.c "../grant/grant.h"
lib/grant/driver.c "lib/lock/handle.h"
lib/store/driver.c "lib/session/core.h"
lib/session/driver.c "lib/grant/grant.h"
lib/session/driver.c "lib/queue/queue.h"
lib/lock/driver.c "lib/queue/queue.h"
lib/lock/driver.c "lib/member/member.h"
lib/queue/driver.c "lib/grant/grant.h"
tools/main.c "recipes/name.h"
tools/main.c "../lib/store/store.h"
tools/main.c <zookeeper.h>
tools/guard/main.c "../hold.h"
examples/lock.c "lib/store/store.h"
examples/lock.c "tools/tool.h"
bench/main.c "lib/store/store.h"
PLANTED
finish
