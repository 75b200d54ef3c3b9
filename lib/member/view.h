/* A view of a group: lists its members and reads each, again whenever they may have changed.
 * Observers keep one; who reads the members once has one meanwhile. It begins a larger struct,
 * which ends with it. All with the monitor held. */
#ifndef LIB_VIEW_H
#define LIB_VIEW_H

#include "lib/queue/children_watch.h"
#include "members.h"
#include "recipes/group.h"
#include "recipes/newest.h"

struct view {
    struct children_watch watch; /* one of the session's; the first member */
    zkl_member_layout layout;
    bool watches;                             /* the list and each member are watched */
    void (*seen)(struct view *v);             /* each member that was listed was read since */
    void (*failed)(struct view *v, int code); /* the server refused a request; may be NULL */

    struct newest newest;
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

/* Fills in what is all zero but for the members above group, which are set already, with one
 * reference: the session's list. Then children_watch_query(). */
void view_init(struct view *v, zkl_session *s, const char *path);

/* Whoever was called by seen() is done with what it saw: forgets who is gone, and looks again if
 * anything has changed since. */
void view_settle(struct view *v);

/* Tries again to be seen: where seen() could do nothing with it. */
void view_conclude(struct view *v);

/* References to all that are there. */
GPtrArray *view_boxes(const struct view *v);

/* ---- view_older.c: data that are older than what was told ---- */

/* A list or a member is. Returns whether all is to be read again, later; else it counts. */
bool view_holds_back(struct view *v);

/* Whether any member is, as it was read. Those are read again with the next list. */
bool view_is_older(const struct view *v);

/* All are, if they are listed. */
void view_reread(struct view *v);

#endif
