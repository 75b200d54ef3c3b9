#!/bin/bash
# Packages: each installed file is in one of them, one version and one owner everywhere, and Debian's and the spec's are
# compared; why they could not be built is told; the table of platforms names what there is; and the completions are
# shell. abi.sh has the symbols file.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

debian=$top_srcdir/debian
packaging=$top_srcdir/packaging
spec=$packaging/zkl.spec

# ---- versions ----

version=$(sed -nE 's/^m4_define\(\[zkl_(major|minor|patch)\], \[([0-9]+)\]\)$/\2/p' "$top_srcdir/configure.ac" | paste -sd .)
other_versions() { # CHANGELOG SPEC
    sed -nE '1s/^zkl \(([^)]*)\).*/debian\/changelog: \1/p' "$1" | grep -vF ": $version"
    sed -nE 's/^Version: *(.*)/zkl.spec: \1/p; /^%changelog/,$s/^\* .* - ([0-9.]+)-[0-9]+$/zkl.spec, changelog: \1/p' "$2" | head -n 2 |
        grep -vFx -e "zkl.spec: $version" -e "zkl.spec, changelog: $version"
}
expect_some "there is a version" "$version"
expect_none "everywhere it is $version" "$(other_versions "$debian/changelog" "$spec")"
sed '1s/(.*)/(0.0.9)/' "$debian/changelog" >"$scratch/changelog"
expect_some "sees another one of Debian's" "$(other_versions "$scratch/changelog" "$spec")"
sed 's/^Version:.*/Version: 0.0.9/' "$spec" >"$scratch/other.spec"
expect_some "sees another one of the spec's" "$(other_versions "$debian/changelog" "$scratch/other.spec")"

# ---- the day ----

# What the newest section of NEWS.md says: "unreleased", or a day, which the changelogs then have, too.
day_of_news() { # ROOT
    sed -nE "/^## /{s/^## ${version//./\\.} \((unreleased|20[0-9]{2}-[0-9]{2}-[0-9]{2})\)\$/\1/p; q}" "$1/NEWS.md"
}
other_days() { # ROOT
    local day
    day=$(day_of_news "$1")
    [ "$day" != unreleased ] || return
    {
        sed -nE '0,/^ -- /s/^ -- .*>  [A-Z][a-z]+, ([0-9]+ [A-Z][a-z]+ [0-9]+) .*/\1/p' "$1/debian/changelog"
        sed -nE '/^%changelog/,$s/^\* [A-Z][a-z]+ ([A-Z][a-z]+) ([0-9]+) ([0-9]+) .*/\2 \1 \3/p' "$1/packaging/zkl.spec" | head -n 1
    } | while read -r other; do [ "$(date -d "$other" +%F)" = "$day" ] || echo "$other"; done
}
expect_some "the news of $version has a day, or is not released" "$(day_of_news "$top_srcdir")"
expect_none "the changelogs have that day" "$(other_days "$top_srcdir")"

# What ./dev release tells the owner to do.
owner_is_told() { # ROOT
    (
        for part in say release; do
            # shellcheck disable=SC1090
            . "$top_srcdir/build-aux/dev.d/$part.sh"
        done
        owner_must "$1"
    )
}
told_root=$scratch/told
mkdir "$told_root"
(cd "$top_srcdir" && cp -r --parents debian/changelog packaging/zkl.spec configure.ac NEWS.md SECURITY.md "$told_root")
chmod -R u+w "$told_root"
sed -i -E "0,/^## /s/^## .*/## $version (unreleased)/" "$told_root/NEWS.md"
sed -i -E 's/^(m4_define\(\[zkl_address\], \[).*\]/\1zkl@example.org]/' "$told_root/configure.ac"
expect_some "the owner is told to say who he is" "$(owner_is_told "$told_root" | grep -xF '  address: zkl@example.org')"
expect_some "and which times he promises" "$(owner_is_told "$told_root" | grep -x '  3 days: an answer from a person *')"
(cd "$told_root" && owner_is_told . | sed -n 's/^  sed -i .*\(NEWS.md\|changelog\|zkl.spec\)$/&/p' | bash -eu)
expect_some "his commands say on which day" "$(day_of_news "$told_root" | grep ^20)"
expect_none "in the changelogs, too" "$(other_days "$told_root")"
sed -i -E 's/example\.org/example.net/' "$told_root/configure.ac"
expect_none "he is not told again" "$(owner_is_told "$told_root" | grep -E '  (address: |sed .*NEWS.md)')"
sed -i -E '0,/^ -- /s/>  .*/>  Mon, 01 Jan 2024 00:00:00 +0000/' "$told_root/debian/changelog"
expect_some "sees another day" "$(other_days "$told_root")"
sed -i -E '0,/^## /s/ \(.*//' "$told_root/NEWS.md"
expect_none "and news without one" "$(day_of_news "$told_root")"

