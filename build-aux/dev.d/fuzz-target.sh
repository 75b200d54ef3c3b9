#!/bin/bash
# One target for $share seconds, begun by fuzz.sh from the root. What is new goes to a folder of its
# own first; the corpus takes of it what reaches something that the corpus does not. It is one text
# file, and libFuzzer wants a folder.
set -eu
: "${share:?}"
target=$1
fuzzer=$PWD/_build/fuzz/tests/fuzz/fuzzer
replay=$PWD/_build/fuzz/tests/fuzz/replay
corpus=$PWD/_build/fuzz/corpus/$target
found=$PWD/_build/fuzz/found/$target
log=$PWD/_build/log/fuzz-$target.log
export FUZZ_TARGET=$target G_SLICE=always-malloc

# Short inputs and none twice, so that the corpus stays something that one can read.
run() { # ARG…
    "$fuzzer" -close_fd_mask=3 -max_len=512 -timeout=20 -rss_limit_mb=2048 \
        -artifact_prefix="$corpus/" "$@" </dev/null >>"$log" 2>&1
}

rm -rf "$corpus"
mkdir -p "$found"
: >"$log"
"$replay" --unpack "$target" "$corpus"
status=ok
if run -max_total_time="$share" -print_final_stats=1 "$found" "$corpus"; then
    # By places alone and not by how often each was passed, or there would be hundreds.
    run -merge=1 -use_counters=0 "$corpus" "$found" || status=BROKEN
else
    status=BROKEN
fi
"$replay" --pack "$target" "$corpus"
printf '  %-9s %-7s %10s inputs, %5s places reached, %3s of them in the corpus\n' "$target" "$status" \
    "$(grep -oE '^stat::number_of_executed_units: +[0-9]+' "$log" | grep -oE '[0-9]+$' | head -n 1)" \
    "$(grep -oE 'cov: [0-9]+' "$log" | grep -oE '[0-9]+' | sort -n | tail -n 1)" "$(find "$corpus" -type f | wc -l)"
[ "$status" = ok ]
