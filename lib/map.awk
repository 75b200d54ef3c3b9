# From what functions.awk writes, what the linker exports: the functions of each version, in a node behind the older
# one's.
function number(version, part) {
    split(version, part, ".")
    return (part[1] * 1000 + part[2]) * 1000 + part[3]
}
match($0, /zkl_[a-z0-9_]+\(/) { names[$1] = names[$1] "    " substr($0, RSTART, RLENGTH - 1) ";\n" }
END {
    for (;;) {
        next_one = ""
        for (version in names)
            if (next_one == "" || number(version) < number(next_one))
                next_one = version
        if (next_one == "")
            break
        printf "ZKL_%s {\nglobal:\n%s", next_one, names[next_one]
        print older ? "} " older ";" : "local:\n    *;\n};"
        older = "ZKL_" next_one
        delete names[next_one]
    }
}
