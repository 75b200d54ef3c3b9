#!/bin/bash
# What people and programs name of the command, the packages for Python and C++, the headers, metrics, log and unit is what
# tests/lint/interface.txt says, which grows with `./dev abi`. abi.sh demands that it has all that it had in a release.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

tracked=tests/lint/interface.txt
command -v python3 >/dev/null || {
    missing python3
    finish
}

differs() { # ROOT BUILD
    python3 -B "$top_srcdir/tests/lint/interface.py" "$1" "$2" compare 2>&1
}
expect_none "all is named as $tracked says" "$(differs "$top_srcdir" "$top_builddir")"
expect_none "no row is there twice" "$(sort "$top_srcdir/$tracked" | uniq -d)"

# A copy with many changes at once. The command's help is changed on its way.
copy=$scratch/copy
mkdir -p "$copy" "$scratch/build/tools"
(cd "$top_srcdir" && cp -r --parents include lib/session/stats.c man/headers.py man/zkl.1 python tools ./*.pc.in \
    examples/zkl-standby@.service "$tracked" "$copy")
chmod -R u+w "$copy"
printf '#!/bin/sh\n"%s" "$@" | sed -E -f "%s"\n' "$top_builddir/tools/zkl" "$scratch/edits" >"$scratch/build/tools/zkl"
chmod +x "$scratch/build/tools/zkl"
cat >"$scratch/plants" <<'PLANTS'
a verb that is gone|help|/^  limit /d|broken: verb limit
an option that is gone|help|/^  --and=/d|broken: option lock --and=
one that takes a value|help|s/^  --fixed-servers/&=HOW/|broken: option - --fixed-servers
one that takes none|help|s/^  --weight=[^ ]*/  --weight /|broken: option shards --weight=
one with another letter|help|s/^  -r, --recursive/  -R, --recursive/|broken: letter ls -r --recursive
a value that is gone|help|s/latch \(default\), selector/latch (default), chooser/|broken: word elect --layout selector
a hidden option that is gone|tools/command_line.c|s/\{"wait", 0, G_OPTION_FLAG_HIDDEN/{"tarry", 0, G_OPTION_FLAG_HIDDEN/|broken: option hidden --wait
a status of another number|tools/failure.h|s/STATUS_LOST = 75/STATUS_LOST = 76/|broken: status LOST 75
a status that a verb has no more|man/zkl.1|s/^\.It revoke Ta x/.It revoke Ta -/|broken: status revoke 0
a variable of the command's|tools/guard/environment.c|s/"ZKL_NODES", nodes/"ZKL_NODE_LIST", nodes/|broken: env command ZKL_NODES
one of the shards'|tools/shards.c|s/set_number\("ZKL_SHARDS"/set_number("ZKL_COUNT"/|broken: env command ZKL_SHARDS
one by a macro|tools/guard/deadline.h|s/"ZKL_DEADLINE"/"ZKL_UNTIL"/|broken: env command ZKL_DEADLINE
one that is not read|tools/connect.c|s/g_getenv\("ZKL_CONNECT"\)/NULL/|broken: env zkl ZKL_CONNECT
a member of a contender|tools/contenders.c|s/age_ms.": %/age.": %/|broken: json contender age_ms
one that a function writes|tools/contenders.c|s/out, "owner", name/out, "name", name/|broken: json contender owner
one of a run|tools/contenders.c|s/out, "due_ms", r/out, "due", r/|broken: json once due_ms
one of an event|tools/member.c|s/"event", words/"what", words/|broken: json member event
a line of --status-fd|tools/guard/guard_main.c|s/status_fd, "suspect"\)/status_fd, "doubt")/|broken: line suspect
one with a word more|tools/run.c|s/"released"\)/"released %d", 0)/|broken: line released
one of --on-lost|tools/guard/on_lost.c|s/\(o, "started"/(o, "begun"/|broken: line on-lost started %
the reason of a loss|tools/guard/termination.c|s/"outgrown", *$/"grown",/|broken: reason outgrown
a metric of another type|lib/session/stats.c|s/SAMPLE\(COUNTER, sessions,/SAMPLE(GAUGE, sessions,/|broken: metric zkl_sessions_total counter
a metric of the command's|tools/shards.c|s/zkl_shards_paused/zkl_shards_resting/|broken: metric zkl_shards_paused gauge
a label|lib/session/stats.c|s/FAILED\(denied, "denied"/FAILED(denied, "refused"/|broken: metric zkl_acquisition_failures_total{reason="denied"} counter
a metric of a path|lib/session/stats.c|s/(counts.held, )"grants_held"/\1"grants"/|broken: metric zkl_path_grants_held gauge
a bucket|lib/session/stats.c|s/"0\.05",/"0.02",/|broken: bucket 0.05
an event of the log|include/zkl/session.h|s/^ \*   numbers-end:/ *   numbers-over:/|broken: event numbers-end
one of two in a line|include/zkl/session.h|s/delete-refused, list-refused:/delete-refused:/|broken: event list-refused
a class that is not given|python/zkl/lock.py|s/"MultiLock", //|broken: python lock.MultiLock
a method of Python's|python/zkl/lock.py|s/def get_limit\(/def limit(/|broken: python lock.Semaphore.get_limit()
an attribute|python/zkl/election.py|s/^        self\.session = session/        self._session = session/|broken: python election.Election.session
another default|python/zkl/member.py|s/^        data: bytes = b"",/        data: bytes = b"x",/|broken: python member.Member() 3 data=b''
another place|python/zkl/barrier.py|s/def wait\(self, timeout/def wait(self, planted: int = 0, timeout/|broken: python barrier.Barrier.wait() 0 timeout=None
a parameter that must be given|python/zkl/barrier.py|s/(def remove\(self, timeout: Optional\[float\] = 0)/\1, *, planted: int/|broken: python barrier.Barrier.remove() planted
an exception of another class|python/zkl/errors.py|s/TimedOut\(NotAcquired, TimeoutError\)/TimedOut(NotAcquired)/|broken: python errors.TimedOut < TimeoutError
a member within a tuple|python/zkl/queue.py|s/^    number: int$/    planted: int\n&/|broken: python queue.Contender 2 number
a member of C++|include/zkl/mutex.hpp|s/\bdepth\(\)/levels()/|broken: cxx mutex.depth()
a macro|include/zkl/once.h|s/^#define ZKL_ONCE_OPTIONS_INIT/#define ZKL_ONCE_INIT/|broken: macro ZKL_ONCE_OPTIONS_INIT
a type of ZKL_AUTO()|include/zkl/cleanup.h|s/^    X\(zkl_once_run, /    X(zkl_run, /|broken: auto zkl_once_run
an inline function|include/zkl/cleanup.h|s/zkl_mutex_locker_free\(/zkl_mutex_locker_end(/|broken: inline zkl_mutex_locker_free
the file that the unit reads|examples/zkl-standby@.service|s,=/etc/zkl/standby/,=/etc/zkl/,|broken: unit zkl-standby@.service EnvironmentFile=/etc/zkl/standby/%i.conf
the path of its election|examples/zkl-standby@.service|s,zkl elect /standby/,zkl elect /,|broken: unit zkl-standby@.service PATH=/standby/%i
an option more|help|s/^  --slots=.*/&\n  --planted                      Planted/|new: option lock --planted
a member more|tools/ls.c|s/\\"holding\\": %zu, /&\\"planted\\": 0, /|new: json ls -r planted
a parameter more|python/zkl/barrier.py|s/(def set\(self, timeout: Optional\[float\] = 0)/\1, *, planted: int = 0/|new: python barrier.Barrier.set() planted=0
a member at a tuple's end|python/zkl/grant.py|s/^    version: int.*/&\n    planted: int = 0/|new: python grant.Change 4 planted
an error more|python/zkl/errors.py|s/^class Forked/class Planted(Error):\n    pass\n\n\n&/; s/^__all__ = \["Busy"/__all__ = ["Planted", "Busy"/|new: python errors.Planted < Error
PLANTS
while IFS='|' read -r what file edit _; do
    if [ "$file" = help ]; then
        echo "$edit" >>"$scratch/edits"
    else
        sed -i -E "$edit" "$copy/$file"
    fi
done <"$scratch/plants"
mv "$copy/include/zkl/watch.hpp" "$copy/include/zkl/watcher.hpp"
mv "$copy/zkl-glib.pc.in" "$copy/zkl-g.pc.in"
printf '%s\n' "a header|||broken: header zkl/watch.hpp" "a module of pkg-config|||broken: module zkl-glib" >>"$scratch/plants"
found=$(differs "$copy" "$scratch/build")
while IFS='|' read -r what _ _ row; do
    expect_some "sees $what" "$(grep -xF -e "$row" <<<"$found")"
done <"$scratch/plants"
expect_none "what is added breaks nothing" "$(grep ^broken: <<<"$found" | grep planted | grep -vxF 'broken: python barrier.Barrier.remove() planted')"
finish
