#include "local_callers.h"

void local_callers_add(struct all_local_callers *all, struct local_callers *callers,
                       void (*abort)(void *context, const zkl_error *why), void *context)
{
    *callers = (struct local_callers){
        .all = all, .abort = abort, .context = context, .link.data = callers};
    g_queue_push_tail_link(&all->list, &callers->link);
}

void local_callers_remove(struct local_callers *callers)
{
    struct all_local_callers *all = callers->all;

    if (all->next == &callers->link)
        all->next = callers->link.next;
    g_queue_unlink(&all->list, &callers->link);
}

void local_callers_abort(struct all_local_callers *all, const zkl_error *why)
{
    all->next = all->list.head;
    while (all->next) {
        struct local_callers *callers = all->next->data;
        all->next = all->next->next;
        callers->abort(callers->context, why);
    }
}
