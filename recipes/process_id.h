/* Which process, of all on all hosts: what a mark says of the one that made a node, and what proves
 * that this one is dead. */
#ifndef RECIPES_PROCESS_ID_H
#define RECIPES_PROCESS_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_ID_BOOT = 36, PROCESS_ID_HOST = 64, PROCESS_ID_TEXT = 256 };

struct process_id {
    char boot[PROCESS_ID_BOOT + 1]; /* the kernel's boot id; "": unknown, which is nobody's */
    char host[PROCESS_ID_HOST + 1]; /* for people */
    uint64_t space;                 /* of process ids: the inode of the pid namespace */
    uint64_t pid;
    uint64_t start; /* when it began, which tells processes of one id apart */
};

/* Writes it into buf, of PROCESS_ID_TEXT bytes, as one line without newline. Returns its length. */
size_t process_id_write(const struct process_id *p, char *buf);

/* False: it is something else. */
bool process_id_read(const char *text, size_t length, struct process_id *ret);

/* Whether other, as self sees it, is known to have ended: self has its process id, or nobody has
 * any more (exists is false), among the processes that self sees. On another kernel, or in another
 * namespace, nothing is known. */
bool process_id_is_dead(const struct process_id *other, const struct process_id *self, bool exists);

#endif
