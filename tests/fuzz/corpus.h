/* A target's inputs, in one text file: a line NAME "BYTES" for each. NAME is - for what a fuzzer
 * found; of BYTES \ and what is not printable ASCII is \xHH. libFuzzer wants a folder with a file
 * for each. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <glib.h>
#include <stdbool.h>

struct corpus_input {
    char *name;    /* of its file; that of what a fuzzer found is its SHA-1 */
    GBytes *bytes; /* never NULL */
};

/* Arrays of struct corpus_input *, which own them. Null if there is no such file or folder, or
 * corpus_parse() finds a line that is none. */
GPtrArray *corpus_parse(const char *text);
GPtrArray *corpus_read(const char *file);
GPtrArray *corpus_pack(const char *folder);

char *corpus_text(GPtrArray *inputs); /* in order: those with a name first */
bool corpus_unpack(GPtrArray *inputs, const char *folder);

#endif
