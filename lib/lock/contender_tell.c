/* What an attempt tells: its verdict to who waits for it, and to a holder, beside its grant, that
 * others wait, that it is asked to give way, proofs, its end. */
#include <string.h>

#include "contender_state.h"
#include "grant.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/session/denial.h"
#include "lib/session/late_create.h"
#include "local_queue.h"
#include "recipes/rule.h"

/* ---- the verdict ---- */

/* A lock's waiters wait for its holder anyway; a spare lease is a permit less for all. */
static void look_for_spare(struct contender *c)
{
    char *name;

    if (c->unsure == 0 || c->machine.rule != RULE_LEASE)
        return;
    name = contender_name(c);
    late_create_look(c->session, admission_path(c->admission), c->id, name);
    g_free(name);
}

void contender_tell_granted(struct contender *c)
{
    zkl_session *s = c->session;
    char *node = contender_node(c);

    if (c->machine.number >= RULE_NUMBER_WARN)
        log_line(s->log, ZKL_LOG_WARN, "numbers-end", session_path(s, node),
                 "%s: the sequence numbers of its directory end at 2147483647", node);
    c->grant = grant_new(s, c, node, c->payload, c->machine.token);
    g_free(node);
    look_for_spare(c);
    if (c->machine.others == OTHERS_WAIT || local_queue_waits(c))
        grant_call(c->grant, GRANT_WANTED);
    c->decided(c->context, c->grant, NULL);
}

/* The names are those of the snapshot that the recipe has just seen. Which child it is matters more
 * than how a long path ends. */
static void give_layout(struct contender *c, uint32_t incompatible)
{
    const char *path = session_path(c->session, admission_path(c->admission));
    char *text = layout_incompatible(c->listed->names[incompatible]);
    zkl_error e;
    int left = (int)(sizeof e.text - sizeof ": ") - (int)strlen(text);

    error_fill(&e, ZKL_ELAYOUT, path, "%.*s: %s", MAX(left, 0), path, text);
    g_free(text);
    c->decided(c->context, NULL, &e);
}

/* NULL: as the code says. */
static const char *describe(int error)
{
    return error == ATTEMPT_NOCHILDREN ? "it is below an ephemeral node"
           : error == ATTEMPT_NOLIMIT  ? "it has no limit of a semaphore"
           : error == ATTEMPT_PERMITS  ? "more permits than the limit"
           : error == ATTEMPT_UNPROVED ? "the servers do not prove the session in time"
                                       : NULL;
}

static void give_error(struct contender *c, int error)
{
    zkl_error e;
    char *whole = admission_path(c->admission),
         *blamed = c->blame ? g_strndup(whole, c->blame) : NULL;
    const char *path = session_path(c->session, blamed ? blamed : whole);
    static const int codes[] = {
        [ATTEMPT_BUSY] = ZKL_EBUSY,
        [ATTEMPT_REFUSED] = ZKL_EACCES,
        [ATTEMPT_NOCHILDREN] = ZKL_EPATH,
        [ATTEMPT_OVERFLOW] = ZKL_EOVERFLOW,
        [ATTEMPT_LIMIT] = ZKL_ELIMIT,
        [ATTEMPT_PROTOCOL] = ZKL_EPROTO,
        [ATTEMPT_PERMITS] = ZKL_ELIMIT,
        [ATTEMPT_NOLIMIT] = ZKL_ENOENT,
        [ATTEMPT_UNPROVED] = ZKL_EUNREACHABLE,
    };

    if (describe(error))
        error_fill(&e, codes[error], path, "%s: %s", path, describe(error));
    else if (error != ATTEMPT_ABORTED)
        denial_fill(c->session, &e, codes[error], path);
    g_free(blamed);
    c->decided(c->context, NULL, error == ATTEMPT_ABORTED ? c->why : &e);
}

void contender_tell_failed(struct contender *c, const struct action *a)
{
    contender_forget(c);
    if (a->error == ATTEMPT_LAYOUT)
        give_layout(c, a->id);
    else
        give_error(c, a->error);
}

/* ---- news ---- */

void contender_tell(struct contender *c, enum contender_news news)
{
    contender_news_fn fn = c->head ? c->head->news : NULL;

    if (fn && news == CONTENDER_ENDED)
        c->head->news = NULL;
    if (fn)
        fn(c->context, news);
}

static enum contender_news to_news(enum attempt_others others)
{
    return others == OTHERS_NONE   ? CONTENDER_ALONE
           : others == OTHERS_WAIT ? CONTENDER_OTHERS
                                   : CONTENDER_UNKNOWN;
}

void contender_tell_others(struct contender *c, enum attempt_others others)
{
    c->look_again = others == OTHERS_UNKNOWN;
    if (others == OTHERS_WAIT && c->grant)
        grant_call(c->grant, GRANT_WANTED);
    contender_tell(c, to_news(others));
}

void contender_tell_asked(struct contender *c)
{
    if (c->grant)
        grant_call(c->grant, GRANT_ASKED);
    contender_tell(c, CONTENDER_ASKED);
}

void contender_set_idle(struct contender *c, bool idle)
{
    c->idle = idle;
}

void contender_forget(struct contender *c)
{
    if (c->head)
        c->head->news = NULL;
}

bool contender_has_waited(const struct contender *c)
{
    return c->machine.waited;
}

enum contender_news contender_others(const struct contender *c)
{
    return to_news(c->machine.others);
}
