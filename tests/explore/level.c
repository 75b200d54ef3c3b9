#include "level.h"

#include <glib.h>
#include <string.h>

#include "scratch.h"

enum { WORD = sizeof(uint64_t), WORDS_MAX = sizeof(struct state) / WORD };

G_STATIC_ASSERT(offsetof(struct state, clients) % WORD == 0);
G_STATIC_ASSERT(sizeof(struct client) % WORD == 0);

/* The file has, for each word, a byte with a bit for each byte that is not 0, and those bytes. For
 * words of 0 in a row it has a byte without a bit, and their number. */
struct level {
    FILE *file;
    uint32_t count; /* of states that can be got */
    bool is_read;
};

struct level *level_new(void)
{
    struct level *l = g_new0(struct level, 1);

    l->file = scratch_open();
    return l;
}

void level_free(struct level *l)
{
    fclose(l->file);
    g_free(l);
}

static uint8_t *pack_word(uint8_t *to, uint64_t word)
{
    uint8_t *bits = to++;

    *bits = 0;
    for (int k = 0; k < WORD; k++, word >>= 8)
        if (word & 0xff) {
            *bits |= (uint8_t)(1U << k);
            *to++ = (uint8_t)word;
        }
    return to;
}

static size_t pack(const struct state *st, uint8_t *packed)
{
    const size_t count = model_size() / WORD;
    uint64_t words[WORDS_MAX];
    uint8_t *to = packed;

    memcpy(words, st, model_size());
    for (size_t k = 0; k < count;) {
        size_t zeros = 0;
        while (k < count && !words[k] && zeros < UINT8_MAX)
            k++, zeros++;
        if (zeros) {
            *to++ = 0;
            *to++ = (uint8_t)zeros;
        } else {
            to = pack_word(to, words[k++]);
        }
    }
    return (size_t)(to - packed);
}

static void unpack(const uint8_t *from, struct state *st)
{
    const size_t count = model_size() / WORD;
    uint64_t words[WORDS_MAX] = {0};

    for (size_t k = 0; k < count;) {
        uint8_t bits = *from++;
        if (!bits) {
            k += *from++;
            continue;
        }
        for (int shift = 0; bits; bits >>= 1, shift += 8)
            if (bits & 1)
                words[k] |= (uint64_t)*from++ << shift;
        k++;
    }
    memcpy(st, words, model_size());
}

void level_put(struct level *l, const struct state *st)
{
    uint8_t packed[WORDS_MAX * (WORD + 1)];
    uint16_t size = (uint16_t)pack(st, packed);

    scratch_write(l->file, &size, sizeof size);
    scratch_write(l->file, packed, size);
    l->count++;
}

bool level_get(struct level *l, struct state *st)
{
    uint8_t packed[WORDS_MAX * (WORD + 1)];
    uint16_t size;

    if (!l->is_read)
        scratch_seek(l->file, 0);
    l->is_read = true;
    if (l->count == 0)
        return false;
    l->count--;
    scratch_read(l->file, &size, sizeof size);
    scratch_read(l->file, packed, size);
    unpack(packed, st);
    return true;
}

uint32_t level_count(const struct level *l)
{
    return l->count;
}

void level_clear(struct level *l)
{
    scratch_empty(l->file);
    l->count = 0;
    l->is_read = false;
}
