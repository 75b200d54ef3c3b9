#!/bin/bash
# zkl lock --metrics-file: what is in the file, and that nothing about it harms the lock; what zkl shards
# adds; the example's rules and dashboard, which are about these metrics.
# The quoted commands are for the shells that zkl runs.
# shellcheck disable=SC2016
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
: "${top_srcdir:=$PWD}"
L='/cli/metrics"quoted'
label='path="/cli/metrics\"quoted"'
prom=$scratch/zkl.prom

# The command sees a whole file, and what is counted is there when all is over.
export prom
run "$ZKL" lock "$L" --metrics-file "$prom" sh -c 'until [ -s "$prom" ]; do :; done; tail -n 1 "$prom"; exit 3'
expect "the command's status" 3 "$status"
expect_match "a whole file" "^zkl_[a-z_]+\{path=\"/cli/metrics.\"quoted\"\} [0-9.]+$" "$out"
expect "nothing to say" "" "$err"
expect "one file, which others may read" "zkl.prom 644" "$(cd "$scratch" && stat -c '%n %a' zkl.prom*)"
for line in "zkl_acquisitions_total{$label} 1" "zkl_grants_held{$label} 0" "zkl_hold_seconds_count{$label} 1" \
    "zkl_wait_seconds_bucket{$label,le=\"+Inf\"} 1" "zkl_connected{$label} 1" \
    "zkl_grants_lost_total{$label,kind=\"deadline\"} 0"; do
    expect "$line" 1 "$(grep -cxF "$line" "$prom")"
done

"$ZKL" lock "$L" sh -c 'touch "$1"; exec sleep 1000' sh "$scratch/held" &
remember $!
wait_until "another one holds it" test -e "$scratch/held"
run "$ZKL" lock -n "$L" --metrics-file "$prom" true
expect "a lock that is held" 1 "$status"
expect "is counted as busy" 1 "$(grep -cxF "zkl_acquisition_failures_total{$label,reason=\"busy\"} 1" "$prom")"

# No file, and a file system that hangs: the temporary file is a FIFO that nobody reads.
run "$ZKL" lock /cli/metrics --metrics-file "$scratch/none/zkl.prom" sh -c 'exit 3'
expect "no folder: the command's status" 3 "$status"
expect_match "no folder: one message" "^zkl: --metrics-file: .*/none/zkl.prom: No such file or directory$" "$err"
mkfifo "$scratch/fifo"
mkdir "$scratch/folder"
echo kept >"$scratch/regular"
ln -s /dev/null "$scratch/link"
ln -s regular "$scratch/to_file"
ln -s nothing "$scratch/dangling"
ln -s /proc/self/fd/1 "$scratch/stdout" # as /dev/stdout is one
specials=(dangling fifo folder link stdout to_file)
kinds() { (cd "$scratch" && stat -c '%N %F' "${specials[@]}" regular && cat regular); }
before=$(kinds)
for special in "${specials[@]}"; do # run's stdout is a regular file
    run "$ZKL" lock /cli/metrics --metrics-file "$scratch/$special" sh -c 'exit 3'
    expect "no regular file: $special" "3::zkl: --metrics-file: $scratch/$special: not a regular file" "$status:$out:$err"
done
expect "no regular file: they stay" "$before" "$(kinds)"
run bash -c 'mkfifo "$1.$$"; exec "$ZKL" lock /cli/metrics --metrics-file "$1" sh -c "exit 3"' bash "$scratch/hangs"
expect "a file that hangs: the command's status" "3:" "$status:$err"
expect_no_node "and the lock is free" /cli/metrics

# Two shards, one of which fails. Those of the session are all there when it has been renewed.
"$ZKL" shards --session-timeout 8 "$L" 2 --id x --metrics-file "$prom" -- sh -c '[ $ZKL_SHARD = 1 ] || exit 3; exec sleep 1000' 2>"$scratch/shards.err" &
shards=$!
remember "$shards"
# shellcheck disable=SC2317
one_fails() {
    cp "$prom" "$scratch/all.prom" && grep -qxF "zkl_shards_running{$label} 1" "$scratch/all.prom" &&
        grep -qxF "zkl_shards_paused{$label} 1" "$scratch/all.prom" && grep -q "^zkl_deadline_left_least_seconds" "$scratch/all.prom"
}
if wait_until "one shard of two fails" one_fails; then pass "one shard of two fails"; fi
kill -TERM "$shards"
status_of "$shards"
expect "the host ends as it was told" 143 "$?"
for line in "# TYPE zkl_shards_running gauge" "zkl_shards_running{$label} 0" "# TYPE zkl_shards_paused gauge" "zkl_shards_paused{$label} 0" \
    "zkl_grants_held{$label} 0" "zkl_connected{$label} 1"; do
    expect "$line" 1 "$(grep -cxF "$line" "$prom")"
done

# ---- work that is run once ----

run "$ZKL" once --every 1h "$L/once" -- true
expect "a run" "0:" "$status:$err"
run "$ZKL" once "$L/once" --status --metrics-file "$scratch/once.prom"
expect_match "when it is due" "^zkl_once_due_timestamp_seconds[{]path=\"${L//\"/.\"}/once\"[}] [0-9]*[.][0-9]*\$" \
    "$(grep '^zkl_once_due' "$scratch/once.prom")"
cat "$scratch/once.prom" >>"$scratch/all.prom"

# ---- the example ----

rules=$top_srcdir/examples/prometheus/rules.yml dashboard=$top_srcdir/examples/prometheus/dashboard.json
used() { grep -ohE '\bzkl_[a-z_]+' "$@" | sed -E 's/_(bucket|sum|count)$//' | sort -u; }
made() { sed -nE 's/^# TYPE (zkl_[a-z_]+) .*/\1/p' "$scratch/all.prom" | sort -u; }
expect "the example is about metrics that there are" "" "$(comm -23 <(used "$rules" "$dashboard") <(made))"
# Rules that compare a number that never comes back, and not what it was before: their alerts would never end.
endless() { # RULES
    grep -v '^ *#' "$1" | tr '\n' ' ' | sed 's/- alert:/\n&/g' | sed -nE 's/^- alert: (\w+) .*expr: (.*) labels:.*/\1 \2/p' |
        while read -r alert expr; do
            grep -oE '\bzkl_\w+_(total|least_seconds)\b' <<<"$expr" | sort -u | while read -r metric; do
                grep -qE "$metric(\{[^}]*\})?\[" <<<"$expr" || echo "$alert: $metric"
            done
        done
}
expect "every alert can end" "" "$(endless "$rules")"
sed 's/changes(.*) > 0/1/' "$rules" >"$scratch/endless.yml"
expect "sees one that cannot" "ZklDeadlineNear: zkl_deadline_left_least_seconds" "$(endless "$scratch/endless.yml")"
if command -v promtool >/dev/null; then
    expect "promtool: metrics" 0 "$(promtool check metrics <"$scratch/all.prom" >/dev/null 2>&1; echo $?)"
    run promtool check rules "$rules"
    expect "promtool: rules" 0 "$status"
    run promtool test rules "$top_srcdir/examples/prometheus/rules_test.yml"
    expect "promtool: the rules' own tests" 0 "$status"
else
    missing promtool "the rules"
fi
if command -v python3 >/dev/null; then
    run python3 -m json.tool "$dashboard"
    expect "the dashboard is JSON" 0 "$status"
else
    missing python3 "the dashboard"
fi
finish
