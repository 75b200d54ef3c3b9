/* Names of contenders: "<id>-lock-<10 digits>" and what the other libraries make of it. */
#ifndef RECIPES_NAME_H
#define RECIPES_NAME_H

#include "child.h"

/* Reads kind and number of a child's name of length bytes into out; id, own and old are left
 * alone. Anything that is no contender becomes CHILD_FOREIGN with number 0. */
void name_parse(const char *name, size_t length, struct child *out);

/* Whether name carries the id: "_c_<id>-…". */
bool name_has_id(const char *name, size_t length, const char *id, size_t id_length);

#endif
