/* The data of a contender's node, as all who read them must understand them: the user's payload, or
 * in its place the word that asks the holder to give way, as Curator's Revoker sets it; then, each
 * if it is there, the line with the numbers of a holder's permits, and the line that a fenced
 * transaction has left.
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

/* The numbers stand after this, each after a space. After them stands the ceiling: these numbers,
 * and those of all that stood before the node, are below that. */
#define NUMBERING_WORDS "\nzkl numbers"
#define NUMBERING_CEILING " of "

/* A transaction's number, in decimal, stands after this. */
#define TRANSACTION_WORDS "\nzkl tx "

struct payload {
    size_t length;        /* of the payload, or of the word */
    size_t with_numbers;  /* the same, and of the numbers' line */
    size_t numbers;       /* how many there are */
    int32_t ceiling;      /* 0: the data tell none */
    uint32_t transaction; /* 0: none has left its number */
};

/* data may be NULL if length is 0. */
struct payload payload_read(const char *data, size_t length);

/* Stores the numbers in ret, which has room for all, from the last to the first. */
void payload_numbers(const char *data, const struct payload *p, int32_t *ret);

/* Whether a contender's node with these data and that version has been asked to give way. A node
 * that was made with the word as its payload has not. */
bool payload_asks(const char *data, size_t length, int32_t version);

/* How long the payload is in the data of the child that has that name. A node of another library
 * has no lines, and neither has one of version 0. */
size_t payload_of_child(const char *name, const char *data, size_t length, int32_t version);

#endif
