#!/bin/bash
# From a git clone, in place: the steps of the README; git sees nothing of what they make; the tarball has what git has,
# by a table of exceptions, and the same bytes each time; and ./dev builds nevertheless.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
begin
: "${top_srcdir:=$PWD}"

if [ -n "${ZKL_INSTRUMENTED-}" ] || [ "$(git -C "$top_srcdir" rev-parse --show-cdup 2>&1)" != "" ]; then
    skip "an instrumented build, or no git clone"
    finish
fi
command -v autoreconf >/dev/null || { missing autoreconf; finish; }
unset MAKEFLAGS MFLAGS MAKELEVEL
# What configure finds it need not find twice, and nothing is built twice.
printf '%s\n' "cache_file=$scratch/cache" enable_dependency_tracking=no >"$scratch/site"
export CC=gcc CFLAGS=-O0 CONFIG_SITE=$scratch/site
# Nor compiled twice: where the build that this is a test of has the object, that is taken. make has found
# its source then, in the clone; the headers are looked for below.
mkdir "$scratch/bin"
# shellcheck disable=SC2016
printf '%s\n' '#!/bin/sh' "built=$top_builddir gcc=$(command -v gcc)" '
object= compiles= last=
for word; do
    [ "$last" != -o ] || object=$word
    [ "$word" != -c ] || compiles=yes
    last=$word
done
[ ! -e "$ZKL_PROGRESS" ] || printf . >>"$ZKL_PROGRESS" # each file is a step
if [ -n "$compiles" ] && [ -f "$built/${object:-.}" ]; then exec cp "$built/$object" "$object"; fi
exec "$gcc" "$@"' >"$scratch/bin/gcc"
chmod +x "$scratch/bin/gcc"
PATH=$scratch/bin:$PATH
clone=$scratch/clone
mkdir "$clone"
git -C "$top_srcdir" ls-files -coz --exclude-standard |
    (cd "$top_srcdir" && while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done) |
    tar -C "$top_srcdir" --null -T - -c | tar -C "$clone" -x
cd "$clone" || exit 1
headers() { # ROOT
    (cd "$1" && find include lib recipes tools -name '*.h' -not -path include/zkl/version.h | sort)
}
expect "git has the headers" "$(headers "$top_srcdir")" "$(headers .)"
git init -q
git add -A

steps=$(sed -n 's/^    \(autoreconf -fi && .*\)/\1/p' README.md)
expect "the README has the steps" \
    "autoreconf -fi && ./configure && make && sudo make install && sudo ldconfig" "$steps"
steps=${steps//sudo make install/make install DESTDIR="$scratch/root"}
steps=${steps//make /make -j2 SHELL=/bin/sh }
run bash -c "${steps% && sudo ldconfig}"
if [ "$status" -eq 0 ]; then pass "and they work"; else fail "and they work" "$(tail -n 20 "$scratch/out" "$scratch/err")"; fi
run tools/zkl --version
expect_match "there is a command" '^0:zkl [0-9.]+$' "$status:$out"
expect "it is installed" "$scratch/root/usr/local/bin/zkl" "$(ls "$scratch/root/usr/local/bin/zkl")"
expect "git sees nothing of it" "" "$(git status --porcelain | grep -v '^A ')"

# ---- the tarball ----

git -c user.name=x -c user.email=x@localhost commit -qm x
compared() {
    python3 -B build-aux/dev.d/compare-files.py packaging/tarball git "$scratch/tracked" "the tarball" "$scratch/packed"
}
run make dist SHELL=/bin/sh
expect "make dist" 0 "$status"
tarball=$(echo zkl-*.tar.gz)
first=$(sha256sum <"$tarball")
git ls-files >"$scratch/tracked"
tar -tzf "$tarball" | sed -n 's,^[^/]*/\(.*[^/]\)$,\1,p' >"$scratch/packed"
run compared
expect_match "the tarball has what git has, and what is made of that" '^0:.*no difference' "$status:$out"
echo planted.in.git >>"$scratch/tracked"
echo planted.in.tarball >>"$scratch/packed"
run compared
expect_match "sees what git alone has" 'git: planted\.in\.git; not in the tarball' "$out"
expect_match "sees what the tarball alone has" 'only in the tarball: planted\.in\.tarball' "$out"
# As in a clone that was made with another umask, and at another time.
find docs bench -type f -exec chmod g+w {} + -exec touch {} +
run make dist SHELL=/bin/sh
expect "a second tarball of the commit has the same bytes" "$first" "$(sha256sum <"$tarball")"

# ---- ./dev ----

# As ./dev does for all its commands, but for as little as can be built.
# shellcheck disable=SC2016
run bash -euc 'root=$PWD logs=$PWD/_build/log
    mkdir -p "$logs"
    . build-aux/dev.d/say.sh
    . build-aux/dev.d/build.sh
    build gcc recipes/librecipes_la-rule.lo'
if [ "$status" -eq 0 ]; then pass "./dev builds in a tree configured in place"; else fail "./dev builds in a tree configured in place" "$out"; fi
expect_match "and says what becomes of that" 'configured in place' "$out"
expect "it has built elsewhere" "_build/gcc/recipes/librecipes_la-rule.lo" \
    "$(find . -name librecipes_la-rule.lo | sed 's,^./,,')"
expect "git sees nothing of that either" "" "$(git status --porcelain | grep -v '^A ')"
finish
