/* The shared resource: a file that holds the highest token of a write, the latest turn of it and
 * the number of writes, and refuses whoever has a lower token, or an earlier turn of the same.
 * Readers leave no trace. Check and write are one step; its order is recorded. */
#ifndef HISTORY_REGISTER_H
#define HISTORY_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

enum register_answer { REGISTER_ACCEPTED, REGISTER_REFUSED, REGISTER_FAILED };

struct register_use {
    uint64_t token, turn;
    bool reads;
};

/* Called while nobody else can write: value is the number of writes, this one included, or 0 when
 * refused. */
typedef void (*register_fn)(enum register_answer answer, int64_t value, void *data);

/* The file is made when it is not there. fn is not called for REGISTER_FAILED. */
enum register_answer register_use(const char *file, const struct register_use *u, register_fn fn,
                                  void *data);

/* ---- a number, beside which is the token that it was last written with ----
 *
 * It is read, and later written back. Two who do that at once lose an increment. */

bool number_read(const char *file, int64_t *number, uint64_t *token);
bool number_write(const char *file, int64_t number, uint64_t token);

#endif
