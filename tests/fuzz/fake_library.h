/* A libzkl for the command that answers what the input says: no server, no thread, no file. */
#ifndef FUZZ_FAKE_LIBRARY_H
#define FUZZ_FAKE_LIBRARY_H

#include "command.h"

#include <zkl.h>

enum { FAKE_CONTENDERS = 16 };

struct fake_library {
    int open_code, read_code; /* 0, or how it fails */
    char *file;               /* what every file holds; NULL: none can be read */
    zkl_contender contenders[FAKE_CONTENDERS];
    size_t count;
    /* What the command has done. */
    unsigned opened, closed, read, freed;
};

extern struct fake_library fake_library;

#endif
