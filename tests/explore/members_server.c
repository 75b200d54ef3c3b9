/* The server of the processes that want one id: a node, sessions. */
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

bool group_is_write(const struct group_ask *a)
{
    return a->verb != STORE_GET && !a->passes;
}

static void fire(struct group_state *st, bool gone)
{
    for (int i = 0; i < GROUP_PROCESSES; i++) {
        if (st->p[i].watches)
            group_hear(st, i, (struct group_heard){.kind = MACHINE_EV_FIRED, .gone = gone});
        st->p[i].watches = false;
    }
}

void group_remove(struct group_state *st)
{
    if (!st->owner)
        return;
    st->owner = st->version = st->gen = 0;
    st->czxid = 0;
    fire(st, true);
}

void group_end_session(struct group_state *st, int session)
{
    st->s[session].ended = true;
    st->s[session].late = 0;
    memset(st->s[session].writes, 0, sizeof st->s[session].writes);
    if (st->owner == session)
        group_remove(st);
}

/* ---- writes ---- */

static enum store_rc create(struct group_state *st, int session, const struct group_ask *a,
                            struct group_heard *reply)
{
    if (st->owner)
        return STORE_EXISTS;
    st->owner = (uint8_t)session;
    st->version = 0;
    st->gen = a->gen;
    st->czxid = reply->czxid = ++st->zxid;
    return STORE_OK;
}

static enum store_rc set(struct group_state *st, int session, const struct group_ask *a,
                         struct group_heard *reply)
{
    if (!st->owner)
        return STORE_NONODE;
    if (st->version != a->version)
        return STORE_BADVERSION;
    if ((st->owner != session || a->gen < st->gen) && !st->administered)
        group_fail(st, GROUP_OLD);
    st->gen = a->gen;
    reply->version = ++st->version;
    fire(st, false);
    return STORE_OK;
}

static enum store_rc delete (struct group_state *st, int session) {
    if (!st->owner) return STORE_NONODE;
    if (st->owner != session && !st->administered) group_fail(st, GROUP_ROBBED);
    group_remove(st);
    return STORE_OK;
}

static enum store_rc write_one(struct group_state *st, int session, const struct group_ask *a,
                               struct group_heard *reply)
{
    if (a->verb == STORE_CREATE)
        return create(st, session, a, reply);
    return a->verb == STORE_SET ? set(st, session, a, reply) : delete (st, session);
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

static enum store_rc read_node(struct group_state *st, int at, const struct group_ask *a,
                               struct group_heard *reply)
{
    struct group_process *p = &st->p[at];

    if (!st->owner)
        return STORE_NONODE;
    p->watches |= a->watch;
    reply->own = st->owner == p->session;
    reply->czxid = st->czxid;
    reply->version = st->version;
    reply->gen = st->gen;
    return STORE_OK;
}

void group_serve(struct group_state *st, int at, bool refused)
{
    struct group_process *p = &st->p[at];
    struct group_session *s = &st->s[p->session];
    const struct group_ask a = p->ask[0];
    struct group_heard reply = {.kind = MACHINE_EV_ANSWER, .ask = a};

    flat_remove(p->ask, &p->asked, sizeof a, 0);
    if (a.verb != STORE_GET) {
        s->late = 0; /* done by now, or never */
        memset(s->writes, 0, sizeof s->writes);
    }
    if (refused)
        reply.rc = STORE_NOAUTH;
    else if (a.verb == STORE_GET)
        reply.rc = (uint8_t)read_node(st, at, &a, &reply);
    else if (a.passes)
        reply.rc = STORE_BADVERSION;
    else
        reply.rc = (uint8_t)write_one(st, p->session, &a, &reply);
    group_hear(st, at, reply);
}
