#include "members.h"

#include <string.h>

#include "lib/base/clean.h"

struct zkl_members {
    GPtrArray *boxes; /* of struct member_box */
};

static void clear_box(void *data)
{
    struct member_box *box = data;

    g_free((char *)(uintptr_t)box->info.id);
    g_free((char *)(uintptr_t)box->info.node);
    g_free((void *)(uintptr_t)box->info.data);
}

struct member_box *member_box_ref(struct member_box *box)
{
    return g_atomic_rc_box_acquire(box);
}

void member_box_unref(struct member_box *box)
{
    if (box)
        g_atomic_rc_box_release_full(box, clear_box);
}

struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply)
{
    const gsize length = (gsize)MAX(reply->length, 0);
    const bool party = layout == ZKL_MEMBER_PARTY;
    struct member_box *box = g_atomic_rc_box_new0(struct member_box);
    char *data = g_malloc(length + 1); /* never NULL */

    if (length > 0)
        memcpy(data, reply->data, length);
    data[length] = '\0';
    box->info =
        (zkl_member_info){.token = reply->czxid,
                          .id = party ? clean_text(data, (gssize)length) : clean_text(name, -1),
                          .node = g_strdup(name),
                          .data = data,
                          .size = party ? 0 : length,
                          .session_id = reply->ephemeral_owner,
                          .ctime_ms = reply->ctime_ms};
    return box;
}

bool member_boxes_differ(const struct member_box *a, const struct member_box *b)
{
    return a && b && a != b &&
           (a->info.session_id != b->info.session_id || a->info.size != b->info.size ||
            memcmp(a->info.data, b->info.data, a->info.size) != 0 ||
            strcmp(a->info.id, b->info.id) != 0);
}

bool members_counts(const char *name, zkl_member_layout layout)
{
    return layout == ZKL_MEMBER_GROUP || strstr(name, "__party__") != NULL;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct member_box *x = *(struct member_box *const *)a;
    const struct member_box *y = *(struct member_box *const *)b;
    const int by_id = strcmp(x->info.id, y->info.id);

    return by_id ? by_id : strcmp(x->info.node, y->info.node);
}

zkl_members *members_new(GPtrArray *boxes)
{
    zkl_members *ms = g_new(zkl_members, 1);

    g_ptr_array_sort(boxes, compare);
    ms->boxes = boxes;
    return ms;
}

size_t zkl_members_count(const zkl_members *ms)
{
    return ms ? ms->boxes->len : 0;
}

const zkl_member_info *zkl_members_get(const zkl_members *ms, size_t i)
{
    if (!ms || i >= ms->boxes->len)
        return NULL;
    return &((struct member_box *)ms->boxes->pdata[i])->info;
}

void zkl_members_free(zkl_members *ms)
{
    if (!ms)
        return;
    for (guint i = 0; i < ms->boxes->len; i++)
        member_box_unref(ms->boxes->pdata[i]);
    g_ptr_array_unref(ms->boxes);
    g_free(ms);
}