# All of ./dev release, with other commands in place of ours.
released() { # WHAT-FAILS [--quick]
    (
        set -euE -o pipefail
        root=$scratch/release logs=$scratch/release/logs
        rm -rf "$root"
        cp -r "$told_root" "$root"
        cd "$root"
        git init -q
        echo logs >.gitignore
        # shellcheck disable=SC2016
        printf '%s\n' '#!/bin/sh' '[ "$1" != "$FAILS" ] || exit 3' 'case $1 in' \
            'check) printf "  %s   gcc      tests/%s\n" PASS "a 2 passed, 0 failed, 0 skipped" PASS "b 2 passed, 0 failed, 1 skipped" SKIP "c skipped" ;;' \
            'deb) echo "systemd is not started here" ;;' 'versions) echo "skipped: the former version" ;;' 'esac' >dev
        chmod +x dev
        git add .
        git -c user.name=x -c user.email=x@localhost commit -qm x
        mkdir logs
        [ "$1" != commit ] || echo >>dev
        [ "$1" != git ] || rm -rf .git
        for part in say release; do
            # shellcheck disable=SC1090
            . "$top_srcdir/build-aux/dev.d/$part.sh"
        done
        FAILS=$1 release "${@:2}"
        echo "it ends well"
    ) 2>&1
}
below() { # HEADING: the list there
    awk -v heading="== $1" '/^==/ { on = $0 == heading; next } on && NF'
}
if command -v git >/dev/null; then
    all=$(released "")
    expect_some "./dev release ends well if all of it does" "$(grep -x 'it ends well' <<<"$all")"
    expect_none "it says what was skipped" "$(below "what was not run" <<<"$all" | head -n 4 |
        diff - <(printf -- '- %s\n' "PASS gcc tests/b 2 passed, 0 failed, 1 skipped" "SKIP gcc tests/c skipped" "systemd is not started here" "skipped: the former version"))"
    expect_none "all five parts hold" "$(below "what holds" <<<"$all" | grep -c '^- ' | grep -vx 5)"
    expect_some "with --quick it says so" "$(released "" --quick | below "what was not run" | grep -x -- '- ./dev versions')"
    for fails in check deb versions tarball commit git; do
        all=$(released $fails)
        expect_some "it fails without $fails" "$(below "what has failed" <<<"$all" | grep -E ": (\./dev $fails|all_is_committed)\$")"
        expect_none "and does not end well" "$(grep -x 'it ends well' <<<"$all")"
        expect_none "but does the other parts" "$(below "what holds" <<<"$all" | grep -c '^- ' | grep -vx 4)"
    done
else
    missing git
fi

# ---- the owner ----

owner() { # WHAT, as configure.ac has it
    sed -nE "s/^m4_define\(\[zkl_$1\], \[(.*)\]\)\$/\1/p" "$top_srcdir/configure.ac"
}

