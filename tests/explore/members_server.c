/* The server of the processes that want one id: a node, marks, sessions. */
#include <string.h>

#include "flat.h"
#include "members_world.h"

void group_fail(struct group_state *st, enum group_broken broken)
{
    if (!st->broken)
        st->broken = (uint8_t)broken;
}

void group_hear(struct group_state *st, int at, struct group_heard what)
{
    struct group_process *p = &st->p[at];

    if (p->crashed)
        return;
    if (p->heard == GROUP_HEARD)
        group_fail(st, GROUP_FULL);
    else
        p->hear[p->heard++] = what;
}

bool group_is_write(enum member_action_kind kind)
{
    return kind == MEMBER_ACT_CREATE || kind == MEMBER_ACT_CLAIM || kind == MEMBER_ACT_MARK ||
           kind == MEMBER_ACT_UNMARK || kind == MEMBER_ACT_SET || kind == MEMBER_ACT_DELETE;
}

static void fire(struct group_state *st, bool gone)
{
    for (int i = 0; i < GROUP_PROCESSES; i++) {
        if (st->p[i].watches)
            group_hear(st, i, (struct group_heard){.kind = MEMBER_EV_FIRED, .gone = gone});
        st->p[i].watches = false;
    }
}

static int process_of(const struct group_state *st, int session)
{
    return st->s[session].process - 1;
}

/* Whoever wants it gone must be its process, or live on while that is dead. */
void group_remove(struct group_state *st, int by)
{
    if (!st->owner)
        return;
    const int owner = process_of(st, st->owner);
    if (by >= 0 && by != owner && !st->p[owner].crashed && !st->administered)
        group_fail(st, GROUP_ROBBED);
    st->owner = st->version = st->gen = 0;
    st->czxid = 0;
    fire(st, true);
}

/* ---- marks ---- */

bool group_has_mark(const struct group_state *st, uint64_t czxid, int session)
{
    for (int i = 0; i < GROUP_MARKS; i++)
        if (st->mark[i].czxid == czxid && st->mark[i].session != 0 &&
            (session == 0 || st->mark[i].session == session))
            return true;
    return false;
}

static void make_mark(struct group_state *st, uint64_t czxid, int session)
{
    int free = -1;

    if (group_has_mark(st, czxid, 0))
        return;
    for (int i = 0; i < GROUP_MARKS; i++)
        if (st->mark[i].session == 0)
            free = i;
    if (free < 0) {
        group_fail(st, GROUP_FULL);
        return;
    }
    st->mark[free].czxid = czxid;
    st->mark[free].session = (uint8_t)session;
}

static void delete_mark(struct group_state *st, uint64_t czxid)
{
    for (int i = 0; i < GROUP_MARKS; i++)
        if (st->mark[i].czxid == czxid)
            memset(&st->mark[i], 0, sizeof st->mark[i]);
}

void group_end_session(struct group_state *st, int session)
{
    st->s[session].ended = true;
    st->s[session].late = 0;
    memset(st->s[session].writes, 0, sizeof st->s[session].writes);
    for (int i = 0; i < GROUP_MARKS; i++)
        if (st->mark[i].session == session)
            memset(&st->mark[i], 0, sizeof st->mark[i]);
    if (st->owner == session)
        group_remove(st, -1);
}

/* ---- writes ---- */

static enum member_event_kind create(struct group_state *st, int session, const struct group_ask *a,
                                     struct group_heard *reply)
{
    if (st->owner)
        return MEMBER_EV_EXISTS;
    st->owner = (uint8_t)session;
    st->version = 0;
    st->gen = a->gen;
    st->czxid = reply->czxid = ++st->zxid;
    return MEMBER_EV_CREATED;
}

