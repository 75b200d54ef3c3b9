/* What the own node is called. Of thousands that wait none keeps a path: its id and the number that
 * the server gave say it all. */
#include <string.h>

#include "contender_state.h"
#include "recipes/rule.h"

void contender_new_id(struct contender *c)
{
    char *id = layout_new_id(rule_kind(c->machine.rule), c->retains);

    g_free(c->old_id);
    c->old_id = c->id[0] ? g_strdup(c->id) : NULL;
    g_strlcpy(c->id, id, sizeof c->id);
    g_free(id);
}

char *contender_child_path(const struct contender *c, const char *name)
{
    return g_strconcat(admission_path(c->admission), "/", name, NULL);
}

/* Without the number. */
static char *new_name(const struct contender *c)
{
    return layout_name(rule_kind(c->machine.rule), c->id, c->rank);
}

char *contender_new_node(const struct contender *c)
{
    char *name = new_name(c), *path = contender_child_path(c, name);

    g_free(name);
    return path;
}

char *contender_name(const struct contender *c)
{
    char *prefix, *name;

    if (c->odd_name)
        return g_strdup(c->odd_name);
    prefix = new_name(c);
    name = g_strdup_printf("%s%010d", prefix, c->number);
    g_free(prefix);
    return name;
}

char *contender_node(const struct contender *c)
{
    char *name = contender_name(c), *path = contender_child_path(c, name);

    g_free(name);
    return path;
}

void contender_set_node(struct contender *c, const char *name, int32_t number)
{
    char *expected;

    g_clear_pointer(&c->odd_name, g_free);
    c->number = number;
    expected = contender_name(c);
    if (strcmp(name, expected) != 0)
        c->odd_name = g_strdup(name);
    g_free(expected);
}