# Places that name the owner, an address or the homepage otherwise: "FILE: what it says".
other_owners() { # ROOT
    (cd "$1" && sed -nE 's/^(Maintainer: | -- |\* [A-Z][a-z]+ [A-Z][a-z]+ [0-9]+ [0-9]+ )(.*>)( .*)?$/\2/p' debian/control debian/changelog packaging/zkl.spec |
        grep -vxF "$(owner owner) <$(owner address)>"
        sed -nE 's/^(Homepage|URL): *(.*)/\2/p' debian/control packaging/zkl.spec | grep -vxF "$(owner homepage)"
        sed -nE 's/^(Copyright:? [0-9, -]+|Author:|   Copyright [0-9, -]+) *([A-Za-z][^.]*).*/\2/p' debian/copyright debian/libzkl-doc.doc-base README.md LICENSE | grep -vxF "$(owner owner)"
        grep -ohE '[[:alnum:]._-]+@[[:alnum:]-]+\.[[:alnum:].-]*[[:alnum:]]' SECURITY.md CONTRIBUTING.md README.md | grep -vxF "$(owner address)"
        grep -qF "$(owner address)" SECURITY.md || echo "SECURITY.md says nowhere where to report")
}
expect_none "configure.ac has who owns zkl, an address and a homepage" "$(
    for what in owner address homepage; do [ -n "$(owner $what)" ] || echo "$what"; done)"
