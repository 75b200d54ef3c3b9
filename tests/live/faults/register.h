/* The shared resource: a file that holds the highest token accepted, the latest turn of it and the
 * number of writes, and refuses a writer with a lower token, or with an earlier turn of the same.
 * Check and write are one step; its order is recorded. */
#ifndef FAULTS_REGISTER_H
#define FAULTS_REGISTER_H

#include <stdint.h>

enum register_answer { REGISTER_ACCEPTED, REGISTER_REFUSED, REGISTER_FAILED };

/* Called while nobody else can write: value is the number of the write, 0 when refused. */
typedef void (*register_fn)(enum register_answer answer, int64_t value, void *data);

/* The file is made when it is not there. fn is not called for REGISTER_FAILED. */
enum register_answer register_write(const char *file, uint64_t token, uint64_t turn, register_fn fn,
                                    void *data);

#endif
