/* The servers choose one that leads, and the others follow it. The votes themselves are not
 * simulated: what a majority that can talk would agree upon happens after a moment. */
#include "inside.h"

enum { ELECTION_MIN_MS = 200, ELECTION_SPREAD_MS = 200 };

/* ---- between servers ---- */

static unsigned target_of(const struct link *link)
{
    const struct server *from = link->context;

    return (unsigned)(link - from->to);
}

static bool is_blocked(const struct link *link)
{
    const struct server *from = link->context, *to = &link->w->servers[target_of(link)];

    return from->cut || to->cut || to->deaf || to->paused;
}

/* A server hears nothing of a former connection. */
static void deliver(struct link *link, struct message *m)
{
    const struct server *from = link->context;
    struct server *s = &link->w->servers[target_of(link)];

    if (m->epoch != s->epoch)
        return;
    if (s->role == SERVER_FOLLOWING && s->leader == from->number)
        follower_receive(s, m);
    else if (s->role == SERVER_LEADING && s->peers[from->number].follows)
        leader_receive(s, from->number, m);
}

void ensemble_send(struct server *from, unsigned to, struct message what)
{
    what.epoch = from->epoch;
    link_send(&from->to[to], what, link_latency(from->w));
}

/* ---- the heart beats ---- */

static int64_t lateness(struct world *w)
{
    return w->config.odd ? (int64_t)chance_below(&w->queue, (uint64_t)w->tick / 10) : 0;
}

static void on_beat(void *context)
{
    struct server *s = context;

    if (s->paused || s->role == SERVER_DOWN)
        return;
    queue_arm(&s->w->queue, &s->beat, s->w->queue.now + s->w->tick / 2 + lateness(s->w), on_beat,
              s);
    if (s->role == SERVER_LEADING)
        leader_beat(s);
    else if (s->role == SERVER_FOLLOWING)
        follower_beat(s);
}

void ensemble_beat_in(struct server *s, int64_t ns)
{
    if (s->w->count > 1)
        queue_arm(&s->w->queue, &s->beat, s->w->queue.now + ns, on_beat, s);
}

/* ---- roles ---- */

static void note_leader(struct world *w, int leader)
{
    if (w->leader == leader)
        return;
    w->leader = leader;
    note(w, (struct note){.kind = NOTE_LEADER, .server = leader});
}

static void tell_peers(struct server *s)
{
    for (unsigned i = 0; i < s->w->count; i++) {
        if (s->role == SERVER_LEADING ? s->peers[i].follows : i == s->leader)
            ensemble_send(s, i, (struct message){.kind = MSG_BYE});
    }
}

static void resign(struct server *s)
{
    if (s->head != s->tree)
        tree_free(s->head);
    s->head = NULL;
    queue_cancel(&s->w->queue, &s->expiry);
    g_ptr_array_set_size(s->tracked, 0);
    for (unsigned i = 0; i < s->w->count; i++)
        s->peers[i].follows = false;
    if (s->w->leader == (int)s->number)
        note_leader(s->w, -1);
}

void ensemble_leave(struct server *s, enum role role)
{
    if (server_serves(s)) {
        server_drop_all(s);
        tell_peers(s);
        link_flush(&s->stream);
        if (s->role == SERVER_LEADING)
            resign(s);
        g_array_set_size(s->touches, 0);
        g_hash_table_remove_all(s->touched);
        g_hash_table_remove_all(s->revalidating);
    }
    s->role = role;
}

void ensemble_look(struct server *s)
{
    ensemble_leave(s, SERVER_LOOKING);
    ensemble_elect_soon(s->w);
}

void ensemble_tear(struct server *s)
{
    link_flush(&s->to[s->leader]);
    link_flush(&s->w->servers[s->leader].to[s->number]);
    ensemble_look(s);
}

static void lead(struct server *s)
{
    struct world *w = s->w;

    s->role = SERVER_LEADING;
    s->epoch = ++w->epoch;
    s->next_zxid = ((uint64_t)(w->count > 1 ? s->epoch : 0) << 32) + 1;
    if (w->count == 1)
        s->next_zxid = s->tree->zxid + 1;
    server_apply(s, history_end(w));
    /* What it has logged may have been acknowledged by a majority, so it counts. */
    leader_commit_all(s);
    s->head = w->count == 1 ? s->tree : tree_copy(s->tree);
    sessions_start(s);
    note_leader(w, (int)s->number);
}

