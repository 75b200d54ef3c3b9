/* Takes an input apart from its front; what is used up reads as zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct input {
    const uint8_t *data;
    size_t size;
};

/* n is not more than there is. */
static inline void input_skip(struct input *in, size_t n)
{
    if (n == 0)
        return; /* of an empty input there is no pointer to add to */
    in->data += n;
    in->size -= n;
}

static inline uint8_t input_byte(struct input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

/* Little-endian, of n bytes at most 8. */
static inline uint64_t input_number(struct input *in, unsigned n)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n; i++)
        value |= (uint64_t)input_byte(in) << (8 * i);
    return value;
}

/* What comes before the next end, or the rest; a copy of exactly that length and a NUL, so that a
 * sanitizer sees any reading beyond it. */
static inline char *input_until(struct input *in, char end, size_t *ret_length)
{
    const uint8_t *at = in->size ? memchr(in->data, end, in->size) : NULL;
    size_t length = at ? (size_t)(at - in->data) : in->size;
    char *text = g_malloc(length + 1);

    if (length)
        memcpy(text, in->data, length);
    text[length] = '\0';
    input_skip(in, length + (at != NULL));
    if (ret_length)
        *ret_length = length;
    return text;
}

#endif
