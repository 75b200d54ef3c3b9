#include "transaction.h"

#include <string.h>

enum { DIGITS_MAX = 10 };

/* Reads a number of digits alone, as they are written and in no other way; 0: it is no number. */
static uint32_t transaction_read_number(const char *digits, size_t count)
{
    uint64_t number = 0;

    if (count == 0 || count > DIGITS_MAX || digits[0] == '0')
        return 0;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (uint64_t)(digits[i] - '0');
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

size_t transaction_payload(const char *data, size_t length, uint32_t *ret_number)
{
    const size_t words = sizeof TRANSACTION_WORDS - 1;
    size_t at = length;

    while (at > 0 && data[at - 1] >= '0' && data[at - 1] <= '9')
        at--;
    *ret_number = 0;
    if (at >= words && memcmp(data + at - words, TRANSACTION_WORDS, words) == 0)
        *ret_number = transaction_read_number(data + at, length - at);
    return *ret_number ? at - words : length;
}
