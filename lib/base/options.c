#include "options.h"

#include <string.h>

enum { SIZE_MAX_SANE = 4096 }; /* of any version to come */

/* 0.1 is the first version, so that nothing shorter is known. */
const char *options_take(void *ret, size_t size, const void *given)
{
    size_t claimed;

    if (!given)
        return NULL;
    memcpy(&claimed, given, sizeof claimed);
    if (claimed < size || claimed > SIZE_MAX_SANE)
        return "size is invalid: fill the struct with its …_OPTIONS_INIT macro";
    for (size_t i = size; i < claimed; i++) {
        if (((const char *)given)[i] != 0)
            return "an option is set that this version of the library does not know";
    }
    memcpy(ret, given, size);
    return NULL;
}
