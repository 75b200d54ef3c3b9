#!/bin/bash
# Part of ./dev deb, inside the root that packages are built in, or where none can be made on the machine itself:
# the source is two folders above this file, and the packages go beside it.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

# With a network: what the build, lintian and the spec need, and who builds.
prepare() {
    apt-get update
    apt-get install -y --no-install-recommends lintian rpm
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

"$1"
