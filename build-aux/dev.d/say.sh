# Progress, failure in one sentence, and logs. Sourced by ./dev.
# shellcheck shell=bash disable=SC2154

say() {
    printf '%s\n' "$*"
}

die() { # SENTENCE
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

# The net under everything that no step() or die() has explained.
unexpected() { # STATUS COMMAND
    printf 'dev: "%s" ended with status %s, which was not foreseen\n' "$2" "$1" >&2
}

log_name() { # NOTE
    local name=${1//[^A-Za-z0-9]/-}
    printf '%s/%s.log' "$logs" "$name"
}

# In words for a shell; of an assignment the value alone is quoted.
quoted() { # WORD…
    local word words=()
    for word in "$@"; do
        if [[ $word =~ ^[-A-Za-z0-9_./:,=+@%]+$ ]]; then
            words+=("$word")
        elif [[ $word =~ ^([A-Za-z_]+=)(.*)$ ]]; then
            words+=("${BASH_REMATCH[1]}${BASH_REMATCH[2]@Q}")
        else
            words+=("${word@Q}")
        fi
    done
    printf '%s\n' "${words[*]}"
}

# How to run a command again by hand, unless it is a function of this script.
say_again() { # COMMAND…
    local folder=
    [ "$(type -t "$1")" != function ] || return 0
    [ "$PWD" = "$root" ] || folder="cd $(quoted "$PWD") && "
    printf 'again: %s%s\n' "$folder" "$(quoted "$@")"
}

# Runs COMMAND with its output in a log and one line of progress; ends the script if it fails.
step() { # NOTE COMMAND…
    local note=$1 log status=0 start=$SECONDS
    shift
    log=$(log_name "$note")
    printf '%s ... ' "$note"
    "$@" >"$log" 2>&1 || status=$?
    if ((status != 0)); then
        printf 'failed\n'
        printf 'dev: "%s" failed with status %d; the end of %s:\n' "$note" "$status" "${log#"$root"/}" >&2
        tail -n 25 "$log" | sed 's/^/    /' >&2
        say_again "$@" >&2
        exit 1
    fi
    printf '%d s\n' $((SECONDS - start))
}
