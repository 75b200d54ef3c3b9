/* Structs of options, which begin with their size: that of the version they were compiled with. */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stddef.h>

/* Copies what was given over the defaults in ret, of size bytes; NULL: they stay. NULL, or what is
 * wrong with it: no size is ignored, since that would ignore credentials and access rights. */
const char *options_take(void *ret, size_t size, const void *given);

#endif
