#include "payload.h"

#include <string.h>

#include "name.h"

enum { DIGITS_MAX = 10 };

/* Whether words are the last bytes of data before end. */
static bool payload_says(const char *data, size_t end, const char *words)
{
    const size_t length = strlen(words);

    return end >= length && memcmp(data + end - length, words, length) == 0;
}

/* Returns where the digits before end begin. Stores their number in *ret_number, or -1 if there are
 * no digits, or more than DIGITS_MAX. */
static size_t payload_read_digits(const char *data, size_t end, int64_t *ret_number)
{
    size_t at = end;

    while (at > 0 && data[at - 1] >= '0' && data[at - 1] <= '9')
        at--;
    *ret_number = at < end && end - at <= DIGITS_MAX ? 0 : -1;
    for (size_t i = at; i < end && *ret_number >= 0; i++)
        *ret_number = *ret_number * 10 + (data[i] - '0');
    return at;
}

/* Returns where the space before a number begins that ends at end. *ret_number: as in
 * payload_read_digits(). */
static size_t payload_read_after_space(const char *data, size_t end, int64_t *ret_number)
{
    const size_t at = payload_read_digits(data, end, ret_number);

    if (*ret_number > INT32_MAX || at == 0 || data[at - 1] != ' ')
        *ret_number = -1;
    return *ret_number < 0 ? end : at - 1;
}

/* Reads the line of a transaction, if the data end with one. A number has no leading 0. */
static void payload_read_transaction(struct payload *p, const char *data, size_t length)
{
    int64_t number;
    const size_t at = payload_read_digits(data, length, &number);

    p->numbers_end = length;
    if (number < 0 || number > UINT32_MAX || data[at] == '0' ||
        !payload_says(data, at, TRANSACTION_WORDS))
        return;
    p->transaction = (uint32_t)number;
    p->numbers_end = at - strlen(TRANSACTION_WORDS);
}

/* Returns where the numbers end: before the ceiling, if there is one. */
static size_t payload_read_ceiling(const char *data, size_t length, int32_t *ret_ceiling)
{
    int64_t number;
    const size_t at =
        payload_read_after_space(data, length, &number) + 1; /* the words have the space */

    *ret_ceiling = 0;
    if (number <= 0 || !payload_says(data, at, NUMBERING_CEILING))
        return length;
    *ret_ceiling = (int32_t)number;
    return at - strlen(NUMBERING_CEILING);
}

struct payload payload_read(const char *data, size_t length)
{
    struct payload p = {.length = 0};
    size_t count = 0;
    int32_t ceiling;
    int64_t number;

    payload_read_transaction(&p, data, length);
    size_t at = payload_read_ceiling(data, p.numbers_end, &ceiling);
    for (;; count++) {
        at = payload_read_after_space(data, at, &number);
        if (number < 0)
            break;
    }
    p.length = p.numbers_end;
    if (count == 0 || !payload_says(data, at, NUMBERING_WORDS))
        return p;
    p.length = at - strlen(NUMBERING_WORDS);
    p.numbers = count;
    p.ceiling = ceiling;
    return p;
}

void payload_numbers(const char *data, const struct payload *p, int32_t *ret)
{
    int32_t ceiling;
    int64_t number;
    size_t at = payload_read_ceiling(data, p->numbers_end, &ceiling);

    for (size_t i = 0; i < p->numbers; i++) {
        at = payload_read_after_space(data, at, &number);
        ret[i] = (int32_t)number;
    }
}

bool payload_asks(const char *data, size_t length, int32_t version)
{
    const size_t word = strlen(REVOKE_WORD);

    return version != 0 && length >= word && payload_read(data, length).length == word &&
           memcmp(data, REVOKE_WORD, word) == 0;
}

size_t payload_of_child(const char *name, const char *data, size_t length, int32_t version)
{
    const bool lines = version != 0 && name_maker(name, strlen(name)) == MAKER_ZKL;

    return lines ? payload_read(data, length).length : length;
}
