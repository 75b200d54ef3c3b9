/* Structs of options, which begin with their size: that of the version they were compiled with. */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "zkl/mutex.h"

/* Copies the struct given over the defaults in ret, which has size bytes; given NULL: the defaults
 * stay. Returns NULL, or what is wrong. A wrong size is an error: if it were ignored, so would be
 * credentials and access rights. size ends with the last member that has a meaning. A struct whose
 * padding would follow that has a reserved member there. */
const char *options_take(void *ret, size_t size, const void *given);

/* Fills a struct of a caller, which has told its size in it, from one of size bytes: as much as
 * both have. Sets the caller's size to how many bytes were filled. least: the size of the first
 * version. Returns NULL, or what is wrong: one of them is smaller than that, or ret is NULL. */
const char *options_give(void *ret, const void *from, size_t size, size_t least);

/* Returns what is wrong with two options that many structs have; NULL: nothing. name may be
 * NULL. */
const char *options_check(const char *name, zkl_parents parents);

/* Makes the name for an option that was not given, from this process and the number of its thread
 * (0: left out). The caller frees it. */
char *options_default_name(uint64_t thread);

#endif
