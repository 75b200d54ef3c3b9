#!/bin/bash
# Each public function is in a program that shows its use, or unshown.txt says why not.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

functions() {
    sed -nE 's/^ *(zkl_[a-z0-9_]+);$/\1/p' "$top_builddir/lib/libzkl.map" | sort -u
}

# What a reader of C may read names a function outside of comments: to call it, or to have it called.
unshown() { # ROOT
    functions | comm -23 - <(find "$1"/examples "$1"/man/examples "$1"/tools -name '*.[ch]' -exec cat {} + | tr '\n' ' ' |
        sed -E 's,/\*([^*]|\*+[^*/])*\*+/,,g' | grep -oE '\bzkl_[a-z0-9_]+\b' | sort -u)
}

listed() { # LIST
    sed -nE 's/^(zkl_[a-z0-9_]+) [a-z].*/\1/p' "$1" | sort -u
}

list=$top_srcdir/tests/lint/unshown.txt
expect_some "there are functions" "$(functions)"
expect_none "each function is in a program (<), or in unshown.txt (>)" "$(diff <(unshown "$top_srcdir") <(listed "$list") | grep '^[<>]')"
expect_none "each row has a reason" "$(grep -vE '^#|^zkl_[a-z0-9_]+ [a-z].{9,}' "$list")"
mkdir "$scratch/tree" && cp -r "$top_srcdir"/{examples,man,tools} "$scratch/tree"
chmod -R u+w "$scratch/tree"
sed -i 's/zkl_histogram_bound_ns/bound/' "$scratch/tree/man/examples/stats.c"
expect_some "sees a function that no program calls" "$(diff <(unshown "$scratch/tree") <(listed "$list") | grep '^< zkl_histogram_bound_ns')"
echo '/* zkl_histogram_bound_ns() */' >>"$scratch/tree/man/examples/stats.c"
expect_some "a comment is no call" "$(unshown "$scratch/tree" | grep zkl_histogram_bound_ns)"
echo 'zkl_mutex_new for nothing' >"$scratch/list"
expect_some "sees a row of what a program calls" "$(diff <(unshown "$top_srcdir") <(listed "$scratch/list") | grep '^> zkl_mutex_new')"
finish
