/* What those who join are told. */
#include "joiner.h"

#include "client.h"

static const char *check_joined(const struct joiner *j, const zkl_member_news *news)
{
    const struct group *g = j->process->stage->group;

    if (j->in)
        return "it is told JOINED twice";
    if (!joiner_made(j, news->token))
        return "it is told JOINED with a token that no node of it has";
    if (news->token < j->token && !g->restored)
        return "it is told JOINED with an older token";
    return news->again == j->joined ? NULL : "it is told wrongly whether it has joined before";
}

static const char *check_busy(const struct joiner *j, const zkl_member_news *news)
{
    const struct member_node *n = group_find(j->process->stage->group, j->path, j->id, news->token);

    if (j->in || !n)
        return "it is told BUSY, and there was no such node";
    if (n->session != news->session_id)
        return "it is told another session than the one that had its id";
    if (!g_ptr_array_find_with_equal_func(n->data, news->data, g_str_equal, NULL))
        return "it is told what the node that had its id never held";
    return NULL;
}

static const char *check_left(const struct joiner *j, const zkl_member_news *news)
{
    const int code = news->err ? news->err->code : 0;

    if (code == ZKL_ECLOSED)
        return j->closed ? NULL : "it is told that its session was closed";
    return code == 0 && (j->leaving || j->closed) ? NULL : "it is told LEFT without a reason";
}

static const char *check_event(const struct joiner *j, zkl_member_event event,
                               const zkl_member_news *news)
{
    if (j->ended)
        return "it is told something behind its end";
    switch (event) {
    case ZKL_MEMBER_JOINED:
        return check_joined(j, news);
    case ZKL_MEMBER_SUSPECT:
        return j->in && !j->suspect ? NULL : "it is told SUSPECT, and was not in, or was so";
    case ZKL_MEMBER_HELD:
        return j->in && j->suspect ? NULL : "it is told HELD without having been SUSPECT";
    case ZKL_MEMBER_LOST:
        return j->in && news->token == j->token && news->loss != ZKL_LOSS_NONE
                   ? NULL
                   : "it is told LOST, and was not in, or with another token";
    case ZKL_MEMBER_BUSY:
        return check_busy(j, news);
    case ZKL_MEMBER_FAILED:
        return j->process->stage->oracle.refusing && news->err ? NULL
                                                               : "it is told that it was refused";
    case ZKL_MEMBER_LEFT:
        return check_left(j, news);
    }
    return "it is told something unknown";
}

static void take(struct joiner *j, zkl_member_event event, const zkl_member_news *news)
{
    struct tally *t = &j->process->stage->tally;

    t->joins += event == ZKL_MEMBER_JOINED;
    t->gone += event == ZKL_MEMBER_LOST;
    t->busy += event == ZKL_MEMBER_BUSY;
    j->suspect = event == ZKL_MEMBER_SUSPECT;
    j->busy = event == ZKL_MEMBER_BUSY;
    j->ended = event == ZKL_MEMBER_LEFT;
    if (event == ZKL_MEMBER_JOINED) {
        j->in = j->joined = true;
        j->token = news->token;
        joiner_take_grant(j);
    } else if (event == ZKL_MEMBER_LOST || event == ZKL_MEMBER_LEFT) {
        j->in = false;
    }
}

void joiner_hears(zkl_member *m, zkl_member_event event, const zkl_member_news *news, void *data)
{
    static const char *const names[] = {"",     "JOINED", "SUSPECT", "HELD",
                                        "LOST", "BUSY",   "FAILED",  "LEFT"};
    struct joiner *j = data;

    (void)m;
    if (j->abandoned)
        return;
    trace_line(j->process->stage->trace, stage_now(j->process->stage), host_name(j->process->host),
               "m%u is told %s %" G_GINT64_MODIFIER "x", j->number, names[event], news->token);
    const char *what = check_event(j, event, news);
    if (what)
        joiner_wrong(j, what);
    take(j, event, news);
    if (j->wake)
        j->wake->at = MIN(j->wake->at, stage_now(j->process->stage) + 1);
}
