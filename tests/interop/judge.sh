#!/bin/bash
# The judge of histories accepts good ones and rejects each kind of bad one.
# shellcheck disable=SC2154
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=tests/interop/peers.sh
. "$(dirname "$0")/peers.sh"
need_kazoo
begin

# The history is on standard input: of a turn two lines "NANOSECONDS begin|end KIND PID TOKEN[.TURN] COUNT", or one
# "BEGIN-END KIND PID TOKEN[.TURN] FOUND-LEFT".
take_history() {
    sed -E 's/^([0-9]+)-([0-9]+) (.*) ([0-9]+)-([0-9]+)$/\1 begin \3 \4\n\2 end \3 \5/' |
        sed -E 's/^(.*) (\S+) (\S+) (\S+) ([0-9]+)(\.([0-9]+))? (\S+)$/\1 0 \4 \2 \8 \5 0\7 \3/' >"$scratch/history"
}

judged() { # WHAT VERDICT COUNTER LEAST PID=GRANTS...
    local what=$1 verdict=$2
    take_history
    echo "7 $3" >"$scratch/counter"
    shift 3
    run "$python" -B "$here/judge.py" "$scratch/counter" "$scratch/history" "$@"
    expect "$what" "$verdict" "$status:$out"
}

judge_waits() {
    take_history
    "$python" -B "$here/judge.py" --waits "$scratch/history"
}

judged "two take turns" "0:2 increments, 0 lost, 0 overlaps" 2 1 11=1 12=1 <<'H'
100-200 zkl 11 5 0-1
200-300 curator 12 7 1-2
H
judged "turns of one token" "0:4 increments, 0 lost, 0 overlaps" 4 1 11=3 12=1 <<'H'
100-200 zkl-retain 11 5 0-1
200-210 zkl-retain 11 5.1 1-2
220-230 zkl-retain 11 5.10 2-3
240-300 curator 12 7 3-4
H
judged "turns that fall" $'1:3 increments, 0 lost, 0 overlaps\n2 tokens do not rise' 3 1 11=3 <<'H'
100-200 zkl-retain 11 5.9 0-1
200-210 zkl-retain 11 5.2 1-2
220-230 zkl-retain 11 5.2 2-3
H
judged "lines of one instant come in any order" "0:2 increments, 0 lost, 0 overlaps" 2 1 11=1 12=1 <<'H'
200 begin curator 12 7 1
100 begin zkl 11 5 0
300 end curator 12 7 2
200 end zkl 11 5 1
H
judged "readers overlap" "0:1 increments, 0 lost, 0 overlaps, 2 reads, 2 at once, longest wait 0 ms" 1 1 11=1 12=1 13=1 <<'H'
100-110 curator-write 13 4 0-1
120-200 curator-read 11 5 1-1
150-300 kazoo-read 12 6 1-1
H
judged "readers one behind the other" "0:0 increments, 0 lost, 0 overlaps, 3 reads, 1 at once, longest wait 7 ms" 0 1 11=2 12=1 <<'H'
100-200 zkl-read 11 5 0-0
200-300 curator-read 12 6 0-0
7000200-7000300 zkl-read 11 8 0-0
H
judged "numbers of several" "0:0 increments, 0 lost, 0 overlaps, 3 with numbers, 2 at once, 0 twice" 0 1 11=1 12=1 13=1 <<'H'
100-200 zkl-numbered 11 5 3-3
110-300 zkl-numbered 12 6 4-4
200-310 zkl-numbered 13 4 2-2
H
expect "the longest wait of each kind" "zkl-read 7 ms, zkl-write 0 ms" "$(judge_waits <<'H'
100-200 zkl-read 11 5 0-0
300-400 zkl-write 12 6 0-1
7000200-7000300 zkl-read 11 8 1-1
H
)"
judged "two of two permits" "0:0 increments, 0 lost, 0 overlaps, 3 reads, 2 at once, longest wait 0 ms" 0 1 11=1 12=1 13=1 <<'H'
100-200 zkl-permit2 11 5 0-0
150-300 curator-permit2 12 6 0-0
200-300 zkl-permit2 13 7 0-0
H
judged "two permits at once, and one" "0:0 increments, 0 lost, 0 overlaps, 3 reads, 3 at once, longest wait 0 ms" 0 1 11=1 12=1 13=1 <<'H'
100-200 zkl-permit3x2 11 5 0-0
150-300 curator-permit3 12 6 0-0
200-300 curator-permit3x2 13 7 0-0
H
judged "nothing happened, as was wanted" "0:0 increments, 0 lost, 0 overlaps" 0 0 </dev/null

