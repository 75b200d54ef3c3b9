/* Fenced transactions. Each creates a node of its own, so that it can be seen whether it was
 * applied. If the answer says that it was, it must be, once. After any other answer but "unknown"
 * it must never be. It must never be without the node of the grant. */
#ifndef SIM_WRITE_H
#define SIM_WRITE_H

#include "acquisition.h"
#include "world/world.h"

struct stage;

struct write {
    struct acquisition *acquisition;
    char *path; /* of the node that it creates */
    bool applied, answered;
    int code;
};

/* Where all of them go; and it is made. */
extern const char write_directory[];
void write_prepare(struct stage *stage);

/* With a's grant, and without waiting; release: and gives the grant back with it. */
void write_start(struct acquisition *a, bool release, int64_t timeout_ms);
void write_free(void *write);

/* What a transaction may come to. */
bool write_may_answer(const struct stage *stage, int code);

void write_note(struct stage *stage, const struct note *note);
bool write_all_answered(const struct stage *stage);
void write_at_rest(struct stage *stage);

#endif
