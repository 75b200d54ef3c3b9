#!/bin/bash
# zkl lock --metrics-file: what is in the file, and that nothing about it harms the lock; what zkl shards
# adds; the example's dashboards, and its rules, on series that fleets made (alerts.py).
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
before=$(date +%s)
run "$ZKL" lock "$L" --metrics-file "$prom" sh -c 'until [ -s "$prom" ]; do :; done; cp "$prom" "$prom.early"; tail -n 1 "$prom"; exit 3'
after=$(date +%s)
expect "the command's status" 3 "$status"
early=$(cat "$prom.early"; rm "$prom.early")
expect_match "a whole file" "^zkl_[a-z_]+\{path=\"/cli/metrics.\"quoted\"\} [0-9.]+$" "$out"
expect "nothing to say" "" "$err"
expect "one file, which others may read" "zkl.prom 644" "$(cd "$scratch" && stat -c '%n %a' zkl.prom*)"
for line in "zkl_acquisitions_total{$label} 1" "zkl_grants_held{$label} 0" "zkl_hold_seconds_count{$label} 1" \
    "zkl_wait_seconds_bucket{$label,le=\"+Inf\"} 1" "zkl_connected{$label} 0" \
    "zkl_grants_lost_total{$label,reason=\"deadline\"} 0" "zkl_path_acquisitions_total{$label} 1" "zkl_path_grants_held{$label} 0" \
    "zkl_oldest_wait_seconds{$label} 0.000" "zkl_session_timeout_seconds{$label} 30.000" "zkl_exit_status{$label} 3"; do
    expect "$line" 1 "$(grep -cxF "$line" "$prom")"
done
# When it was written, and when it ended: by the clock, and not before it is so.
value() { sed -n "s/^$1{.*} //p"; } # METRIC
written=$(value zkl_written_timestamp_seconds <<<"$early")
ended=$(value zkl_ended_timestamp_seconds <"$prom")
expect "is written in order" true "$([ "$before" -le "$written" ] && [ "$written" -le "$ended" ] && [ "$ended" -le "$after" ] && echo true)"
expect "the last time is the end" "$ended" "$(value zkl_written_timestamp_seconds <"$prom")"
expect "no end before the end" "1:" "$(value zkl_connected <<<"$early"):$(value 'zkl_e[a-z_]*' <<<"$early")"

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
    "zkl_grants_held{$label} 0" "zkl_connected{$label} 0" "zkl_exit_status{$label} 143" \
    'zkl_path_grants_held{path="/cli/metrics\"quoted/shards/1"} 0'; do
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

examples=$top_srcdir/examples/prometheus
rules=$examples/rules.yml dashboard=$examples/dashboard.json page=$examples/zkl.html
cat "$prom" >>"$scratch/all.prom"     # an end is only in the last
echo '# TYPE zkl_terms_lost_total counter' >>"$scratch/all.prom" # of zkl elect: alerts.py sees it
used() { grep -ohE '\bzkl_[a-z_]+' "$@" | sed -E 's/_(bucket|sum|count)$//' | sort -u; }
made() { sed -nE 's/^# TYPE (zkl_[a-z_]+) .*/\1/p' "$scratch/all.prom" | sort -u; }
expect "the example is about metrics that there are" "" "$(comm -23 <(used "$rules" "$dashboard" "$page") <(made))"
# Rules that compare a number that never comes back, and not what it was before: their alerts would never end.
endless() { # RULES
    grep -v '^ *#' "$1" | tr '\n' ' ' | sed 's/- alert:/\n&/g' | sed -nE 's/^- alert: (\w+) .*expr: (.*) labels:.*/\1 \2/p' |
        while read -r alert expr; do
            grep -oE '\bzkl_\w+_(total|least_seconds)\b' <<<"$expr" | sort -u | while read -r metric; do
                grep -qE "$metric(\{[^}]*\})?(\[| offset )" <<<"$expr" || echo "$alert: $metric"
            done
        done
}
expect "every alert can end" "" "$(endless "$rules")"
sed 's/ offset 10m//' "$rules" >"$scratch/endless.yml"
expect "sees one that cannot" "ZklDeadlineNear: zkl_deadline_left_least_seconds" "$(endless "$scratch/endless.yml")"
if command -v promtool >/dev/null && command -v python3 >/dev/null; then
    expect "promtool: metrics" 0 "$(promtool check metrics <"$prom" >/dev/null 2>&1; echo $?)"
    run promtool check rules "$rules"
    expect "promtool: rules" 0 "$status"
    series=$top_srcdir/tests/cli/alerts.series
    alerts() { python3 -B "$top_srcdir/tests/cli/alerts.py" "$@"; }
    run alerts test "$rules" "$series"
    expect "each rule in each scenario" 0 "$status"
    echo "$out"
    expect "the guide's table" "" "$(grep -vxFf "$top_srcdir/docs/guide/operations.md" <<<"$out")"
    run alerts day "$rules" "$series"
    expect "24 hours of a healthy fleet" 0 "$status"
    # Each rule taken out, and each made looser or stricter: another table.
    while read -r alert; do
        awk -v alert="$alert" '/- alert: / { out = $3 == alert } !out' "$rules" >"$scratch/rules.yml"
        run alerts test "$scratch/rules.yml" "$series"
        expect "sees no $alert" 3 "$status"
    done < <(sed -n 's/.*- alert: //p' "$rules")
    while IFS='|' read -r what scenario edit; do
        tr '\n' '\f' <"$rules" | sed -E "$edit" | tr '\f' '\n' >"$scratch/rules.yml"
        expect "$what: an edit" 1 "$(cmp -s "$rules" "$scratch/rules.yml"; echo $?)"
        run alerts test "$scratch/rules.yml" "$series" "$scenario"
        expect "sees $what" 3 "$status"
    done <<'END'
