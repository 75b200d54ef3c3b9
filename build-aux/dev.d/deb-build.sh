#!/bin/bash
# Part of ./dev deb, inside the root that packages are built in, or where none can be made on the machine itself:
# the source is two folders above this file, and the packages go beside it.
set -eu -o pipefail
cd "$(dirname "$0")/../.."

# With a network: what the build and lintian need, and who builds.
prepare() {
    apt-get update
    apt-get install -y --no-install-recommends lintian
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

"$1"
