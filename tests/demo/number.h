/* The number in the shared file, and the token it was last written with. */
#ifndef DEMO_NUMBER_H
#define DEMO_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

bool number_read(const char *file, int64_t *number, uint64_t *token);
bool number_write(const char *file, int64_t number, uint64_t token);

#endif
