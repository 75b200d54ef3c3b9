#include "head_hint.h"

#include <string.h>

enum head_hint head_hint_read(const char *data, size_t length, const char *name)
{
    const size_t words = sizeof HINT_WORDS - 1;

    if (length == 0)
        return HINT_NONE;
    if (length <= words || memcmp(data, HINT_WORDS, words) != 0)
        return HINT_FOREIGN;
    if (length - words == strlen(name) && memcmp(data + words, name, length - words) == 0)
        return HINT_NAMED;
    return HINT_OTHER;
}