a loss that is counted|restless|s/(increase\(zkl_grants_lost_total[^>]*>) 0/\1 9/
a loss of a term|deposed|s/(terms_lost_total\[10m\]\) >) 0/\1 9/
any end as a loss|ended|s/zkl_exit_status == 75/zkl_exit_status == 0/
a moment without a server|restless|s/for: 1m/for: 0s/
an end as an outage|ended|s/(zkl_connected == 0)\f *unless[^\f]*/\1/
a deadline that is near at once|healthy at 10 s|s/(min_over_time[^<]*<) 0\.2/\1 0.7/
a least that is near at once|healthy at 10 s|s/(zkl_deadline_left_least_seconds . zkl_session_timeout_seconds <) 0\.2/\1 0.7/
a least that is never near|cut for 8 s of 10|s/(zkl_deadline_left_least_seconds . zkl_session_timeout_seconds <) 0\.2/\1 0.01/
a standby behind a holder|healthy at 10 s|s/\f *unless on \(path\) sum by[^:]*> 0\f/\f/
a killed host as a holder|stuck shard|s/\(\.\*\?\)\(\/shards\/\[0-9\]\+\)\?/(.*)/g
a wait that is never long|stuck|s/\) > 3\f/) > 3000\f/
a standby that waits|healthy at 10 s|s/\{path=~[^}]*\}//
a job of a week|hung job|s/> 4 \* 3600/> 168 * 3600/
a session that nobody used|now and then|s/\f *and increase\(zkl_disconnections_total[^\f]*//
a hundred sessions|restless|s/(zkl_sessions_total\[1h\]\) >) 3/\1 100/
any end as a refusal|ended|s/zkl_exit_status == 77/zkl_exit_status == 0/
a shard that is not paused for long|paused|s/for: 5m\f/for: 50m\f/g
another's lock as a failure|ended|s/zkl_exit_status > 1/zkl_exit_status > 0/
an order to end as a failure|ended|s/ != 143//
one who is silent for long|killed|s/(expr: >-\f *time\(\) - zkl_written_timestamp_seconds >) 60/\1 6000/
a job that is due|overdue|s#(once_due_timestamp_seconds >) 3600#\1 36000#
one who has ended, as killed|ended|s/(time\(\) - zkl_written_timestamp_seconds > 60)\f *unless[^\f]*/\1/
END
    # A short fleet of today's.
    run alerts record "$scratch/live.series" 60 "healthy at 30 s" "ended" "failed" "lost" "deposed"
    expect "a fleet is recorded" "0:" "$status:$err"
    run alerts test "$rules" "$scratch/live.series"
    expect "each rule in each scenario of that fleet" 0 "$status"
    echo "$out"
