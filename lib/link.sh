#!/bin/sh
# Links a library, and hides in its archive what the export map hides in a shared library: our
# log_line() is none of a program's that has its own. So the archive has one object.
# LD, OBJCOPY, AR and RANLIB are commands, perhaps of several words.
# usage: link.sh MAP LIBRARY.la COMMAND...; COMMAND makes LIBRARY.la.
set -eu
map=$1 library=$2
shift 2
folder=$(dirname "$library")/.libs
name=$folder/$(basename "$library" .la)

# What is half made must not look made.
trap 'test $? -eq 0 || rm -f "$library" "$name.a"; rm -f "$name.one.o" "$name.names"' EXIT
rm -f "$name.a"
"$@"
test -e "$name.a" || exit 0 # --disable-static

$LD -r -o "$name.one.o" --whole-archive "$name.a"
sed -n 's/^ *\(zkl_[a-z0-9_]*\);$/\1/p' "$map" >"$name.names"
$OBJCOPY --keep-global-symbols="$name.names" "$name.one.o"
rm -f "$name.a"
$AR cr "$name.a" "$name.one.o"
$RANLIB "$name.a"