judged "an overlap without loss" $'1:2 increments, 0 lost, 1 overlaps\n1 began before another\'s end' 2 1 11=1 12=1 <<'H'
100-200 zkl 11 5 0-1
199-300 curator 12 7 1-2
H
judged "one within a long one, behind a short one" $'1:3 increments, 0 lost, 2 overlaps\n2 began before another\'s end' 3 1 11=1 12=2 <<'H'
100-200 zkl 11 5 0-3
120-130 curator 12 6 0-1
150-160 curator 12 7 1-2
H
judged "a lost increment" $'1:2 increments, 1 lost, 0 overlaps\nthe counter is 1 after 2 increments' 1 1 11=1 12=1 <<'H'
100-200 zkl 11 5 0-1
210-300 curator 12 7 0-1
H
judged "a counter that nobody raised" $'1:0 increments, -1 lost, 0 overlaps\nthe counter is 1 after 0 increments' 1 0 </dev/null
judged "a reader beside a writer" $'1:1 increments, 0 lost, 1 overlaps, 1 reads, 1 at once, longest wait 0 ms\n1 began before another\'s end' 1 1 11=1 12=1 <<'H'
100-200 curator-read 11 5 0-0
150-300 kazoo-write 12 6 0-1
H
judged "a writer beside a reader" $'1:1 increments, 0 lost, 1 overlaps, 1 reads, 1 at once, longest wait 0 ms\n1 began before another\'s end\n1 readers saw a change' 1 1 11=1 12=1 <<'H'
100-200 kazoo-write 12 4 0-1
150-300 curator-read 11 5 0-1
H
judged "a token that does not rise" $'1:2 increments, 0 lost, 0 overlaps\n1 tokens do not rise' 2 1 11=1 12=1 <<'H'
100-200 zkl 11 7 0-1
210-300 curator 12 7 1-2
H
judged "three of two permits" $'1:0 increments, 0 lost, 0 overlaps, 3 reads, 3 at once, longest wait 0 ms\n3 of 2 permits were taken at once' 0 1 11=1 12=1 13=1 <<'H'
100-200 zkl-permit2 11 5 0-0
150-300 curator-permit4 12 6 0-0
199-300 curator-permit4 13 7 0-0
H
judged "two permits at once of the last" $'1:0 increments, 0 lost, 0 overlaps, 2 reads, 4 at once, longest wait 0 ms\n4 of 3 permits were taken at once' 0 1 11=1 12=1 <<'H'
100-200 zkl-permit3x2 11 5 0-0
150-300 curator-permit4x2 12 6 0-0
H
judged "a number that two have" $'1:0 increments, 0 lost, 0 overlaps, 2 with numbers, 2 at once, 1 twice\n1 had a number that another still had' 0 1 11=1 12=1 <<'H'
100-200 zkl-numbered 11 5 3-3
110-300 zkl-numbered 12 6 6-6
H
judged "a number that two have, one between them" $'1:0 increments, 0 lost, 0 overlaps, 3 with numbers, 2 at once, 1 twice\n1 had a number that another still had' 0 1 11=1 12=1 13=1 <<'H'
100-200 zkl-numbered 11 5 1-1
110-120 zkl-numbered 12 6 2-2
190-300 zkl-numbered 13 7 1-1
H
judged "numbers that change, none, and one too high" $'1:0 increments, 0 lost, 0 overlaps, 3 with numbers, 1 at once, 0 twice\n1 had other numbers in the end\n2 had no number, or one beyond the limit' 0 1 11=3 <<'H'
100-110 zkl-numbered 11 5 1-2
120-130 zkl-numbered 11 6 0-0
140-150 zkl-numbered 11 7 16-16
H
judged "no progress" $'1:1 increments, 0 lost, 0 overlaps\n12 had 0 turns, not 1' 1 1 11=1 12=0 <<'H'
100-200 zkl 11 7 0-1
H
judged "a turn without a record" $'1:1 increments, 0 lost, 0 overlaps\n11 had 2 turns and recorded 1' 1 1 11=2 <<'H'
100-200 zkl 11 7 0-1
H
judged "a stranger" $'1:1 increments, 0 lost, 0 overlaps\n11 had None turns and recorded 1' 1 1 <<'H'
100-200 zkl 11 7 0-1
H
judged "one that never ends" $'1:0 increments, 0 lost, 0 overlaps\n11 never ends' 0 0 11=0 <<'H'
100 begin zkl 11 7 0
H
judged "one that begins twice" $'1:1 increments, 0 lost, 0 overlaps\n11 begins twice' 1 1 11=1 <<'H'
100 begin zkl 11 7 0
120 begin zkl 11 8 0
200 end zkl 11 8 1
H
judged "an end of something else" $'1:0 increments, 0 lost, 0 overlaps\n11 ends what it did not begin' 0 0 11=0 <<'H'
100 begin zkl 11 7 0
200 end zkl 11 8 1
H
finish
