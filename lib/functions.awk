# From the public headers, a line for each function: since which version, as its comment says, or else zkl.h of all, and
# its declaration. A function without a comment of its own is as old as the one above it.
/^\/\*/ { since = "" }
FILENAME ~ /\/zkl\.h$/ && match($0, /since [0-9.]*[0-9]/) { first = substr($0, RSTART + 6, RLENGTH - 6) }
match($0, /Since [0-9.]*[0-9]/) { since = substr($0, RSTART + 6, RLENGTH - 6) }
/^ZKL_API / {
    text = $0
    while (text !~ /;$/ && (getline line) > 0)
        text = text line
    gsub(/ +/, " ", text)
    sub(/ ZKL_MUST_CHECK;/, ";", text)
    # A build in the source tree has version.h beside version.h.in.
    if (!seen[text]++) {
        texts[++count] = text
        versions[count] = since
    }
}
END {
    if (!first) {
        print "zkl.h does not say since when everything is there" >"/dev/stderr"
        exit 1
    }
    for (i = 1; i <= count; i++)
        print (versions[i] ? versions[i] : first), texts[i]
}
