#!/bin/bash
# The manual pages format without a warning, and name all there is: zkl(3) in C, zkl-cpp(7) and zkl-python(7).
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/interop/page.sh
. "$(dirname "$0")/../interop/page.sh"

# A tree with all pages, and with headers and programs: those of functions are where make has made them, unless they
# came with the tarball.
tree=$scratch/tree
mkdir "$tree" && cp -r "$top_srcdir"/{man,include,python} "$tree"
chmod -R u+w "$tree"
find "$top_builddir/man" -maxdepth 1 -name 'zkl_*.3' -exec cp {} "$tree/man" \;

# groff itself, as man(1) calls it: a machine may have man's pages without man.
warnings() { # FILE…
    local page
    for page; do
        groff -z -mandoc -Tutf8 -ww "$page" 2>&1
    done
}

# Lines of a narrow page that end within a word: a name that is broken is not found by searching.
broken() { # FILE…
    local page
    for page; do groff -mandoc -Tutf8 -P-cbou -rLL=60n "$page" 2>/dev/null | grep $'\xe2\x80\x90$'; done
}

# What the page does not name: exported functions, error codes and headers.
unnamed() { # PAGE
    {
        sed -nE 's/^ *(zkl_[a-z_]+);$/\1/p' "$top_builddir/lib/libzkl.map"
        sed -nE 's/^ *(ZKL_E[A-Z]+) = .*/\1/p' "$top_srcdir/include/zkl/error.h"
        (cd "$top_srcdir/include" && printf '%s\n' zkl/*.h ./*.h ./*.hpp | sed 's,^\./,,')
    } | awk 'NR == FNR { gsub(/\\-/, "-"); text = text "\n" $0; next }
        {
            named = 0
            for (rest = text; !named && (at = index(rest, $0)); rest = substr(rest, at + 1))
                named = substr(rest, at - 1, 1) !~ /[a-zA-Z_]/ && substr(rest, at + length($0), 1) !~ /[a-z_]/
            if (!named)
                print
        }' "$1" -
}

# The program that it shows.
shown() { # PAGE
    sed -n '/^\.Sh EXAMPLE/,/^\.Ed/p' "$1" | sed '1,2d;$d' | sed 's/\\e/\\/g; s/\\-/-/g; s/^\\&//'
}

# Lines of the programs in a page that man(1) would show otherwise than they are run.
altered() { # PAGE
    groff -mandoc -Tutf8 -P-cbou -rLL=120n "$1" 2>/dev/null | sed 's/^ *//' >"$scratch/shown"
    sed -n '/^\.Bd -literal/,/^\.Ed$/p' "$1" | plain | sed 's/^ *//' | grep -vxFf "$scratch/shown"
}

# Sections in which nothing is.
empty() { # FILE…
    awk 'FNR == 1 { last = "" }
        last != "" && /^\.S[hs] / && !(last ~ /^\.Sh/ && /^\.Ss/) { print FILENAME ": " last }
        !/^\.\\"/ { last = /^\.S[hs] / ? $0 : "" }' "$@"
}

# Descriptions that are no line in a list of pages: long, or of more than a phrase.
wordy() { # FILE…
    grep -E '^\.Nd (.{100}|.*[;()])' "$@"
}

# Words that a header declares, and the page that is written from it does not have: members, too.
undeclared() { # ROOT
    local page header
    for page in "$1"/man/zkl_*.3; do
        header=$1/$(sed -nE '1s/.* from (include\/[^ ]*) .*/\1/p' "$page")
        [ -e "$header" ] || header+=.in
        tr '\n' '\v' <"$header" | sed -E 's,/\*([^*]|\*+[^*/])*\*+/|@\w+@,,g' | tr '\v' '\n' |
            grep -vE '^#(if|else|end|include)|_(H|API|BEGIN|END)$|G_DEFINE_AUTOPTR' |
            grep -oE '\w+' | grep -vxE 'define|ZKL_API|ZKL_MUST_CHECK' | sort -u |
            comm -23 - <(sed 's/\\-/-/g' "$page" | grep -oE '\w+' | sort -u) | sed "s,^,${page##*/}: ,"
    done
}

if command -v groff >/dev/null; then
    expect_none "the pages format without a warning" "$(warnings "$tree"/man/*.[1-8])"
    expect_none "no word is broken" "$(broken "$tree"/man/*.[1-8])"
    grep -v '^\.hla ' "$page" >"$scratch/broken.7"
    expect_some "sees a word that is broken" "$(broken "$scratch/broken.7")"
    expect_none "pages show their programs as they are" "$(for shows in "$page" "$tree"/man/zkl*.1 "$tree"/man/zkl-{cpp,guard}.7; do altered "$shows"; done)"
    sed 's/\\e/\\/' "$page" >"$scratch/eaten.7"
    expect_some "sees a backslash that is eaten" "$(altered "$scratch/eaten.7")"
    echo '.NOSUCH' >"$scratch/page.3"
    expect_some "sees a planted warning" "$(warnings "$scratch/page.3")"
fi
expect_none "no section is empty" "$(empty "$tree"/man/*.[1-8])"
printf '.Sh DESCRIPTION\n.Ss one()\n.Ss two()\nText.\n' >"$scratch/empty.3"
expect_some "sees an empty part of a section" "$(empty "$scratch/empty.3")"
printf '.Sh RETURN VALUE\n.Sh THREADS\nText.\n' >"$scratch/empty.3"
expect_some "sees an empty section" "$(empty "$scratch/empty.3")"
expect_none "every page is a short line in a list" "$(wordy "$tree"/man/*.[1-8])"
echo '.Nd the version; made by configure' >"$scratch/wordy.3"
expect_some "sees one that is none" "$(wordy "$scratch/wordy.3")"
expect_none "each page has all that its header declares" "$(undeclared "$tree")"
cp -r "$tree" "$scratch/members"
sed -i '/lost_refused;/d' "$scratch/members/man/zkl_stats.3"
expect_some "sees a member that is missing" "$(undeclared "$scratch/members")"
expect_none "all pages are mdoc(7)" "$(grep -L '^\.Dd ' "$tree"/man/*.[1-8])"
echo '.TH PAGE 3' >"$scratch/man.3"
expect_some "sees a page that is man(7)" "$(grep -L '^\.Dd ' "$scratch/man.3")"
if command -v mandoc >/dev/null; then
    expect_none "mandoc has nothing to warn of" "$(mandoc -T lint -W warning "$tree"/man/*.[1-8] 2>&1)"
    sed '/^\.Ed/d' "$page" >"$scratch/open.7"
    expect_some "sees a display that does not end" "$(mandoc -T lint -W warning "$scratch/open.7" 2>&1)"
fi

# Exported functions that no page describes.
pageless() { # FILE…
    sed -nE 's/^ *(zkl_[a-z_]+);$/\1/p' "$top_builddir/lib/libzkl.map" | sort |
        comm -23 - <(sed -nE 's/^\.Nm (zkl_\w+).*/\1/p' "$@" | sort)
}

# The pages that man/pages.py would write otherwise: make has not seen that a header is newer.
stale() { # ROOT
    mkdir "$1/made"
    python3 -B "$1/man/pages.py" "$1" "$1/made"
    diff -rq "$1/made" "$1/man" | grep -v "^Only in $1/man: "
}

expect_none "every function has a page" "$(pageless "$tree"/man/zkl_*.3)"
expect_some "sees a function without page" "$(pageless "$tree"/man/zkl_q*.3)"
if command -v python3 >/dev/null; then
    cp -r "$tree" "$scratch/stale"
    expect_none "the pages are those of the headers" "$(stale "$tree")"
    sed -i '/ZKL_EPERM: the caller does not hold/d' "$scratch/stale/include/zkl/mutex.h"
    expect_some "sees a header that has changed" "$(stale "$scratch/stale")"
fi
expect_none "zkl(3) names every function, error and header" "$(unnamed "$tree/man/zkl.3")"
grep -v ZKL_EBUSY "$tree/man/zkl.3" >"$scratch/short.3"
expect_some "sees one that is missing" "$(unnamed "$scratch/short.3")"
expect_none "zkl(3) shows examples/lock.c" "$(shown "$tree/man/zkl.3" | diff - "$top_srcdir/examples/lock.c" 2>&1)"
expect_none "zkl-cpp(7) shows its program" "$(
    sed -n '/^\.Sh EXAMPLE/,/^\.Ed/p' "$tree/man/zkl-cpp.7" | sed '1,/^\.Bd/d' | plain |
        diff - <(sed '/^\/\* It prints:$/,$d' "$tree/man/examples/cpp.cpp" | sed '$d') 2>&1
)"

# What a page does not say of the classes, or says otherwise.
members() { # cxx|python ROOT
    python3 -B "$top_srcdir/tests/lint/members.py" "$@" 2>&1
}
if command -v python3 >/dev/null; then
    expect_none "zkl-cpp(7) has all that zkl.hpp has" "$(members cxx "$tree")"
    expect_none "zkl-python(7) has all that the package has" "$(members python "$tree")"
    cp -r "$tree" "$scratch/less"
    sed -i '/^\.It Fn owned$/d; /^\.Ss leader$/d' "$scratch/less/man/zkl-cpp.7"
    sed -i '/^\.It Fn give_up$/d; s/^HELD SUSPECT /HELD /; /^\.It Fn histogram_bounds$/d' "$scratch/less/man/zkl-python.7"
    sed -i 's/def hold(self, timeout: Optional\[float\] = None/def hold(self, timeout: Optional[float] = 0/' "$scratch/less/python/zkl/lock.py"
    sed -i 's/ bool fence64 = false;/& bool planted = false;/' "$scratch/less/include/zkl/mutex.hpp"
    for missed in "cxx:grant_view: owned() is missing" "cxx:leader is missing" "cxx:mutex_options: planted is missing" \
        "cxx:election_event: token is said, and is not there" "python:Mutex: give_up() is missing" \
        "python:Numbers: State HELD SUSPECT LOST RELEASED is missing" "python:Functions: histogram_bounds() is missing" \
        "python:Mutex: hold(timeout=0) is missing" "python:Mutex: hold(timeout=None) is said, and is not there"; do
        expect_some "sees: ${missed#*:}" "$(members "${missed%%:*}" "$scratch/less" | grep -F ": ${missed#*:}")"
    done
else
    missing python3
fi
finish
