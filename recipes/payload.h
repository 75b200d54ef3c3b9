/* The data of a contender's node. First comes the user's payload; or the word that asks the holder
 * to give way, as Curator's Revoker sets it. Two lines may follow: the numbers of a holder's
 * permits, and what a fenced transaction has left.
 *
 *   PAYLOAD or __REVOKE__
 *   zkl numbers 3 4 of 7
 *   zkl tx 12
 */
#ifndef RECIPES_PAYLOAD_H
#define RECIPES_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REVOKE_WORD "__REVOKE__"

/* Numbers follow these words, each after a space. Then the ceiling may follow: the numbers of the
 * node, and of all nodes before it, are below that. */
#define NUMBERING_WORDS "\nzkl numbers"
#define NUMBERING_CEILING " of "

/* The number of a transaction follows these words, in decimal. */
#define TRANSACTION_WORDS "\nzkl tx "

struct payload {
    size_t length;        /* bytes of the payload, or of the word */
    size_t numbers_end;   /* where the line of numbers ends; .length if there is none */
    size_t numbers;       /* how many numbers there are */
    int32_t ceiling;      /* 0: the data have none */
    uint32_t transaction; /* the number of the transaction; 0: the data have none */
};

/* Reads the data of a node. data may be NULL if length is 0. */
struct payload payload_read(const char *data, size_t length);

/* Stores the numbers in ret, which has room for all, from the last to the first. */
void payload_numbers(const char *data, const struct payload *p, int32_t *ret);

/* Whether these data ask the contender to give way. Data of version 0 do not, as the node was made
 * with them: the word is then the user's payload. */
bool payload_asks(const char *data, size_t length, int32_t version);

/* Returns how many bytes of the data of the child with that name are the payload. A node of another
 * library has no lines, and neither has one of version 0. */
size_t payload_of_child(const char *name, const char *data, size_t length, int32_t version);

#endif
