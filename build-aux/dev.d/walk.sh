# ./dev walk: what a call of the API goes through, on a real server: how many functions, files and folders, or a
# stage's calls one by one. In its build each function of lib and recipes says when it begins and ends.
# shellcheck shell=bash disable=SC2154

# What each folder of lib may call, as the lints have it.
folders_of_lib() (
    # shellcheck source=tests/lint/common.sh
    . tests/lint/common.sh
    for folder in "${!folders_below[@]}"; do
        echo "$folder: ${folders_below[$folder]}"
    done
)

walk() { # [STAGE]
    local program=$root/_build/walk/tests/walk/walk trace=$root/_build/walk/trace
    build walk tests/walk/walk tests/support/zkl-server tests/support/zkl-watchdog >&2
    step "walk" watched walk "$root/_build/walk/tests/support/zkl-server" -- \
        sh -c "exec '$program' \"\$ZKL_CONNECT\" '$trace'" >&2
    folders_of_lib | python3 -B tests/walk/report.py "$program" "$trace" "$@" || exit 1
}
