/* Structs of options, which begin with their size: that of the version they were compiled with. */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "zkl/mutex.h"

/* Copies what was given over the defaults in ret, of size bytes; given NULL: the defaults stay.
 * Returns NULL, or what is wrong. A wrong size is an error, since to ignore it would ignore
 * credentials and access rights. size ends with the last member that has a meaning: a struct whose
 * padding would follow it has a member reserved there. */
const char *options_take(void *ret, size_t size, const void *given);

/* What is wrong with what many of them have; NULL: nothing. name may be NULL. */
const char *options_check(const char *name, zkl_parents parents);

/* Returns the name if none was given: this process, and its thread of that number, 0: none. The
 * caller frees it. */
char *options_default_name(uint64_t thread);

#endif
