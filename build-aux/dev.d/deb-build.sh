#!/bin/bash
# Of ./dev deb, inside the root that packages are built in, or where none can be made on the machine itself:
# the source is two folders above this file, and the packages go beside it.
set -eu
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

build() {
    local said
    as_builder dpkg-buildpackage -us -uc -j"$(nproc)"
    said=$(as_builder lintian --allow-root --display-info --pedantic ../*.changes 2>&1) || true
    [ -z "$said" ] || {
        printf 'lintian:\n%s\n' "$said"
        return 1
    }
}

"$1"
