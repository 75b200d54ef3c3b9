#include "late_create.h"

#include <string.h>

#include "participant.h"
#include "recipes/name.h"
#include "request.h"

/* A directory is listed after pauses of 1, 3, 9, 27 and 81 s: a follower keeps what it could not
 * send for syncLimit ticks at most, mostly 10 s. If a directory has more than IDS, the oldest are
 * forgotten: each name of a list is compared with all. */
enum { FIRST_S = 1, TIMES = 3, LOOKS = 5, IDS = 64 };

/* What a session looks for: directory -> struct late_create. */
struct late_creates {
    struct participant participant;
    GHashTable *table;
};

struct sought {
    char *id, *keep;
};

/* What is looked for in one directory. */
struct late_create {
    struct timer timer;
    zkl_session *session;
    struct late_creates *all;
    char *directory;
    GPtrArray *ids; /* of struct sought */
    bool over;      /* its incarnation; the answer to a list is still to come */
    int pause_s;
    int looks;
};

static void late_create_end(struct late_create *l)
{
    g_free(l->directory);
    g_ptr_array_unref(l->ids);
    g_free(l);
}

static void late_create_look_now(void *data);

static void late_create_arm(struct late_create *l, int pause_s)
{
    l->pause_s = pause_s;
    timers_arm(l->session->timers, &l->timer, clock_boot() + pause_s * 1000 * CLOCK_MS,
               late_create_look_now, l);
}

static bool is_found(const struct late_create *l, const char *name)
{
    const size_t length = strlen(name);

    for (guint i = 0; i < l->ids->len; i++) {
        const struct sought *sought = l->ids->pdata[i];
        const char *id = sought->id;
        if ((strcmp(name, id) == 0 || name_has_id(name, length, id, strlen(id))) &&
            g_strcmp0(name, sought->keep) != 0)
            return true;
    }
    return false;
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct late_create *l = r->context;

    if (l->over) {
        late_create_end(l);
        return;
    }
    for (int i = 0; reply->rc == STORE_OK && i < reply->count; i++)
        if (is_found(l, reply->names[i]))
            request_delete(l->session, g_strconcat(l->directory, "/", reply->names[i], NULL));
    if (++l->looks < LOOKS) {
        late_create_arm(l, TIMES * l->pause_s);
        return;
    }
    g_hash_table_remove(l->all->table, l->directory);
    late_create_end(l);
}

static void late_create_look_now(void *data)
{
    struct late_create *l = data;

    request_send(l->session, request_new(STORE_LIST, g_strdup(l->directory), on_listed, l));
}

/* ---- all of a session ---- */

/* One whose timer is not armed has asked, and ends with the answer. */
static gboolean forget(gpointer directory, gpointer late_create, gpointer unused)
{
    struct late_create *l = late_create;
    const bool asks = !l->timer.at;

    (void)directory, (void)unused;
    timers_cancel(&l->timer);
    l->over = true;
    if (!asks)
        late_create_end(l);
    return TRUE;
}

/* The incarnation has ended, and with it the nodes. */
static void forget_all(struct participant *p)
{
    g_hash_table_foreach_remove(((struct late_creates *)p)->table, forget, NULL);
}

static void free_all(struct participant *p)
{
    g_hash_table_unref(((struct late_creates *)p)->table);
    g_free(p);
}

static const struct participant_ops participant = {
    .on = {[NEWS_REPLACED] = forget_all, [NEWS_REFUSED] = forget_all, [NEWS_CLOSED] = forget_all},
    .free = free_all};

static struct late_creates *late_creates_of(zkl_session *s)
{
    struct late_creates *all =
        (struct late_creates *)participant_of(s, &participant, sizeof(struct late_creates));

    if (!all->table)
        all->table = g_hash_table_new(g_str_hash, g_str_equal);
    return all;
}

static void free_sought(void *data)
{
    struct sought *sought = data;

    g_free(sought->id);
    g_free(sought->keep);
    g_free(sought);
}

static struct late_create *look_in(zkl_session *s, const char *directory)
{
    struct late_creates *all = late_creates_of(s);
    struct late_create *l = g_hash_table_lookup(all->table, directory);

    if (l)
        return l;
    l = g_new0(struct late_create, 1);
    l->session = s;
    l->all = all;
    l->directory = g_strdup(directory);
    l->ids = g_ptr_array_new_with_free_func(free_sought);
    g_hash_table_insert(all->table, l->directory, l);
    late_create_arm(l, FIRST_S);
    return l;
}

/* The intervals begin anew, but for a list that is under way. */
void late_create_look(zkl_session *s, const char *directory, const char *id, const char *keep)
{
    struct late_create *l;
    struct sought *sought;

    if (s->closing || s->refused)
        return;
    l = look_in(s, directory);
    if (l->ids->len == IDS)
        g_ptr_array_remove_index(l->ids, 0);
    sought = g_new(struct sought, 1);
    *sought = (struct sought){g_strdup(id), g_strdup(keep)};
    g_ptr_array_add(l->ids, sought);
    l->looks = 0;
    if (l->timer.at && l->pause_s > FIRST_S)
        late_create_arm(l, FIRST_S);
    else
        l->pause_s = FIRST_S;
}
