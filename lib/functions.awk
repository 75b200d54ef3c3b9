# From the public headers, a line for each function: since which version, as its comment says, and its declaration. A
# function without a comment of its own is as old as the one above it.
/^\/\*/ { since = "" }
match($0, /Since [0-9.]*[0-9]/) { since = substr($0, RSTART + 6, RLENGTH - 6) }
/^ZKL_API / {
    text = $0
    while (text !~ /;$/ && (getline line) > 0)
        text = text line
    gsub(/ +/, " ", text)
    sub(/ ZKL_MUST_CHECK;/, ";", text)
    if (!since) {
        print FILENAME ": no \"Since\": " text >"/dev/stderr"
        exit 1
    }
    # A build in the source tree has version.h beside version.h.in.
    if (!seen[text]++)
        print since, text
}
