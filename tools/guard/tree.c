/* A table does not show one instant: processes come and go while it is read, and pids are used
 * again. So the table says whom to look at, and tree_still() says who may be signalled. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

static int by_pid(const void *a, const void *b)
{
    const struct process *left = a;
    const struct process *right = b;

    return (left->pid > right->pid) - (left->pid < right->pid);
}

void tree_sort(struct process *list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, by_pid);
}

static const struct process *tree_find(struct process_table table, pid_t pid)
{
    const struct process key = {.pid = pid};

    return table.count == 0 ? NULL : bsearch(&key, table.list, table.count, sizeof key, by_pid);
}

bool tree_is_prior(const struct tree *t, const struct process *p)
{
    const struct process *found = tree_find(t->prior, p->pid);

    return found && found->start == p->start;
}

/* Whether pid is root or helper: their children are members. */
static bool is_anchor(const struct tree *t, pid_t pid)
{
    return pid == t->root || (t->helper != 0 && pid == t->helper);
}

struct search {
    const struct tree *tree;
    struct process_table table;
    struct member *marks; /* one for each process of the table */
};

static struct member *mark_of(const struct search *s, const struct process *p)
{
    return &s->marks[p - s->table.list];
}

/* Returns the place of a process as far as it is known without its ancestors; TREE_ON_THE_WAY: they
 * decide. */
static enum tree_place place_alone(const struct search *s, const struct process *p)
{
    if (p->dead || is_anchor(s->tree, p->pid) || tree_is_prior(s->tree, p))
        return TREE_OUTSIDE;
    if (is_anchor(s->tree, p->parent) || (s->tree->group != 0 && p->group == s->tree->group))
        return TREE_INSIDE;
    return TREE_ON_THE_WAY;
}

/* Finds the places of start and its ancestors. Goes up to the first process whose place is known,
 * then down again. Chains may be long, so each process is walked once. */
static void place_process(const struct search *s, const struct process *start)
{
    const struct process *p = start;
    int guards = 0;
    int nesting = 0;
    enum tree_place found = TREE_OUTSIDE;

    for (; p; p = tree_find(s->table, p->parent)) {
        struct member *m = mark_of(s, p);

        if (m->place == TREE_ON_THE_WAY) /* a circle: pids used again */
            break;
        if (m->place == TREE_UNKNOWN)
            m->place = place_alone(s, p);
        if (m->place == TREE_INSIDE || m->place == TREE_OUTSIDE) {
            found = m->place;
            nesting = m->nesting + (p->guard ? 1 : 0);
            break;
        }
        guards += p->guard ? 1 : 0;
    }
    nesting += guards;
    for (p = start; p && mark_of(s, p)->place == TREE_ON_THE_WAY;
         p = tree_find(s->table, p->parent)) {
        struct member *m = mark_of(s, p);

        nesting -= p->guard ? 1 : 0;
        m->place = found;
        m->nesting = nesting;
    }
}

/* Marks the parent of each guard as a tool; and the parent of that, if both have one name: zkl
 * elect. */
static void mark_tools(const struct search *s)
{
    for (size_t i = 0; i < s->table.count; i++) {
        const struct process *guard = &s->table.list[i];
        const struct process *tool = guard->guard ? tree_find(s->table, guard->parent) : NULL;
        const struct process *above = tool ? tree_find(s->table, tool->parent) : NULL;

        if (tool)
            mark_of(s, tool)->tool = true;
        if (above && strcmp(above->name, tool->name) == 0)
            mark_of(s, above)->tool = true;
    }
}

bool tree_exempts(const struct tree *t, const struct process *p)
{
    return p->closing || (t->leave_sessions && p->session != t->session);
}

size_t tree_members(const struct tree *tree, struct process_table table, struct member *ret)
{
    const struct search s = {tree, table, ret};
    size_t count = 0;

    for (size_t i = 0; i < table.count; i++)
        ret[i] = (struct member){.process = &table.list[i], .place = TREE_UNKNOWN};
    mark_tools(&s);
    for (size_t i = 0; i < table.count; i++)
        place_process(&s, &table.list[i]);
    for (size_t i = 0; i < table.count; i++)
        if (ret[i].place == TREE_INSIDE && !tree_exempts(tree, ret[i].process))
            ret[count++] = ret[i];
    return count;
}

bool tree_still(const struct tree *tree, struct process_table table, const struct process *member,
                tree_read_fn *read, void *data)
{
    const struct process *p = member;

    for (size_t steps = 0; p && steps <= table.count; steps++) {
        struct process now;

        if (!read(p->pid, &now, data) || now.start != p->start || tree_is_prior(tree, p))
            return false;
        if (is_anchor(tree, now.parent) || (tree->group != 0 && now.group == tree->group))
            return true;
        p = tree_find(table, now.parent);
    }
    return false;
}