static void follow(struct server *s, struct server *leader)
{
    struct peer *peer = &leader->peers[s->number];
    const struct txn *last = g_queue_peek_tail(&leader->log);

    link_flush(&s->to[leader->number]);
    link_flush(&leader->to[s->number]);
    s->role = SERVER_FOLLOWING;
    s->leader = leader->number;
    s->epoch = leader->epoch;
    s->heard = s->w->queue.now;
    /* What it had logged and its leader has not was never acknowledged by a majority. */
    g_queue_clear_full(&s->log, (GDestroyNotify)txn_unref);
    server_apply(s, leader->applied);
    for (GList *l = leader->log.head; l; l = l->next)
        g_queue_push_tail(&s->log, txn_ref(l->data));
    *peer = (struct peer){true, s->heard, leader->tree->zxid};
    if (last)
        ensemble_send(s, leader->number, (struct message){.kind = MSG_ACK, .zxid = last->zxid});
}

/* ---- elections ---- */

static bool can_talk(const struct server *s)
{
    return s->role != SERVER_DOWN && !s->paused && !s->cut && !s->deaf;
}

struct server *world_working(const struct world *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        const struct server *leader = &w->servers[i];
        unsigned count = 1;
        if (leader->role != SERVER_LEADING || !can_talk(leader))
            continue;
        for (unsigned k = 0; k < w->count; k++) {
            const struct server *s = &w->servers[k];
            count += can_talk(s) && s->role == SERVER_FOLLOWING && s->leader == i &&
                     s->epoch == leader->epoch;
        }
        if (count > w->count / 2)
            return (struct server *)(uintptr_t)leader;
    }
    return NULL;
}

struct server *world_newest(const struct world *w)
{
    const struct server *newest = &w->servers[0];

    for (unsigned i = 1; i < w->count; i++) {
        if (w->servers[i].applied > newest->applied)
            newest = &w->servers[i];
    }
    return (struct server *)(uintptr_t)newest;
}

static uint64_t last_logged(const struct server *s)
{
    const struct txn *last = g_queue_peek_tail((GQueue *)(uintptr_t)&s->log);

    return last ? MAX(last->zxid, s->tree->zxid) : s->tree->zxid;
}

static bool is_candidate(const struct server *s)
{
    return s->role == SERVER_LOOKING && can_talk(s);
}

/* A server that followed the later leader is better, even if that leader changed nothing. What
 * others had logged before was never acknowledged by a majority, and clients have read that it is
 * not there. */
static bool is_better(const struct server *s, const struct server *other)
{
    if (s->epoch != other->epoch)
        return s->epoch > other->epoch;
    return last_logged(s) >= last_logged(other);
}

/* The server that has logged most; NULL: those that can vote are too few. */
static struct server *choose(struct world *w)
{
    struct server *best = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < w->count; i++) {
        struct server *s = &w->servers[i];
        if (!is_candidate(s))
            continue;
        count++;
        if (!best || is_better(s, best))
            best = s;
    }
    return count > w->count / 2 ? best : NULL;
}

static void gather(struct world *w, struct server *leader)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (is_candidate(&w->servers[i]))
            follow(&w->servers[i], leader);
    }
}

static void on_election(void *context)
{
    struct world *w = context;
    struct server *leader = world_working(w);

    if (!leader && (leader = choose(w)) != NULL)
        lead(leader);
    if (leader)
        gather(w, leader);
}

void ensemble_elect_soon(struct world *w)
{
    int64_t ms = ELECTION_MIN_MS + (int64_t)chance_below(&w->queue, ELECTION_SPREAD_MS);

    if (!w->election.slot)
        queue_arm(&w->queue, &w->election, w->queue.now + ms * MS, on_election, w);
}

static bool is_stream_blocked(const struct link *link)
{
    return ((const struct server *)link->context)->paused;
}

static void init_links(struct server *s)
{
    struct world *w = s->w;

    s->stream = (struct link){
        .w = w, .context = s, .blocked = is_stream_blocked, .deliver = follower_stream};
    for (unsigned i = 0; i < w->count; i++)
        s->to[i] = (struct link){.w = w, .context = s, .blocked = is_blocked, .deliver = deliver};
}

/* The first leader is there from the beginning. */
void ensemble_start(struct world *w)
{
    struct server *first = &w->servers[chance_below(&w->queue, w->count)];

    for (unsigned i = 0; i < w->count; i++) {
        init_links(&w->servers[i]);
        ensemble_beat_in(&w->servers[i], (int64_t)chance_below(&w->queue, (uint64_t)w->tick / 2));
    }
    w->leader = (int)first->number;
    lead(first);
    gather(w, first);
}