else
    missing "promtool or python3" "the rules"
fi
# The console's page, as Prometheus makes it; console.py makes a picture of it.
serve_page() {
    port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
    prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.console.templates="$examples" \
        --web.console.libraries="$examples" --web.listen-address="127.0.0.1:$port" >"$scratch/prometheus.log" 2>&1 &
    server=$!
    remember $server
}
# shellcheck disable=SC2317
page_shows() { # TEXT...
    local text
    ! gone "$server" || serve_page # another one may have taken the port
    exec 8<>"/dev/tcp/127.0.0.1/$port" || return
    printf 'GET /consoles/zkl.html HTTP/1.0\r\n\r\n' >&8
    fetched=$(cat <&8)
    exec 8>&-
    for text; do grep -qF "$text" <<<"$fetched" || return 1; done
}
served_as() { # SED
    sed -E "$1" "$prom" >"$scratch/served/metrics.new"
    [ $# = 1 ] || cat "$2" >>"$scratch/served/metrics.new"
    mv "$scratch/served/metrics.new" "$scratch/served/metrics"
}
shown() { # WHAT TEXT...
    if wait_until "$1" page_shows "${@:2}"; then pass "$1"; fi
}
if command -v prometheus >/dev/null && command -v python3 >/dev/null; then
    mkdir "$scratch/served"
    twice='s/^(zkl_path_grants_lost_total\{.*shards\/1"\}) 0/\1 2/' # before the first scrape
    served_as "$twice"
    python3 -u -m http.server --bind 127.0.0.1 --directory "$scratch/served" 0 >"$scratch/served.out" 2>&1 &
    exporter=$!
    remember "$exporter"
    wait_until "metrics are served" grep -q ' port [0-9]' "$scratch/served.out"
    host=127.0.0.1:$(sed -nE 's/.* port ([0-9]+).*/\1/p' "$scratch/served.out")
    cat >"$scratch/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$rules"]
scrape_configs:
  - job_name: zkl
    static_configs: [{targets: ["$host"]}]
END
    serve_page
    shown "the console's page" '/cli/metrics&#34;quoted/shards/1' 'ended with 143' 'none fires' '<td class="n">2</td></tr>'
    # A holder whose file is an hour ahead; and the same whose file is old: it was killed, and nobody holds.
    holds="$twice; /^zkl_(exit_status|ended_timestamp_seconds)/d"
    holds="$holds; s/^(zkl_path_grants_held.*shards\/1\"\} ).*/\11/; s/^(zkl_connected.* ).*/\11/"
    served_as "$holds; s/^(zkl_written_timestamp_seconds.* ).*/\1$(($(date +%s) + 3600))/"
    shown "a holder on the console's page" "quoted/shards/1</td><td>$host</td>" '<td>connected</td>'
    served_as "$holds; s/^(zkl_written_timestamp_seconds.* ).*/\11/"
    shown "an alert on the console's page" 'ZklKilled' '>killed<' 'quoted/shards/1</td><td>-</td>'
    # What was lost is counted by how zkl ended, and by the terms of a leader.
    cat >"$scratch/lost" <<END
zkl_connected{path="/lost"} 0
zkl_path_grants_held{path="/lost"} 0
zkl_path_grants_lost_total{path="/lost"} 0
zkl_exit_status{path="/lost"} 75
zkl_ended_timestamp_seconds{path="/lost"} $(date +%s)
zkl_path_grants_held{path="/terms"} 0
zkl_path_grants_lost_total{path="/terms"} 0
zkl_terms_lost_total{path="/terms"} 3
END
    served_as "$twice" "$scratch/lost"
    shown "losses on the console's page" "<tr class=\"bad\"><td>$host</td><td class=\"p\">/lost</td>" 'ended with 75' '<td class="n">1</td></tr>' \
        '<td class="n">3</td></tr>'
    kill "$exporter"
    shown "one who is not scraped" '>not scraped<'
else
    missing "prometheus or python3" "the console's page"
fi
if command -v python3 >/dev/null; then
    run python3 -m json.tool "$dashboard"
    expect "the dashboard is JSON" 0 "$status"
else
    missing python3 "the dashboard"
fi
finish
