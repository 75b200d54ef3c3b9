# bash completion for zkl(1). Commands, their operands, options and values come from "zkl help"; names of
# nodes from the servers, if they answer within a second, or ZKL_COMPLETION_SECONDS.
# shellcheck shell=bash disable=SC2207 # candidates have no spaces, or are quoted

# The options of a command, or the global ones: "--name letter value summary", "-" for what there is not.
_zkl_options() { # [COMMAND]
    # shellcheck disable=SC2086
    LC_ALL=C "$zkl" help ${1-} 2>/dev/null | sed -nE \
        -e 's/^  -(.), (--[a-z-]+)=([^ ]+) +(.*)/\2 \1 \3 \4/p' -e 's/^  -(.), (--[a-z-]+) +(.*)/\2 \1 - \3/p' \
        -e 's/^  (--[a-z-]+)=([^ ]+) +(.*)/\1 - \2 \3/p' -e 's/^  (--[a-z-]+) +(.*)/\1 - - \2/p'
}

# What a command takes in order, as in "PATH NODE"; the last may be COMMAND.
_zkl_operands() { # COMMAND
    LC_ALL=C "$zkl" help "$1" 2>/dev/null | sed -nE "s/^  zkl [^ ]+ [a-z]+ //p" | tr ' ' '\n' | sed -nE 's/^\[?([A-Z]+)\]?$/\1/p; /^COMMAND$/q'
}

_zkl_commands() {
    LC_ALL=C "$zkl" help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p'
}

# Names below a path. Servers that are slow or away cost a moment, and never the shell.
_zkl_children() { # PATH
    local limit=${ZKL_COMPLETION_SECONDS:-1}
    timeout -k 0.2 "$limit" "$zkl" "${server[@]}" --connect-timeout "$limit" --session-timeout 4 ls --children "$1" \
        2>/dev/null </dev/null
}

# Offers those of the lines of standard input that begin with what is there, quoted for the shell.
_zkl_offer() { # PREFIX-OF-EACH
    local line quoted
    while IFS= read -r line; do
        [[ $1$line != "$cur"* ]] && continue
        printf -v quoted %q "$1$line"
        COMPREPLY+=("$quoted")
    done
}

# A path goes on below itself, so no space follows. What ends in ten digits is a contender.
_zkl_paths() {
    local directory=${cur%/*}
    compopt -o nospace 2>/dev/null
    if [[ $cur != /* ]]; then
        _zkl_offer "" <<<"/"
    else
        _zkl_offer "$directory/" < <(_zkl_children "${directory:-/}" | grep -vE '[0-9]{10}$')
    fi
}

# The values of an option: some summaries end with a list, as in "as: container or persistent".
_zkl_values() { # KIND SUMMARY
    local list='[a-z]+( \(default\))?(, [a-z]+)* or [a-z]+'
    case $1 in
    FILE) compopt -o default 2>/dev/null ;;
    PATH*) _zkl_paths ;;
    STRING) COMPREPLY=($(compgen -c -- "$cur")) ;;
    SECS)
        [[ $cur =~ ^[0-9.]+ ]] || return 0
        list=${BASH_REMATCH[0]}
        COMPREPLY=($(compgen -W "${list}ms ${list}s ${list}m ${list}h" -- "$cur"))
        ;;
    *)
        [[ $2 =~ :\ ($list)$ ]] || return 0
        list=${BASH_REMATCH[1]/ (default)/}
        list=${list//,/}
        COMPREPLY=($(compgen -W "${list/ or / }" -- "$cur"))
        ;;
    esac
}

_zkl_operand() { # KIND
    case $1 in
    PATH) _zkl_paths ;;
    NODE) _zkl_offer "" < <(_zkl_children "${operands[0]}") ;;
    COMMAND)
        compopt -o default 2>/dev/null
        COMPREPLY=($(compgen -c -- "$cur"))
        ;;
    esac
}

# The option that a word is, as in _zkl_options; of short ones the last letter counts: -nw 5.
_zkl_option() { # WORD
    local name letter value summary
    while read -r name letter value summary; do
        [[ $1 = --* ]] && [[ ${1%%=*} = "$name" ]] || [[ $1 = -[!-]* && $1 = *"$letter" ]] || continue
        printf '%s %s\n' "$value" "$summary"
        return
    done <<<"$options"
}

# The words up to the cursor; bash takes those with a colon or an equals sign apart.
_zkl_words() {
    local i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if ((i > 1)) && [[ ${COMP_WORDS[i]} = [:=]* || ${COMP_WORDS[i - 1]} = *[:=] ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
        fi
    done
}

# Walks over the words before the cursor. pending: the value that the last of them waits for.
_zkl_walk() {
    local word
    for word in "${words[@]:1:${#words[@]}-2}"; do
        if [ -n "$pending" ]; then
            [[ $last != --@(connect|auth|auth-file|cacert|cert|key) ]] || server+=("$last=$word")
            pending=
        elif [[ $word = --@(connect|auth|auth-file|cacert|cert|key)=* ]]; then
            server+=("$word")
        elif [ "$word" = -- ]; then
            dashes=yes
        elif [[ $word = -?* && -z $dashes ]]; then
            last=$word
            [[ $word = *=* ]] || pending=$(_zkl_option "$word")
            [[ $pending != -* ]] || pending=
        elif [ -z "$command" ]; then
            command=$word
            options=$(_zkl_options "$command")
            kinds=($(_zkl_operands "$command"))
        else
            operands+=("$word")
            # The words after COMMAND are those of another program.
            [ "${kinds[${#operands[@]} - 1]-}" != COMMAND ] || return 1
        fi
    done
    return 0
}

_zkl() {
    local zkl cur words command='' options pending='' last='' dashes='' kinds=() operands=() server=()
    COMPREPLY=()
    zkl=$(type -P -- "${COMP_WORDS[0]/#\~/$HOME}") || return 0
    _zkl_words
    cur=${words[${#words[@]} - 1]}
    options=$(_zkl_options)
    if ! _zkl_walk; then
        compopt -o default 2>/dev/null
    elif [ -n "$pending" ]; then
        _zkl_values "${pending%% *}" "$pending"
    elif [[ $cur = --*=* ]]; then
        pending=$(_zkl_option "$cur")
        cur=${cur#*=}
        _zkl_values "${pending%% *}" "$pending"
    elif [[ $cur = -* && -z $dashes ]]; then
        COMPREPLY=($(compgen -W "$(cut -d ' ' -f 1 <<<"$options")" -- "$cur"))
    elif [ -z "$command" ] || [ "$command" = help ]; then
        COMPREPLY=($(compgen -W "$(_zkl_commands)" -- "$cur"))
    else
        _zkl_operand "${kinds[${#operands[@]}]-}"
    fi
    # bash replaces only what follows the last colon.
    [[ $cur != *[:=]* || $COMP_WORDBREAKS != *:* ]] || COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*[:=]}"}"}")
}
complete -F _zkl zkl