static enum member_event_kind set(struct group_state *st, int session, const struct group_ask *a,
                                  struct group_heard *reply)
{
    if (a->fenced && !group_has_mark(st, a->czxid, 0))
        return MEMBER_EV_UNMARKED;
    if (!st->owner)
        return MEMBER_EV_NO_NODE;
    if (st->version != a->version)
        return MEMBER_EV_OUTDATED;
    if ((st->owner != session || a->gen < st->gen) && !st->administered)
        group_fail(st, GROUP_OLD);
    st->gen = a->gen;
    reply->version = ++st->version;
    fire(st, false);
    return MEMBER_EV_SET;
}

static enum member_event_kind claim(struct group_state *st, int by, const struct group_ask *a)
{
    if (group_has_mark(st, a->czxid, 0) && st->owner) {
        delete_mark(st, a->czxid);
        group_remove(st, by);
    }
    return MEMBER_EV_CLAIMED;
}

static enum member_event_kind write_one(struct group_state *st, int session,
                                        const struct group_ask *a, struct group_heard *reply)
{
    const int by = process_of(st, session);
    const bool there = st->owner != 0;

    switch ((enum member_action_kind)a->kind) {
    case MEMBER_ACT_CREATE:
        return create(st, session, a, reply);
    case MEMBER_ACT_SET:
        return set(st, session, a, reply);
    case MEMBER_ACT_CLAIM:
        return claim(st, by, a);
    case MEMBER_ACT_MARK:
        reply->czxid = a->czxid;
        reply->gone = group_config.unmarked;
        if (!group_config.unmarked)
            make_mark(st, a->czxid, session);
        return MEMBER_EV_MARKED;
    case MEMBER_ACT_UNMARK:
        delete_mark(st, a->czxid);
        return MEMBER_EV_STANDING; /* nobody waits for it */
    default:
        if (a->fenced && !group_has_mark(st, a->czxid, 0))
            return MEMBER_EV_UNMARKED;
        if (there && a->fenced)
            delete_mark(st, a->czxid);
        group_remove(st, by);
        return there ? MEMBER_EV_DELETED : MEMBER_EV_NO_NODE;
    }
}

void group_apply_late(struct group_state *st, int session)
{
    struct group_session *s = &st->s[session];
    struct group_heard unheard = {.kind = 0};
    const struct group_ask first = s->writes[0];

    flat_remove(s->writes, &s->late, sizeof first, 0);
    write_one(st, session, &first, &unheard);
}

/* ---- all that is asked ---- */

static enum member_event_kind read_node(struct group_state *st, int at, const struct group_ask *a,
                                        struct group_heard *reply)
{
    struct group_process *p = &st->p[at];

    if (!st->owner)
        return MEMBER_EV_NO_NODE;
    p->watches |= a->watch;
    reply->own = st->owner == p->session;
    reply->owner = st->owner;
    reply->czxid = st->czxid;
    reply->version = st->version;
    reply->gen = st->gen;
    return MEMBER_EV_READ;
}

void group_serve(struct group_state *st, int at, bool refused)
{
    struct group_process *p = &st->p[at];
    struct group_session *s = &st->s[p->session];
    const struct group_ask a = p->ask[0];
    struct group_heard reply = {.answer = true, .ask = a};

    flat_remove(p->ask, &p->asked, sizeof a, 0);
    if (group_is_write((enum member_action_kind)a.kind) || a.kind == MEMBER_ACT_PASS) {
        s->late = 0; /* done by now, or never */
        memset(s->writes, 0, sizeof s->writes);
    }
    if (refused)
        reply.kind = MEMBER_EV_REFUSED;
    else if (a.kind == MEMBER_ACT_READ)
        reply.kind = (uint8_t)read_node(st, at, &a, &reply);
    else if (a.kind == MEMBER_ACT_PASS)
        reply.kind = MEMBER_EV_PASSED;
    else if (a.kind == MEMBER_ACT_JUDGE)
        reply.kind = MEMBER_EV_JUDGED, reply.dead = group_has_mark(st, a.czxid, p->other);
    else
        reply.kind = (uint8_t)write_one(st, p->session, &a, &reply);
    group_hear(st, at, reply);
}
