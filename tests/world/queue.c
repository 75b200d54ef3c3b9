/* Virtual time and chance. */
#include "inside.h"

void queue_init(struct queue *q, uint64_t seed)
{
    *q = (struct queue){.heap = g_ptr_array_new(), .chance = seed};
}

void queue_clear(struct queue *q)
{
    g_ptr_array_unref(q->heap);
}

/* ---- a binary heap whose members know where they are ---- */

static struct alarm *at_slot(const struct queue *q, guint slot)
{
    return q->heap->pdata[slot - 1];
}

static void put(struct queue *q, guint slot, struct alarm *a)
{
    q->heap->pdata[slot - 1] = a;
    a->slot = slot;
}

static bool is_before(const struct alarm *a, const struct alarm *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void sift_up(struct queue *q, struct alarm *a, guint slot)
{
    for (; slot > 1 && is_before(a, at_slot(q, slot / 2)); slot /= 2)
        put(q, slot, at_slot(q, slot / 2));
    put(q, slot, a);
}

static void sift_down(struct queue *q, struct alarm *a, guint slot)
{
    guint length = q->heap->len, child;

    for (; (child = 2 * slot) <= length; slot = child) {
        if (child < length && is_before(at_slot(q, child + 1), at_slot(q, child)))
            child++;
        if (!is_before(at_slot(q, child), a))
            break;
        put(q, slot, at_slot(q, child));
    }
    put(q, slot, a);
}

void queue_cancel(struct queue *q, struct alarm *a)
{
    guint slot = a->slot;

    if (slot == 0)
        return;
    struct alarm *last = at_slot(q, q->heap->len);
    g_ptr_array_set_size(q->heap, (gint)q->heap->len - 1);
    a->slot = 0;
    if (last == a)
        return;
    if (slot > 1 && is_before(last, at_slot(q, slot / 2)))
        sift_up(q, last, slot);
    else
        sift_down(q, last, slot);
}

void queue_arm(struct queue *q, struct alarm *a, int64_t at, void (*fn)(void *context),
               void *context)
{
    queue_cancel(q, a);
    *a = (struct alarm){MAX(at, q->now), q->order++, 0, fn, context};
    g_ptr_array_add(q->heap, a);
    sift_up(q, a, q->heap->len);
}

int64_t queue_next(const struct queue *q)
{
    return q->heap->len > 0 ? at_slot(q, 1)->at : INT64_MAX;
}

bool queue_run_next(struct queue *q, int64_t until)
{
    if (queue_next(q) > until) {
        q->now = MAX(q->now, until);
        return false;
    }
    struct alarm *a = at_slot(q, 1);
    queue_cancel(q, a);
    q->now = a->at;
    a->fn(a->context);
    return true;
}

/* ---- chance: splitmix64 ---- */

static uint64_t next_random(struct queue *q)
{
    uint64_t z = q->chance += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t chance_below(struct queue *q, uint64_t n)
{
    return next_random(q) % n;
}

bool chance_is(struct queue *q, unsigned percent)
{
    return chance_below(q, 100) < percent;
}

void chance_shuffle(struct queue *q, void **items, guint n)
{
    for (guint i = n; i > 1; i--) {
        guint j = (guint)chance_below(q, i);
        void *item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}
