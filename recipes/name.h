/* Names of contenders: "<id>-lock-<10 digits>", and those of other libraries. The name of a
 * candidate may have a priority: "<id>-p007-latch-<10 digits>". The name of a semaphore's contender
 * may say how many permits it asks for: "<id>-n3-lease-<10 digits>", or "<id>-s3-lease-…" if each
 * permit is to have a number. */
#ifndef RECIPES_NAME_H
#define RECIPES_NAME_H

#include "rule.h"

/* Names that a later version of this library wrote: they look like ours, and have a word, or a mark
 * before the word, that this version does not know. Such a name becomes CHILD_LATER, with its
 * number, or 0 without one: nobody may hold beside what it does not understand. */

/* Reads kind, rule, number, permits and retains of a child's name of length bytes into out; id, own
 * and old are left alone. Anything that is no contender becomes CHILD_FOREIGN with number 0. */
void name_parse(const char *name, size_t length, struct child *out);

/* Returns what our own names of that kind end in, before the number; "" of a kind that is never
 * ours. */
const char *name_word(enum child_kind kind);

enum { NAME_NUMBER_SIZE = 12 };

/* Writes number as the server does at the end of a name. */
void name_write_number(char to[NAME_NUMBER_SIZE], int32_t number);

/* The names of a party's members end so. They are no contenders. */
#define NAME_PARTY "__party__"

/* The highest priority: it has three digits at most. */
enum { NAME_PRIORITY_MAX = 999 };

/* Returns the priority in a contender's name; 0: it has none. */
int name_priority(const char *name, size_t length);

/* Whether name has the id: "_c_<id>-…", or "<id>__…" as kazoo writes. */
bool name_has_id(const char *name, size_t length, const char *id, size_t id_length);

/* The version digit of our ids: a UUID "of own making", where all other libraries write random
 * ones of version 4. Tells people who made a node; nothing is decided by it. */
#define NAME_UUID_VERSION '8'

/* Ids in which these two digits follow the version digit are marked; a third one is the mark. All
 * other ids are drawn without them. */
#define NAME_UUID_MARKED "e7"

/* The mark of a handle that retains. Another maker of UUIDs of version 8 may hit it by accident;
 * then a try waits in vain, see ATTEMPT_YIELD_MS. */
#define NAME_UUID_RETAINS NAME_UUID_MARKED "a"

/* Tells the maker whose names look like that. */
enum name_maker name_maker(const char *name, size_t length);

#endif
