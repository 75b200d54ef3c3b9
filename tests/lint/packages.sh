#!/bin/bash
# Packages: each installed file is in one of them, one version everywhere; and the completions are shell. abi.sh has
# the symbols file.
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

debian=$top_srcdir/debian
spec=$top_srcdir/packaging/zkl.spec

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
    local pattern file
    while read -r file; do
        while read -r pattern; do
            # shellcheck disable=SC2053
            [[ $file = $pattern || $file = $pattern/* ]] && continue 2
        done <<<"$1"
        echo "in no package: $file"
    done <<<"$2"
    while read -r pattern; do
        while read -r file; do
            # shellcheck disable=SC2053
            [[ $file = $pattern || $file = $pattern/* ]] && continue 2
        done <<<"$2"
        echo "nothing is: $pattern"
    done <<<"$1"
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
    (cd "$top_srcdir" && find docs examples -type f -not -name Makefile.inc -not -path '*/.*') | while read -r file; do
        grep -qE "(^|/)${file##*/}\$" <<<"$1" || echo "$file"
    done
}
expect_none "all pages and examples are installed" "$(left_behind "$files")"
expect_some "sees an example that is not" "$(left_behind "$(grep -v rules.yml <<<"$files")")"

# Links of an installed page to what is not installed.
dead_links() { # FOLDER
    local page link
    (cd "$1" && find . -name '*.md' | while read -r page; do
        grep -oE '\]\([^)#:]+[)#]' "$page" | sed -E 's/^..(.*).$/\1/' | while read -r link; do
            [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
        done
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
rm "$pages/docs/guide/tls.md"
expect_some "sees a dead link" "$(dead_links "$pages")"
expect_none "the unit starts the command that is installed" "$(
    grep -L "^ExecStart=$(folders bindir)/zkl " "$scratch/root$(folders systemdsystemunitdir)/zkl-standby@.service")"

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
