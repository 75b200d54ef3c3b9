/* A view of a group: it lists the members and reads each of them, and does so again whenever they
 * may have changed. An observer keeps a view; a call that reads the members once has one meanwhile.
 * A view is the first member of a larger struct, which ends with it. The caller holds the
 * monitor. */
#ifndef LIB_VIEW_H
#define LIB_VIEW_H

#include "lib/queue/children_watch.h"
#include "lib/session/watch.h"
#include "recipes/children.h"
#include "recipes/group.h"

/* Events of its own. */
enum {
    VIEW_EV_CHANGED = MACHINE_EV_OWN, /* what a member wrote */
    VIEW_EV_READ                      /* a member was, or can be told: .rc */
};

/* A member as it was read, shared by all that tell of it. */
struct member_box {
    zkl_member_info info;
};

/* The child of that name, as it was read. */
struct member_box *member_box_new(const char *name, zkl_member_layout layout,
                                  const struct store_reply *reply);
struct member_box *member_box_ref(struct member_box *box);
void member_box_unref(struct member_box *box); /* NULL is ignored */

struct view {
    struct children_watch watch; /* one of the session's; the first member */
    zkl_member_layout layout;
    bool watches;                 /* the list and each member are watched */
    bool (*seen)(struct view *v); /* each listed member was read since the list; false: not now, see
                                     view_try_again() */
    void (*failed)(struct view *v, int code); /* the server refused a request; may be NULL */

    struct children machine;
    struct newest newest;
    GPtrArray *names;    /* in the newest list */
    GHashTable *entries; /* name -> struct view_entry */
    unsigned asked;      /* reads under way */
    bool news;           /* a list was taken since the last time that it was seen */
    bool again;          /* what was listed has changed meanwhile */
};

/* One name. */
struct view_entry {
    struct view *view;
    char *name;
    bool listed;
    bool dirty; /* to be read, again */
    const struct request *asked;
    struct group_node now, told;
    struct member_box *now_box, *told_box; /* NULL: none */
    struct subscription watch;
};

/* The members above group are set, and the others are all zero. Fills in the others, with one
 * reference, which is that of the session's list. children_watch_begin() comes next. */
void view_init(struct view *v, zkl_session *s, const char *path);

/* What seen() could do nothing with it can now. */
void view_try_again(struct view *v);

/* References to all that are there. */
GPtrArray *view_boxes(const struct view *v);

#endif
