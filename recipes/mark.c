#include "mark.h"

#include <string.h>

enum mark mark_read(const char *data, size_t length, const char *name)
{
    const size_t words = sizeof MARK_WORDS - 1;

    if (length == 0)
        return MARK_NONE;
    if (length <= words || memcmp(data, MARK_WORDS, words) != 0)
        return MARK_FOREIGN;
    if (length - words == strlen(name) && memcmp(data + words, name, length - words) == 0)
        return MARK_NAMED;
    return MARK_OTHER;
}
