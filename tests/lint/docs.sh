#!/bin/bash
# The HTML pages that `./dev docs` writes: no link between them is dead, and the index has all of them.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

# What is wrong with the pages of a tree.
faults() { # ROOT
    local log
    log=$(python3 -B "$top_srcdir/build-aux/dev.d/docs.py" "$1" "$scratch/html" 2>&1) || echo "$log"
}

for tool in python3 mandoc cmark-gfm; do
    command -v "$tool" >/dev/null || {
        missing "$tool"
        finish
    }
done

expect_none "every link leads to a page, and every page is in the index" "$(faults "$top_srcdir")"
expect_some "there is a page of each function" "$(grep -F 'id="zkl_mutex_lock()"' "$scratch/html/man/zkl_mutex.3.html")"
expect_some "a manual page links to another one" "$(grep -F 'href="zkl.7.html"' "$scratch/html/man/zkl.3.html")"
expect_some "a function is a link to what describes it" "$(grep -F 'href="zkl_grant.3.html#zkl_grant_token()"' "$scratch/html/man/zkl.3.html")"
expect_none "no link leads to Markdown" "$(grep -rE 'href="[^":]*\.md[#"]' "$scratch/html")"
expect_none "programs keep their empty and their indented lines" "$(
    for program in "$top_srcdir"/man/examples/*.c; do
        python3 -B - "$program" "$scratch/html/man/zkl_$(basename "$program" .c).3.html" <<'PROGRAM'
import html, re, sys
program, page = (open(name).read() for name in sys.argv[1:])
shown = [html.unescape(re.sub("<[^>]*>", "", part)) + "\n" for part in re.findall("<pre>(.*?)</pre>", page, re.S)]
if program not in shown:
    print(sys.argv[1])
PROGRAM
    done)"
# A path whose slot in C is not the one in the shell, by the two ways of the guide.
differing_slots() { # PAGE
    local path slot
    awk '/^    #include/ { c = 1 } /^[^ ]/ { c = 0 } c { print substr($0, 5) }' "$1" >"$scratch/slots.c"
    printf '#include <stdio.h>\nint main(int c, char **v)\n{\n    printf("%%u\\n", slot_of(v[c - 1], 64));\n}\n' >>"$scratch/slots.c"
    $CC -o "$scratch/slots" "$scratch/slots.c" || echo "it does not compile"
    for path in / /jobs/nightly /ä/ö "/$(printf '%0300d' 7)"; do
        eval "$(sed -n 's/^    \(slot=\)/\1/p' "$1")"
        [ "$slot" = "$("$scratch/slots" "$path")" ] || echo "$path"
    done
}
expect_none "a path has one slot, in C and in the shell" "$(differing_slots "$top_srcdir/docs/guide/scale.md")"
sed 's/04c11db7/04c11db5/' "$top_srcdir/docs/guide/scale.md" >"$scratch/other.md"
expect_some "sees another slot" "$(differing_slots "$scratch/other.md")"
# All that is wrong with a copy of the pages.
mkdir "$scratch/copy"
(cd "$top_srcdir" && cp -r --parents ./*.md LICENSE docs include man bench/*.md bench/results tests/*.md tests/*/*.md "$scratch/copy")
chmod -R u+w "$scratch/copy"
sed -i '1a [gone](nowhere.md) [gone](moving.md#no-such)' "$scratch/copy/docs/guide/stuck.md"
sed -i 's,Xr zkl_stats 3,Xr zkl_gone 3,' "$scratch/copy/man/zkl-probes.7"
echo '# Lost' >"$scratch/copy/docs/lost.md"
seen=$(faults "$scratch/copy")
expect_some "sees a dead link" "$(grep -F 'dead link: nowhere.md' <<<"$seen")"
expect_some "sees a heading that is not there" "$(grep -F '#no-such' <<<"$seen")"
expect_some "sees a manual page that is not there" "$(grep -F 'zkl_gone(3)' <<<"$seen")"
expect_some "sees a page that the index has not" "$(grep -F 'docs/lost.md: not in the index' <<<"$seen")"
finish