expect_none "all others say the same" "$(other_owners "$top_srcdir")"
mkdir "$scratch/owners"
(cd "$top_srcdir" && cp -r --parents debian packaging ./*.md LICENSE "$scratch/owners")
chmod -R u+w "$scratch/owners"
for edit in "s/^Maintainer: .*/Maintainer: Somebody <zkl@example.org>/ debian/control" "s/^Homepage: .*/Homepage: http:\/\/else/ debian/control" \
    "s/^ -- .*>/ -- Somebody <a@b.c>/ debian/changelog" "s/^URL: .*/URL: http:\/\/else/ packaging/zkl.spec" \
    "s/(\* Mon.* 2026 ).*> /\1Somebody <a@b.c> / packaging/zkl.spec" "s/^(Copyright: 2026 ).*/\1Somebody/ debian/copyright" \
    "s/Write to [^ ,]*/Write to a@b.c/ SECURITY.md" "s/(Copyright 2026 )The zkl authors/\1Somebody/ README.md"; do
    cp "$scratch/owners/${edit##* }" "$scratch/kept"
    sed -i -E "${edit% *}" "$scratch/owners/${edit##* }"
    expect_some "sees $edit" "$(other_owners "$scratch/owners")"
    cp "$scratch/kept" "$scratch/owners/${edit##* }"
done

# ---- files ----

# Some variables of the Makefile, as it expands them; a folder below the prefix as one below usr.
folders() { # VARIABLE...
    # shellcheck disable=SC2016
    printf 'include Makefile\nfolders:\n\t@echo %s\n' "$(printf '$(%s) ' "$@")" |
        MAKEFLAGS='' make -s -C "$top_builddir" -f - folders | tail -n 1
}

# What make install brings, as packages have it.
installed() {
    local prefix
    prefix=$(folders prefix)
    MAKEFLAGS='' make -s -C "$top_builddir" install DESTDIR="$scratch/root" >"$scratch/install.log" 2>&1 || {
        tail -n 3 "$scratch/install.log" >&2
        return
    }
    (cd "$scratch/root$prefix" && find . -not -type d | sed 's,^\./,usr/,')
}

# Debian's patterns, with its folder of an architecture as ours.
debian_patterns() {
    sed -E 's/ .*//; s,^usr/lib/\*/,usr/lib/,' "$debian"/*.install "$debian/not-installed"
}

# The spec's macros, without rpm.
spec_patterns() {
    sed -nE '/^%(files|install)/,/^%(package|changelog)/p' "$spec" |
        sed -nE 's,^rm ,,; s,%\{buildroot\},,g; s,%\{_bindir\},usr/bin,g; s,%\{_prefix\},usr,g; s,%\{_libdir\},usr/lib,g
            s,%\{_includedir\},usr/include,g; s,%\{_mandir\},usr/share/man,g; s,%\{_docdir\},usr/share/doc,g
            s,%\{python3_sitelib\},usr/lib/python3/dist-packages,g; s,%\{_datadir\},usr/share,g; s,%\{name\},zkl,g; /^usr/p' | tr ' ' '\n' | sed 's,/$,,'
}

# Files that no pattern takes, and patterns that take none. A folder takes what is in it.
unpackaged() { # PATTERNS FILES
    local patterns files pattern file
    mapfile -t patterns <<<"$1"
    mapfile -t files <<<"$2"
    for file in "${files[@]}"; do
        for pattern in "${patterns[@]}"; do
            # shellcheck disable=SC2053
            [[ $file = $pattern || $file = $pattern/* ]] && continue 2
        done
        echo "in no package: $file"
    done
    for pattern in "${patterns[@]}"; do
        for file in "${files[@]}"; do
            # shellcheck disable=SC2053
            [[ $file = $pattern || $file = $pattern/* ]] && continue 2
        done
        echo "nothing is: $pattern"
    done
}

files=$(installed)
expect_some "make install brings files" "$files"
# An archive is configured only where it is wanted.
grep -q 'libzkl\.a$' <<<"$files" || files+=$'\nusr/lib/libzkl.a'
expect_none "Debian's packages have all of them" "$(unpackaged "$(debian_patterns)" "$files")"
expect_none "the spec has all but the archive" "$(unpackaged "$(spec_patterns)" "$(grep -v 'libzkl\.a$' <<<"$files")")"
expect_some "sees a file in no package" "$(unpackaged "$(debian_patterns)" "$files"$'\nusr/bin/planted')"
expect_some "sees a pattern without a file" "$(unpackaged "$(debian_patterns)"$'\nusr/planted' "$files")"
# Pages and examples that make install does not bring.
left_behind() { # FILES
    (cd "$top_srcdir" && find docs examples -type f -not -name Makefile.inc -not -path '*/.*') |
        awk -F / 'NR == FNR { brought[$NF]; next } !($NF in brought)' <(echo "$1") -
}
expect_none "all pages and examples are installed" "$(left_behind "$files")"
expect_some "sees an example that is not" "$(left_behind "$(grep -v rules.yml <<<"$files")")"

# The links of all pages, each with its page: Markdown's in a line and below the text, and those of HTML.
links() {
    find . -name '*.md' -exec awk '
        function take(link) {
            gsub(/^<|>$/, "", link)
            sub(/#.*/, "", link)
            if (link != "" && link !~ /^[a-z]+:/) {
                page = FILENAME
                sub(/[^\/]*$/, "", page)
                print FILENAME "\t" page link
            }
        }
        {
            for (rest = $0; match(rest, /\]\([^) ]+[) ]/); rest = substr(rest, RSTART + RLENGTH))
                take(substr(rest, RSTART + 2, RLENGTH - 3))
            for (rest = $0; match(rest, /(src|href)="[^"]*"/); rest = substr(rest, RSTART + RLENGTH)) {
                split(substr(rest, RSTART, RLENGTH), part, "\"")
                take(part[2])
            }
        }
        match($0, /^ ? ? ?\[[^]]+\]: +/) {
            split(substr($0, RLENGTH + 1), part, " ")
            take(part[1])
        }' {} +
}
# Those of installed pages to what is not installed, or is beside the pages.
dead_links() { # FOLDER
    local page link leads
    (cd "$1" && links >"$scratch/links" &&
        cut -f 2 "$scratch/links" | xargs -r -d '\n' realpath -sm --relative-to=. -- | paste "$scratch/links" - |
        while IFS=$'\t' read -r page link leads; do
            [[ -e $link && $leads != ../* ]] || echo "$page: ${link#./}"
        done)
}

# Where Debian has the pages.
debian_pages() {
    local from to
    mkdir "$scratch/debian"
    while read -r from to; do
        mkdir -p "$scratch/debian/$to"
        # The patterns are patterns.
        # shellcheck disable=SC2086
        (cd "$scratch/root$(folders prefix)" && cp -r ${from#usr/} "$scratch/debian/$to")
    done < <(grep ' ' "$debian/libzkl-doc.install")
    while read -r _ to; do touch "$scratch/debian/$to"; done < <(grep usr/share/doc/libzkl-dev/LICENSE "$debian/libzkl-doc.links")
}
pages=$scratch/root$(folders docdir)
expect_none "no installed page has a dead link" "$(dead_links "$pages")"
expect_none "nor has one of Debian's" "$(debian_pages; dead_links "$scratch/debian/usr/share/doc/libzkl-dev")"
plant_link() { # WHAT LINE
    echo "$2" >"$pages/docs/planted.md"
    expect_some "sees $1" "$(dead_links "$pages")"
}
plant_link "a dead link" '[a](../lib/map.awk)'
plant_link "one with a title" '[a](../lib/map.awk "the map")'
plant_link "one below the text" '[a]: ../lib/map.awk'
plant_link "a picture of HTML" '<img src="../lib/map.png">'
plant_link "one to a file beside the pages" "[a]($(realpath -s --relative-to="$pages/docs" "$top_srcdir/lib/map.awk"))"
rm "$pages/docs/planted.md" "$pages/docs/guide/tls.md"
expect_some "sees a page that is missing" "$(dead_links "$pages")"
expect_none "the unit starts the command that is installed" "$(
    grep -L "^ExecStart=$(folders bindir)/zkl " "$scratch/root$(folders systemdsystemunitdir)/zkl-standby@.service")"

# ---- Debian's packages beside the spec's ----

# What ./dev deb says of lists like these.
compared() { # TABLE
    python3 -B "$top_srcdir/build-aux/dev.d/compare-files.py" "$1" "Debian's" "$scratch/debian.files" "the spec's" "$scratch/spec.files"
}
printf '%s\n' "zkl /usr/bin/zkl" "zkl /usr/share/doc/zkl/copyright" "libzkl0 /usr/lib/x86_64-linux-gnu/libzkl.so.0" >"$scratch/debian.files"
printf '%s\n' "zkl /usr/bin/zkl" "zkl-libs /usr/lib64/libzkl.so.0" "zkl-libs /usr/lib/.build-id/ab/cd" >"$scratch/spec.files"
grep -E '/copyright |^libzkl0 |build-id' "$packaging/differences" >"$scratch/table"
expect_some "there are differences" "$(<"$scratch/table")"
if command -v python3 >/dev/null; then
    expect_none "files that differ by the table are the same" "$(compared "$scratch/table" >"$scratch/said" || cat "$scratch/said")"
    expect_some "sees a row that no file needs" "$(compared "$packaging/differences" | grep 'no file needs: .*vendor-completions')"
    grep -v build-id "$scratch/table" >"$scratch/less"
    expect_some "sees a file of the spec's alone" "$(compared "$scratch/less" | grep "^only in the spec's: .*build-id")"
    grep -v ^libzkl0 "$scratch/table" >"$scratch/less"
    expect_some "sees a file of Debian's alone" "$(compared "$scratch/less" | grep "not in the spec's: libzkl0")"
    sed 's/ | [^|]*$//' "$scratch/table" >"$scratch/less"
    expect_some "sees a row without a reason" "$(compared "$scratch/less" | grep 'without a reason')"
else
    missing python3
fi

# ---- why they could not be built ----

# What ./dev deb says when a build in a root has failed.
why() { # COMMAND…: what happens in the folder of that build
    (
        root=$scratch/dev logs=$scratch/dev/_build/log
        rm -rf "$root"
        mkdir -p "$root/_build/deb/roots/build/src/zkl/tests/unit"
        for part in say build deb; do
            # shellcheck disable=SC1090
            . "$top_srcdir/build-aux/dev.d/$part.sh"
        done
        deb_folder=$root/_build/deb/planted
        cd "$roots/build/src/zkl" && "$@"
        (exit 1)
        end_deb
    ) 2>&1
}
a_test_fails() {
    printf ':test-result: FAIL\n' >tests/unit/unit.trs
    printf 'FAIL planted.case: wanted 1, found 2\n0 passed, 1 failed, 0 skipped\n' >tests/unit/unit.log
    printf ':test-result: PASS\n' >tests/unit/other.trs
    echo "ok planted.well" >tests/unit/other.log
}
configure_fails() {
    echo "configure:12: error: GLib 2.70 or newer is missing" >config.log
}
expect_some "why a build failed: the test, and what it says" "$(why a_test_fails | grep 'planted.case: wanted 1, found 2')"
expect_none "no other test" "$(why a_test_fails | grep planted.well)"
expect_some "why a build failed: configure" "$(why configure_fails | grep 'GLib 2.70 or newer is missing')"
expect_some "its logs are kept" "$(why a_test_fails >/dev/null; cat "$scratch/dev/_build/deb/planted/logs/zkl/tests/unit/unit.log")"
expect_none "the root is not" "$(why a_test_fails >/dev/null; find "$scratch/dev/_build/deb" -name roots)"

# ---- platforms ----

# The rows of a table that has a row for Debian 12's server, without where links lead.
platforms() { # PAGE
    awk '/^\|/ { rows = rows $0 "\n"; next } rows ~ /Debian 12 \| tested/ { printf "%s", rows } { rows = "" }' "$1" |
        sed -E '1,2d; s/\]\([^)]*\)/]/g'
}
# Rows that do not say how it is known, or name a command that is not there.
baseless() { # TABLE
    local row state reason command
    while IFS='|' read -r _ _ state reason _; do
        row="$state:$reason"
        case ${state// /} in
        tested | built | refused)
            command=$(grep -oE '`(\./dev [a-z]+( [a-z0-9-]+)?|tests/[^`]+)`' <<<"$reason" | head -n 1 | tr -d '`')
            case $command in
            './dev '*) grep -qE "^    .*\b$(cut -d ' ' -f 2 <<<"$command")\b.*\)" "$top_srcdir/dev" || echo "no such command: $row" ;;
            tests/*) [ -e "$top_srcdir/$command" ] || echo "no such test: $row" ;;
            *) echo "by no command: $row" ;;
            esac
            ;;
        notknown) ;;
        *) echo "neither tested nor built, refused or not known: $row" ;;
        esac
    done <<<"$1"
}
known=$(platforms "$top_srcdir/docs/guide/operations.md")
expect_some "there is a table of platforms" "$known"
expect_none "each row says how that is known" "$(baseless "$known")"
expect_some "sees a claim by no command" "$(baseless '| Plan 9 | tested | it is well known |')"
expect_some "sees a test that is not there" "$(baseless '| Plan 9 | tested | `tests/live/plan9.c` |')"
expect_some "sees a command that is not there" "$(baseless '| Plan 9 | built | `./dev plan9` |')"
expect_some "sees another word" "$(baseless '| Plan 9 | supported | `./dev check` |')"
short=$(platforms "$top_srcdir/README.md")
expect_some "the README has some of them" "$short"
expect_none "it says the same" "$(grep -vxF "$known" <<<"$short")"

# ---- syntax ----

if command -v rpmspec >/dev/null; then
    expect_none "rpm reads the spec" "$(rpmspec -P "$spec" 2>&1 >/dev/null)"
    sed '/^%description$/d' "$spec" >"$scratch/bad.spec"
    expect_some "sees a bad spec" "$(rpmspec -P "$scratch/bad.spec" 2>&1 >/dev/null)"
else
    missing rpmspec
fi
completion=$top_srcdir/tools/completion
expect_none "bash reads its completion" "$(bash -n "$completion/zkl.bash" 2>&1)"
if command -v zsh >/dev/null; then
    expect_none "zsh reads its completion" "$(zsh -n "$completion/_zkl" 2>&1)"
else
    missing zsh
fi
finish
