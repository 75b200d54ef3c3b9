#!/bin/bash
# Completion in bash, as bash calls it: commands, options, their values, paths from a server; and that a
# command which never ends does not hang the shell. zsh's, as far as it needs no terminal.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_server
begin
: "${top_srcdir:=$PWD}"
# shellcheck source=tools/completion/zkl.bash
. "$top_srcdir/tools/completion/zkl.bash"
C=/cli/completion

# What is offered at the end of a line, sorted, with spaces between. zkl stands for the one under test.
offered() { # LINE
    local i
    # bash's own words: colons and equals signs stand apart.
    # shellcheck disable=SC2086
    mapfile -t COMP_WORDS < <(sed -E 's/^zkl /\n/; s/[:=]+/\n&\n/g; s/ +/\n/g' <<<"$1" | sed -E '1d')
    for i in "${!COMP_WORDS[@]}"; do
        [ -n "${COMP_WORDS[i]}" ] || ((i == ${#COMP_WORDS[@]} - 1)) || unset "COMP_WORDS[i]"
    done
    COMP_WORDS=("$command_name" "${COMP_WORDS[@]}")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
    COMPREPLY=()
    _zkl
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
command_name=$ZKL
expect_offered() { # LINE WANTED
    expect "$1" "$2" "$(offered "$1")"
}

# Without any server.
commands=$("$ZKL" help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | sort | paste -sd ' ')
expect_match "there are commands" 'break elect help .* watch' "$commands "
expect_offered "zkl " "$commands"
expect_offered "zkl help l" "limit lock ls"
expect_offered "zkl --connect-timeout 3 -v lo" "lock"
expect_offered "zkl --connect" "--connect --connect-timeout"
expect_offered "zkl lock --on-" "--on-lost --on-lost-timeout --on-outgrown --on-revoke --on-suspect"
expect_offered "zkl once --on-" "--on-lost --on-lost-timeout --on-outgrown --on-suspect"
expect_offered "zkl --connect h:1,i:2/c lock -n --conn" "--connect --connect-timeout"
expect_offered "zkl ls /a --js" "--json"
expect_offered "zkl lock --wa" "--wait-children"
for option in "--parents :container persistent" "--on-suspect :ignore stop term" "--on-outgrown :ignore term" "--peer :curator kazoo" \
    "--on-suspect s:stop" "--parents=p:persistent" "--name :" "-w :" "-nE :"; do
    expect_offered "zkl lock ${option%%:*}" "${option#*:}"
done
expect_offered "zkl lock -w 5" "5h 5m 5ms 5s"
expect_offered "zkl --session-timeout=30" "30h 30m 30ms 30s"
expect_offered "zkl lock --grace 1.5m" "1.5m 1.5ms"
expect_offered "zkl elect /a me --layout " "kazoo latch selector"
expect_offered "zkl ls " "/"
expect_offered "zkl ls j" ""
mkdir "$scratch/bin"
touch "$scratch/bin/zkl-completed"
chmod +x "$scratch/bin/zkl-completed"
PATH=$scratch/bin:$PATH
expect_offered "zkl lock /a zkl-compl" "zkl-completed"
expect_offered "zkl lock -w 5 -- /a zkl-compl" "zkl-completed"
expect_offered "zkl elect /a zkl-compl" ""
expect_offered "zkl elect /a me zkl-compl" "zkl-completed"
expect_offered "zkl lock /a zkl-completed --on-" ""

# Paths from the server, however slow this machine is.
export ZKL_COMPLETION_SECONDS=1000
"$ZKL" lock $C/nightly true
"$ZKL" lock $C/noon/sun true
"$ZKL" lock "$C/no space" true
hold $C/held
expect_offered "zkl ls /cl" "/cli"
expect_match "the root's children" '^/cli /zookeeper$' "$(offered "zkl ls /")"
expect_offered "zkl lock -n $C/n" "$C/nightly $C/no\\ space $C/noon"
expect_offered "zkl lock /a --and $C/noon/" "$C/noon/sun"
expect_offered "zkl lock --and=$C/noo" "$C/noon"
expect_offered "zkl lock $C/held/" ""
expect_match "a contender's node" '^_c_[0-9a-f-]+-lock-[0-9]{10}$' "$(offered "zkl break $C/held ")"
let_go
real=$ZKL_CONNECT
export ZKL_CONNECT=127.0.0.1:1
ZKL_COMPLETION_SECONDS=0.5 expect_offered "zkl ls $C/noo" ""
expect_offered "zkl --connect $real ls $C/noo" "$C/noon"
expect_offered "zkl ls --connect=$real/cli /completion/noo" "/completion/noon"
ZKL_CONNECT=$real

# One that never ends.
cat >"$scratch/bin/zkl" <<SLOW
#!/bin/sh
case "\$*" in *--children*) exec sleep 1000 ;; esac
exec "$ZKL" "\$@"
SLOW
chmod +x "$scratch/bin/zkl"
command_name=zkl
unset ZKL_COMPLETION_SECONDS
offered "zkl ls /c" >"$scratch/slow" &
shell=$!
remember $shell
status_of $shell
expect "nothing comes of it" "0:" "$?:$(<"$scratch/slow")"
command_name=$ZKL

if command -v zsh >/dev/null; then
    # shellcheck disable=SC2016
    run zsh -fc 'setopt extendedglob; zkl=$1; shift; sed "\$d" "$0" >"$2"; . "$2"; specs=()
        _zkl_options lock; _zkl_operands lock; print -l -- $specs' "$top_srcdir/tools/completion/_zkl" "$ZKL" x "$scratch/_zkl"
    expect "zsh's specifications" "0:" "$status:$err"
    for wanted in '--parents=[Create missing parents as: container or persistent]:KIND:(container persistent)' \
        '-n[Fail if another contender is first]' '1:path:_zkl_paths' '*:::command:_normal'; do
        expect "zsh: $wanted" "$wanted" "$(grep -xF -e "$wanted" <<<"$out")"
    done
else
    missing zsh
fi
finish
