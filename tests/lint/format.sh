#!/bin/bash
# Every C and C++ file is as clang-format would write it (.clang-format; `./dev format` applies it).
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"

if ! command -v clang-format >/dev/null; then
    missing clang-format
    finish
fi
cd "$top_srcdir" || exit 99
mapfile -t files < <(find recipes lib include tools examples bench tests \( -name '*.[ch]' -o -name '*.[ch]pp' \) \
    -not -path include/zkl/version.h | sort)
complaints=$(clang-format --dry-run -Werror "${files[@]}" 2>&1 | grep error:)
for file in "${files[@]}"; do
    expect_none "$file" "${complaints:+$(grep -m 5 -F "$file:" <<<"$complaints")}"
done

printf 'int  x ;\n' >"$scratch/planted.c"
cp .clang-format "$scratch"
expect_some "sees a planted offence" "$(clang-format --dry-run -Werror "$scratch/planted.c" 2>&1)"
finish
