#include "proxy_link.h"

#include <string.h>

/* Longer than any message: the "length" is the letters of a four-letter word. */
#define LENGTH_MAX (64u << 20)

enum verdict { FORWARD, DISCARD, RESET };
enum {
    LENGTH = 4,
    REQUEST_HEAD = LENGTH + 8,
    REPLY_HEAD = LENGTH + 16,
    XID_EVENT = -1,
    XID_PING = -2,
    XID_CREDENTIALS = -4,
    TYPE = LENGTH + 4,  /* where it is in a request */
    ERROR = LENGTH + 12 /* and in a reply */
};
enum { UNIMPLEMENTED = -6, AUTH_FAILED = -115, REFUSED = 127 /* no type of request */ };

static uint32_t be32(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put_be32(uint8_t *b, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(value >> (24 - 8 * i));
}

static bool is_among(uint64_t types, int32_t type)
{
    return type >= 0 && type < 64 && (types >> type & 1);
}

static bool matches(int wanted, int32_t type)
{
    return wanted == type || (wanted == PROXY_OP_ANY && type != PROXY_OP_PING);
}

/* One that is refused becomes a sync, which changes nothing and is answered in its turn. */
static enum verdict judge_request(struct link *l, int32_t xid, int32_t type)
{
    struct proxy *p = l->proxy;
    if (p->orders.lose_request && matches(p->orders.lose_request_op, type)) {
        p->orders.lose_request = false;
        p->stats.lost++;
        return RESET;
    }
    if (is_among(p->orders.hung_up_on, type)) {
        p->stats.refused++;
        return RESET;
    }
    if (p->orders.dropping & PROXY_TO_SERVER || l->refused)
        return DISCARD;
    l->refused = xid == XID_CREDENTIALS && p->orders.credentials_refused;
    if (is_among(p->orders.refused, type) && xid > 0) {
        p->stats.refused++;
        put_be32(l->stream[UP].head + TYPE, PROXY_OP_SYNC);
        l->type[xid % UNDERWAY] = REFUSED;
        return FORWARD;
    }
    if (p->orders.lose_reply && matches(p->orders.lose_reply_op, type)) {
        p->orders.lose_reply = false;
        l->losing = true;
        l->losing_xid = xid;
    }
    p->stats.requests[type & 127]++;
    if (xid > 0)
        l->type[xid % UNDERWAY] = (uint8_t)(type & 127);
    return FORWARD;
}

static enum verdict judge_reply(struct link *l, int32_t xid)
{
    struct proxy *p = l->proxy;
    if (l->losing && xid == l->losing_xid) {
        p->stats.lost++;
        return RESET;
    }
    if (p->orders.dropping & PROXY_TO_CLIENT)
        return DISCARD;
    if (xid == XID_EVENT)
        p->stats.events++;
    else if (xid != XID_PING)
        p->stats.replies++;
    if (xid > 0 && l->type[xid % UNDERWAY] == REFUSED)
        put_be32(l->stream[DOWN].head + ERROR, (uint32_t)UNIMPLEMENTED);
    if (xid == XID_CREDENTIALS && l->refused) {
        put_be32(l->stream[DOWN].head + ERROR, (uint32_t)AUTH_FAILED);
        l->stream[DOWN].eof = true; /* the last that it hears */
    }
    if (xid > 0)
        p->stats.answers[l->type[xid % UNDERWAY]]++;
    return FORWARD;
}

static int op_of(const struct link *l, bool greeting, int32_t xid)
{
    if (greeting)
        return PROXY_OP_HANDSHAKE;
    return xid > 0            ? l->type[xid % UNDERWAY]
           : xid == XID_PING  ? PROXY_OP_PING
           : xid == XID_EVENT ? PROXY_OP_EVENT
                              : PROXY_OP_SET_WATCHES;
}

static enum verdict judge(struct link *l, int direction)
{
    struct stream *s = &l->stream[direction];
    size_t enough = direction == UP ? REQUEST_HEAD : REPLY_HEAD;
    bool greeting = !s->greeted;
    s->greeted = true;
    if (direction == DOWN)
        l->whole_op = op_of(l, greeting, (int32_t)be32(s->head + LENGTH));
    if (greeting || s->have < enough) {
        unsigned bit = direction == UP ? PROXY_TO_SERVER : PROXY_TO_CLIENT;
        return l->proxy->orders.dropping & bit ? DISCARD : FORWARD;
    }
    int32_t xid = (int32_t)be32(s->head + LENGTH);
    return direction == UP ? judge_request(l, xid, (int32_t)be32(s->head + LENGTH + 4))
                           : judge_reply(l, xid);
}

/* How many bytes the head of the present message has, as far as that is known. */
static size_t head_size(const struct stream *s, int direction)
{
    size_t most = direction == UP ? REQUEST_HEAD : REPLY_HEAD;
    if (s->have < LENGTH)
        return LENGTH;
    return MIN(most, LENGTH + (size_t)be32(s->head));
}

static void pass_on(struct link *l, int direction, const uint8_t *bytes, size_t length)
{
    if (direction == DOWN && l->whole)
        g_byte_array_append(l->whole, bytes, (guint)length);
    else
        stream_push(l, direction, bytes, length);
}

/* A message has come whole. */
static void pass_whole(struct link *l)
{
    const struct orders *o = &l->proxy->orders;
    if (o->mangle && !o->mangle(l->whole, l->whole_op, o->mangle_data))
        l->stream[DOWN].eof = true;
    stream_push(l, DOWN, l->whole->data, l->whole->len);
    g_byte_array_set_size(l->whole, 0);
}

static bool feed_head(struct link *l, int direction)
{
    struct stream *s = &l->stream[direction];
    uint32_t length = be32(s->head);
    if (length > LENGTH_MAX) {
        s->raw = true;
        stream_push(l, direction, s->head, s->have);
        return true;
    }
    if (s->have < head_size(s, direction))
        return true;
    enum verdict verdict = judge(l, direction);
    s->discarding = verdict == DISCARD;
    s->left = LENGTH + (uint64_t)length - s->have;
    if (verdict == FORWARD)
        pass_on(l, direction, s->head, s->have);
    else if (verdict == DISCARD)
        l->proxy->stats.dropped++;
    s->have = 0;
    return verdict != RESET;
}

bool messages_feed(struct link *l, int direction, const uint8_t *bytes, size_t length)
{
    struct stream *s = &l->stream[direction];
    while (length > 0 && !s->eof) {
        size_t take = length;
        if (s->raw) {
            stream_push(l, direction, bytes, take);
        } else if (s->left > 0) {
            take = (size_t)MIN(s->left, (uint64_t)length);
            s->left -= take;
            if (!s->discarding)
                pass_on(l, direction, bytes, take);
        } else {
            take = MIN(head_size(s, direction) - s->have, length);
            memcpy(s->head + s->have, bytes, take);
            s->have += take;
            if (s->have >= LENGTH && !feed_head(l, direction))
                return false;
        }
        bytes += take;
        length -= take;
        if (direction == DOWN && l->whole && l->whole->len > 0 && s->left == 0)
            pass_whole(l);
    }
    return true;
}
