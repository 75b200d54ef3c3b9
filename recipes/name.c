#include "name.h"

#include <limits.h>
#include <string.h>

/* The server prints the number with "%010d": 10 characters, 11 for the lowest negative ones. */
enum { NUMBER_MIN = 10, NUMBER_MAX = 11 };

/* "-p007-" */
enum { PRIORITY_LENGTH = 6 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool ends_with(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && memcmp(text + length - n, word, n) == 0;
}

/* What stands before the number; of each kind the first is the one that we write. */
static const struct {
    const char *text;
    enum child_kind kind;
} words[] = {{"lock-", CHILD_LOCK}, {"__lock__", CHILD_LOCK}, {"latch-", CHILD_LATCH}};

enum { WORDS = sizeof words / sizeof *words };

/* The kind of what ends in one of the words, and the length before that. */
static enum child_kind kind_at_end(const char *name, size_t length, size_t *ret_before)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (ends_with(name, length, words[i].text)) {
            *ret_before = length - strlen(words[i].text);
            return words[i].kind;
        }
    }
    return CHILD_FOREIGN;
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

/* Takes a contender's name apart; before is the length of what is in front of the word. */
static enum child_kind parse(const char *name, size_t length, int32_t *ret_number,
                             size_t *ret_before)
{
    enum child_kind kind;

    /* The longer form first: in "lock--2147483648" the sign belongs to the number. */
    for (size_t n = NUMBER_MAX; n >= NUMBER_MIN; n--) {
        if (length < n || (kind = kind_at_end(name, length - n, ret_before)) == CHILD_FOREIGN)
            continue;
        if (n == NUMBER_MAX && name[length - n] != '-')
            continue;
        if (read_number(name + length - n, n, ret_number))
            return kind;
    }
    return CHILD_FOREIGN;
}

void name_parse(const char *name, size_t length, struct child *out)
{
    int32_t number = 0;
    size_t before;

    out->kind = parse(name, length, &number, &before);
    out->number = out->kind == CHILD_FOREIGN ? 0 : number;
}

const char *name_word(enum child_kind kind)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (words[i].kind == kind)
            return words[i].text;
    }
    return "";
}

int name_priority(const char *name, size_t length)
{
    const char *at;
    int32_t number;
    size_t before;

    if (parse(name, length, &number, &before) == CHILD_FOREIGN || before < PRIORITY_LENGTH)
        return 0;
    at = name + before - PRIORITY_LENGTH;
    if (memcmp(at, "-p", 2) != 0 || at[PRIORITY_LENGTH - 1] != '-')
        return 0;
    if (!is_digit(at[2]) || !read_number(at + 2, PRIORITY_LENGTH - 3, &number))
        return 0;
    return number;
}

bool name_has_id(const char *name, size_t length, const char *id, size_t id_length)
{
    return length > id_length + 3 && memcmp(name, "_c_", 3) == 0 &&
           memcmp(name + 3, id, id_length) == 0 && name[3 + id_length] == '-';
}
