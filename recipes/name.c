#include "name.h"

#include <limits.h>
#include <string.h>

/* The server prints the number with "%010d": 10 characters, 11 for the lowest negative ones. */
enum { NUMBER_MIN = 10, NUMBER_MAX = 11 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool ends_with(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && memcmp(text + length - n, word, n) == 0;
}

static bool follows_lock_word(const char *name, size_t length)
{
    return ends_with(name, length, "lock-") || ends_with(name, length, "__lock__");
}

/* The value of text, an optional '-' and digits; false if it does not fit 32 bits. */
static bool read_number(const char *text, size_t length, int32_t *ret)
{
    bool negative = text[0] == '-';
    int64_t value = 0;

    for (size_t i = negative; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    if (negative)
        value = -value;
    if (value > INT32_MAX || value < INT32_MIN)
        return false;
    *ret = (int32_t)value;
    return true;
}

void name_parse(const char *name, size_t length, struct child *out)
{
    out->kind = CHILD_FOREIGN;
    out->number = 0;
    /* The longer form first: in "lock--2147483648" the sign belongs to the number. */
    for (size_t n = NUMBER_MAX; n >= NUMBER_MIN; n--) {
        if (length < n || !follows_lock_word(name, length - n))
            continue;
        if (n == NUMBER_MAX && name[length - n] != '-')
            continue;
        if (read_number(name + length - n, n, &out->number)) {
            out->kind = CHILD_LOCK;
            return;
        }
    }
    out->number = 0;
}

bool name_has_id(const char *name, size_t length, const char *id, size_t id_length)
{
    return length > id_length + 3 && memcmp(name, "_c_", 3) == 0 &&
           memcmp(name + 3, id, id_length) == 0 && name[3 + id_length] == '-';
}
