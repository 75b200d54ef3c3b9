#include "late_create.h"

#include <string.h>

#include "lib/session/request.h"
#include "locks.h"
#include "recipes/name.h"

/* After 1, 3, 9, 27 and 81 s: a follower keeps what it could not send for syncLimit ticks at most,
 * mostly 10 s. Of more ids in one directory the oldest are forgotten: each name of a list is
 * compared with all. */
enum { FIRST_S = 1, TIMES = 3, LOOKS = 5, IDS = 64 };

/* What is looked for in one directory. */
struct late_create {
    struct timer timer;
    struct locks *all;
    char *directory; /* GRefString */
    GPtrArray *ids;
    bool over; /* its incarnation; the answer to a list is still to come */
    int pause_s;
    int looks;
};

static void end(struct late_create *l)
{
    g_ref_string_release(l->directory);
    g_ptr_array_unref(l->ids);
    g_free(l);
}

static void look(void *data);

static void arm(struct late_create *l, int pause_s)
{
    l->pause_s = pause_s;
    timers_arm(l->all->participant.session->timers, &l->timer,
               clock_boot() + pause_s * 1000 * CLOCK_MS, look, l);
}

static bool is_found(const struct late_create *l, const char *name)
{
    const size_t length = strlen(name);

    for (guint i = 0; i < l->ids->len; i++) {
        const char *id = l->ids->pdata[i];
        if (name_has_id(name, length, id, strlen(id)))
            return true;
    }
    return false;
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct late_create *l = r->context;

    if (l->over) {
        end(l);
        return;
    }
    for (int i = 0; reply->rc == STORE_OK && i < reply->count; i++)
        if (is_found(l, reply->names[i]))
            request_delete(l->all->participant.session,
                           g_strconcat(l->directory, "/", reply->names[i], NULL));
    if (++l->looks < LOOKS) {
        arm(l, TIMES * l->pause_s);
        return;
    }
    g_hash_table_remove(l->all->late_creates, l->directory);
    end(l);
}

static void look(void *data)
{
    struct late_create *l = data;

    request_send(l->all->participant.session,
                 request_new(STORE_LIST, g_strdup(l->directory), on_listed, l));
}

static struct late_create *look_in(struct locks *all, char *directory)
{
    struct late_create *l = g_hash_table_lookup(all->late_creates, directory);

    if (l)
        return l;
    l = g_new0(struct late_create, 1);
    l->all = all;
    l->directory = g_ref_string_acquire(directory);
    l->ids = g_ptr_array_new_with_free_func(g_free);
    g_hash_table_insert(all->late_creates, l->directory, l);
    arm(l, FIRST_S);
    return l;
}

/* The intervals begin anew, but for a list that is under way. */
void late_create_look(struct locks *all, char *directory, const char *id)
{
    struct late_create *l = look_in(all, directory);

    if (l->ids->len == IDS)
        g_ptr_array_remove_index(l->ids, 0);
    g_ptr_array_add(l->ids, g_strdup(id));
    l->looks = 0;
    if (l->timer.at && l->pause_s > FIRST_S)
        arm(l, FIRST_S);
    else
        l->pause_s = FIRST_S;
}

/* One whose timer is not armed has asked, and ends with the answer. */
static gboolean forget(gpointer directory, gpointer late_create, gpointer unused)
{
    struct late_create *l = late_create;
    const bool asks = !l->timer.at;

    (void)directory, (void)unused;
    timers_cancel(&l->timer);
    l->over = true;
    if (!asks)
        end(l);
    return TRUE;
}

void late_create_forget_all(struct locks *all)
{
    g_hash_table_foreach_remove(all->late_creates, forget, NULL);
}
