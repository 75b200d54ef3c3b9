/* Virtual time: what is due when, in an order that depends on nothing but who asked first; and the
 * world's only source of chance. */
#ifndef WORLD_QUEUE_H
#define WORLD_QUEUE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Lives in what it belongs to; all zero is unarmed. */
struct alarm {
    int64_t at;
    uint64_t order; /* among those of one instant */
    guint slot;     /* in the heap, from 1; 0: unarmed */
    void (*fn)(void *context);
    void *context;
};

struct queue {
    int64_t now; /* ns */
    GPtrArray *heap;
    uint64_t order;
    uint64_t chance;
};

void queue_init(struct queue *q, uint64_t seed);
void queue_clear(struct queue *q);

/* Arming an armed one moves it. What is armed for the past happens now. */
void queue_arm(struct queue *q, struct alarm *a, int64_t at, void (*fn)(void *context),
               void *context);
void queue_cancel(struct queue *q, struct alarm *a);

int64_t queue_next(const struct queue *q); /* INT64_MAX: nothing */
bool queue_run_next(struct queue *q, int64_t until);

uint64_t chance_below(struct queue *q, uint64_t n); /* 0 .. n - 1 */
bool chance_is(struct queue *q, unsigned percent);
void chance_shuffle(struct queue *q, void **items, guint n);

#endif
