#include "election_actors.h"

#include "live.h"
#include "mutex_actors.h"
#include "progress.h"

#include <string.h>

static void append(struct tale *t, const char *word)
{
    pthread_mutex_lock(&t->lock);
    if (t->text[0])
        g_strlcat(t->text, " ", sizeof(t->text));
    g_strlcat(t->text, word, sizeof(t->text));
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static void note_grant(struct tale *t, const zkl_grant *grant)
{
    pthread_mutex_lock(&t->lock);
    CHECK(zkl_grant_token(grant) > t->token);
    t->grant = grant;
    t->token = zkl_grant_token(grant);
    g_strlcpy(t->node, zkl_grant_node(grant), sizeof(t->node));
    pthread_mutex_unlock(&t->lock);
}

void tale_event(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                const zkl_error *err, void *tale)
{
    static const char *const words[] = {
        [ZKL_ELECTION_LEADING] = "leading", [ZKL_ELECTION_SUSPECT] = "suspect",
        [ZKL_ELECTION_HELD] = "held",       [ZKL_ELECTION_ASKED] = "asked",
        [ZKL_ELECTION_LOST] = "deposed",    [ZKL_ELECTION_RESIGNED] = "resigned",
        [ZKL_ELECTION_FAILED] = "failed",   [ZKL_ELECTION_STOPPED] = "stopped",
    };
    struct tale *t = tale;
    CHECK_INT(grant != NULL, event < ZKL_ELECTION_FAILED);
    if (event == ZKL_ELECTION_LEADING)
        note_grant(t, grant);
    else if (grant)
        CHECK(grant == t->grant);
    char *word = err ? g_strdup_printf("%s%d", words[event], err->code) : g_strdup(words[event]);
    if (t->then)
        t->then(e, event, t->data);
    append(t, word);
    g_free(word);
}

void tale_leader(const zkl_leader *leader, void *tale)
{
    struct tale *t = tale;
    char *word;
    if (leader->token == 0) {
        CHECK_STR(leader->id, "");
        CHECK_STR(leader->node, "");
        CHECK(leader->data == NULL && leader->size == 0);
        append(t, "nobody");
        return;
    }
    CHECK(leader->token >= t->token);
    t->token = leader->token;
    g_strlcpy(t->node, leader->node, sizeof(t->node));
    word = leader->data ? g_strdup_printf("%s=%.*s", leader->id, (int)MIN(leader->size, 100),
                                          (const char *)leader->data)
                        : g_strdup(leader->id);
    append(t, word);
    g_free(word);
}

/* ---- reading ---- */

static bool may_become(const char *text, const char *wanted)
{
    return strncmp(text, wanted, strlen(text)) == 0 && strcmp(text, wanted) != 0;
}

void tale_wait(struct tale *t, const char *text, const char *file, int line)
{
    pthread_mutex_lock(&t->lock);
    while (may_become(t->text, text) && progress_wait(&t->changed, &t->lock))
        continue;
    bool same = runner_check_str(t->text, text, "the tale", file, line);
    pthread_mutex_unlock(&t->lock);
    if (!same)
        runner_fail_fatal(file, line, "the tale goes on");
    progress_step();
}

void tale_check(struct tale *t, const char *text, const char *file, int line)
{
    pthread_mutex_lock(&t->lock);
    runner_check_str(t->text, text, "the tale", file, line);
    pthread_mutex_unlock(&t->lock);
}

bool tale_ends(struct tale *t, const char *text)
{
    pthread_mutex_lock(&t->lock);
    bool ends = g_str_has_suffix(t->text, text);
    pthread_mutex_unlock(&t->lock);
    return ends;
}

/* ---- elections ---- */

zkl_election *election_with(zkl_session *s, const char *path, const char *id,
                            const zkl_election_options *options)
{
    zkl_election *e;
    REQUIRE(zkl_election_new(&e, s, path, id, options) == 0);
    return e;
}

zkl_election *election_of(zkl_session *s, const char *path, const char *id)
{
    return election_with(s, path, id, NULL);
}

zkl_election_status election_status(zkl_election *e)
{
    zkl_election_status status = {.size = sizeof(status)};
    CHECK_INT(zkl_election_get_status(e, &status), 0);
    return status;
}

void election_queue(struct live *t, zkl_election *e, struct tale *tale, const char *path, int n)
{
    REQUIRE(zkl_election_start(e, tale_event, tale) == 0);
    LIVE_UNTIL(live_contenders(t, path) == n);
}

void election_settle(struct live *t, zkl_session *s)
{
    struct gate gate = GATE_INIT;
    gate_open(&gate);
    session_block(t, s, &gate);
}
