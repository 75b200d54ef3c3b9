# ./dev release: all that a release needs, and then what only its owner can do. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154

held=() broken=() left_out=()

# A part that fails ends no other. What it has left out itself, it has said: in a sentence, or as tests that were skipped.
part() { # WHAT COMMAND…
    local what=$1 log
    shift
    log=$(log_name "release: $what")
    printf '\n== %s\n' "$what"
    if "$@" 2>&1 | tee "$log"; then held+=("$what"); else broken+=("$what: $(quoted "$@")"); fi
    mapfile -t -O "${#left_out[@]}" left_out < <(
        grep -E ' is left out: | is not tested$|^systemd is not started | with no former version: |^skipped: |^  PASS .* [1-9][0-9]* skipped$|^  SKIP ' "$log" |
            tr -s ' ' | sed 's/^ //'
    )
}

# Without git nothing is.
all_is_committed() {
    local changed
    changed=$(git status --short) || return
    [ -z "$changed" ] || {
        say "$changed"
        return 1
    }
}

# In the order in which they are done, each with its commands. What no program can see is said, too.
owner_must() { # ROOT
    local version
    version=$(sed -nE 's/^m4_define\(\[zkl_(major|minor|patch)\], \[([0-9]+)\]\)$/\2/p' "$1/configure.ac" | paste -sd .)
    if grep -q '^m4_define(\[zkl_.*example\.org\])$' "$1/configure.ac"; then
        say "- say who you are, in configure.ac, which does not know yet; tests/lint/packages.sh then names the files that must follow:"
        sed -nE 's/^m4_define\(\[zkl_(owner|address|homepage)\], \[(.*)\]\)$/  \1: \2/p' "$1/configure.ac"
    fi
    say "- keep the times that SECURITY.md promises, or promise others:"
    sed -nE 's/^\| ([0-9]+ days[^|]*) \| ([^|,]*[^|, ]).*/  \1: \2/p' "$1/SECURITY.md"
    if grep -qxF "## $version (unreleased)" "$1/NEWS.md"; then
        printf '%s\n' "- say on which day, commit that, and call ./dev release again:" \
            "  sed -i 's/^## $version (unreleased)/## $version ($(date +%F))/' NEWS.md" \
            "  sed -i '0,/^ -- /s/^\( -- .*>  \).*/\1$(date -R)/' debian/changelog" \
            "  sed -i '/^%changelog/,\$s/^\* .* 20[0-9]* \(.* - $version-\)/* $(date '+%a %b %d %Y') \1/' packaging/zkl.spec"
    fi
    printf '%s\n' "- tag and sign:" \
        "  git tag -s v$version -m 'zkl $version'" \
        "  gpg --armor --detach-sign _build/tarball/zkl-$version.tar.gz" \
        "- publish the tag, the tarball and its signature:" \
        "  git push origin v$version" \
        "- let later versions be compared with this one, and commit that:" \
        "  sed -i 's/^commit .*/commit v$version/' tests/interop/versions.txt"
}

list_of() { # HEADING LINE…
    printf '\n== %s\n' "$1"
    (($# == 1)) || printf -- '- %s\n' "${@:2}"
}

release() { # [--quick]
    part "all is committed" all_is_committed
    if [ "${1-}" = --quick ]; then
        part "one version and one owner; the day, or none; no symbol and no row of the ABI is lost" ./dev lint
        left_out+=("./dev check" "./dev deb" "./dev versions")
    else
        part "all tests; one version and one owner; the day, or none; no symbol and no row of the ABI is lost" ./dev check
        part "Debian's packages and the spec's; the ABI differs by additions alone" ./dev deb
        part "a fleet of the former version becomes this one, and again what it was" ./dev versions
    fi
    part "a tarball of what git has, the same each time, which builds, tests and installs itself" ./dev tarball
    list_of "what holds" "${held[@]}"
    list_of "what was not run" "${left_out[@]}" "./dev soak, fuzz, mutants, tls: they search, and no release waits for them"
    list_of "what only the owner can do"
    owner_must .
    ((${#broken[@]} == 0)) || {
        list_of "what has failed" "${broken[@]}"
        die "release: not yet"
    }
}
