# From what lib/functions.awk writes, a line for each function that returns an error: CALL(NAME, PARAMETERS,
# ARGUMENTS); or, of one that has a completion, BEGIN(NAME, the completion's DATA, PARAMETERS, ARGUMENTS). For seen.c.
$2 == "ZKL_API" && $3 == "int" {
    match($0, /zkl_[a-z0-9_]+\(/)
    name = substr($0, RSTART, RLENGTH - 1)
    parameters = substr($0, RSTART + RLENGTH, length($0) - RSTART - RLENGTH - 1)
    # Its result is what another function returned.
    if (name == "zkl_last_error")
        next
    arguments = completion = completion_data = ""
    count = split(parameters, part, ",")
    for (i = 1; i <= count; i++) {
        argument = part[i]
        sub(/.*[ *]/, "", argument)
        if (part[i] ~ /zkl_(acquired|done|multi)_fn /) {
            completion = part[i] ~ /acquired/ ? "acquired" : "done"
            argument = "told ? seen_" completion " : " argument
        } else if (completion && !completion_data) {
            completion_data = argument
            argument = "told ? told : " argument
        }
        arguments = arguments (i > 1 ? ", " : "") argument
    }
    if (completion)
        printf "BEGIN(%s, %s, (%s), (%s))\n", name, completion_data, parameters, arguments
    else
        printf "CALL(%s, (%s), (%s))\n", name, parameters, arguments
}
