# ./dev fuzz: each target under libFuzzer for its share of the time, two at a time. An input that
# breaks a promise goes to the corpus, where `make check` sees it; of the others those that reach
# something new are merged into it.
# shellcheck shell=bash disable=SC2154

fuzz() { # SECONDS
    local seconds=$1 targets=() share
    [[ $seconds =~ ^[0-9]+$ ]] || die "fuzz takes a number of seconds, not \"$seconds\""
    build fuzz tests/fuzz/fuzzer tests/fuzz/replay
    mapfile -t targets < <(grep -oE '\{"[a-z]+"' tests/fuzz/targets.c | tr -d '{"')
    share=$((10#$seconds * 2 / ${#targets[@]}))
    ((share > 0)) || share=1
    say "${#targets[@]} targets, $share s each"
    if ! printf '%s\n' "${targets[@]}" | xargs -n 1 -P 2 env "share=$share" bash build-aux/dev.d/fuzz-target.sh; then
        grep -E '^(crash|leak|timeout|oom)-' tests/fuzz/corpus/* || true
        die "fuzz: promises were broken, by the inputs above; see _build/log/fuzz-*.log"
    fi
    say "fuzz: no promise was broken"
}
