#!/bin/bash
# Part of ./dev deb, inside the root that packages are built in, or where none can be made on the machine itself:
# the source is two folders above this file, with that of the former version beside it, if git has one. The packages go
# there, too.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

# With a network: what the build, lintian, the spec and the comparison of ABIs need, and who builds.
prepare() {
    apt-get update
    apt-get install -y --no-install-recommends lintian rpm abigail-tools
    apt-get build-dep -y --no-install-recommends .
    useradd --create-home builder
    chown -R builder: ..
}

# As anybody but root, if there is a choice.
as_builder() {
    if ((EUID == 0)) && id builder >/dev/null 2>&1; then runuser -u builder -- "$@"; else "$@"; fi
}

# Lintian of an older release does not know the newest policy; libtool and dpkg-shlibdeps warn of their own affairs.
build() {
    local said
    as_builder dpkg-buildpackage -us -uc -j"$(nproc)" 2>&1 | tee ../build.log
    said=$(
        grep -i warning: ../build.log | grep -vE "^(libtool|dpkg-shlibdeps):"
        as_builder lintian --allow-root --display-info --pedantic --suppress-tags newer-standards-version ../*.changes 2>&1
    ) || true
    [ -z "$said" ] || {
        printf 'warnings, and lintian:\n%s\n' "$said"
        return 1
    }
}

# "PACKAGE PATH" of each file.
files_of_debs() {
    local package
    for package in ../*.deb; do
        [[ $package != *-dbgsym_* ]] || continue
        dpkg-deb --fsys-tarfile "$package" | tar -t | sed -n "s,^\.\(.*[^/]\)\$,$(dpkg-deb -f "$package" Package) \1,p"
    done
}
files_of_rpms() {
    rpm -qp --qf '[%{=NAME} %{FILEMODES:perms} %{FILENAMES}\n]' ../rpm/RPMS/*/*.rpm | awk '$2 !~ /^d/ { print $1, $3 }'
}

# The packages of the spec, from a tarball. Debian's rpm has no macro for Python's folder, one of its scripts needs bash and
# asks for sh, and what the spec requires has other names here.
spec() {
    as_builder make dist
    as_builder rpmbuild -bb --nodeps --define "_topdir $PWD/../rpm" --define "_sourcedir $PWD" \
        --define "python3_sitelib /usr/lib/python3/site-packages" \
        --define "__brp_compress bash /usr/lib/rpm/brp-compress /usr" packaging/zkl.spec
    files_of_debs >../debian.files
    files_of_rpms >../spec.files
    python3 -B build-aux/dev.d/compare-files.py packaging/differences "Debian's packages" ../debian.files \
        "the spec's packages" ../spec.files
}

# What abidiff leaves out: the structs that no header defines, and members at the end of those that may grow.
suppressions() {
    printf '[suppress_type]\ndrop = yes\ntype_kind = struct\nname_regexp = ^(%s)$\n\n' \
        "$(sed -nE 's/^typedef struct (zkl_\w+) \1;.*/\1/p' include/zkl/api.h | paste -sd '|')"
    awk '$1 == "struct" { split($2, part, "[.]"); grows[part[1]] += 0; if ($3 == "size") grows[$2] = -1 }
        END { for (name in grows) if (grows[name] == 0)
            printf "[suppress_type]\ntype_kind = struct\nname = %s\nhas_data_member_inserted_at = end\nhas_size_change = yes\n\n", name }' \
        tests/lint/libzkl0.abi
}

# What a program that is linked with the former version finds otherwise in this one. Without what debuggers know of a
# library abidiff compares the names alone, and does not see what is planted below.
differences() {
    local said status=0
    said=$(abidiff --no-added-syms --suppressions ../suppressions ../former/lib/.libs/libzkl.so.0 \
        lib/.libs/libzkl.so.0 2>&1) || status=$?
    ((status == 0)) || printf 'abidiff, status %d:\n%s\n' $status "$said"
}

# The same after a change of a header and of one of the files that include it, which alone is compiled anew.
differences_with() { # EDIT HEADER FILE
    local before
    before=$(<"include/zkl/$2")
    sed -i -E "$1" "include/zkl/$2" "$3"
    [ "$before" != "$(<"include/zkl/$2")" ] || echo "nothing is planted"
    rm "${3%/*}"/*-"$(basename "$3" .c)".lo
    as_builder make lib/libzkl.la >>../planted.log 2>&1 || echo "what is planted does not compile"
    differences
}

expect_said() { # WHAT PATTERN SAID: without a pattern nothing may be said
    if [[ -n $2 && $3 =~ $2 ]] || [[ -z $2 && -z $3 ]]; then
        echo "ok: $1"
    else
        printf 'FAILED: %s\n%s\n' "$1" "$3"
        failed=yes
    fi
}

# The package's library, before it is stripped, beside the former version's. This comes last, since it plants changes in
# this tree: one that is promised to be none, and then some that must be seen.
abi() {
    local failed=no
    (
        cd ../former
        as_builder autoreconf -fi
        as_builder ./configure -q --disable-dependency-tracking zkl_cxx_at_once=yes
        as_builder make -j"$(nproc)" lib/libzkl.la
    )
    suppressions >../suppressions
    expect_said "only additions since the former version" "" "$(differences)"
    expect_said "a member at the end of options is an addition" "" \
        "$(differences_with 's/^\} zkl_mutex_options;/    int64_t planted;\n&/' mutex.h lib/lock/mutex.c)"
    expect_said "sees a member that has moved" "retain_ms" \
        "$(differences_with 's/^    int64_t retain_ms;/    int64_t moved;\n&/' mutex.h lib/lock/mutex.c)"
    expect_said "sees an enumerator of another value" "ZKL_LOST" \
        "$(differences_with 's/ZKL_LOST = [0-9]+/ZKL_LOST = 90/' grant.h lib/grant/grant.c)"
    expect_said "sees a parameter that is wider" "zkl_strerror" \
        "$(differences_with 's/zkl_strerror\(int err\)/zkl_strerror(long err)/' error.h lib/base/error.c)"
    [ $failed = no ]
}

"$1"
