/* The request that a holder give way, as Curator's Revoker makes it: its word replaces the payload
 * in the holder's node. The numbers of permits, which others read there, stay below it. */
#ifndef RECIPES_REVOKE_H
#define RECIPES_REVOKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REVOKE_WORD "__REVOKE__"

/* Whether a contender's node with these data and that version has been asked to give way. Its data
 * are then the word, alone or above the line of numbers (numbering.h) and the line that a fenced
 * transaction has left since (transaction.h). A node that was made with the word as its payload has
 * not been asked. data may be NULL if length is not above 0. */
bool revoke_asks(const char *data, int length, int32_t version);

#endif
