#include "election_story.h"

#include "lib/base/callbacks.h"
#include "progress.h"

#include <string.h>

static void tell(struct election_story *s, const char *word)
{
    pthread_mutex_lock(&s->lock);
    if (s->told->len > 0)
        g_string_append_c(s->told, ' ');
    g_string_append(s->told, word);
    while (s->held_up) {
        pthread_mutex_unlock(&s->lock);
        g_usleep(1000);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

static void on_event(zkl_election *e, zkl_election_event event, const zkl_grant *grant,
                     const zkl_error *err, void *story)
{
    static const char *const words[] = {
        [ZKL_ELECTION_LEADING] = "leading", [ZKL_ELECTION_SUSPECT] = "suspect",
        [ZKL_ELECTION_HELD] = "held",       [ZKL_ELECTION_ASKED] = "asked",
        [ZKL_ELECTION_LOST] = "deposed",    [ZKL_ELECTION_RESIGNED] = "resigned",
        [ZKL_ELECTION_FAILED] = "failed",   [ZKL_ELECTION_STOPPED] = "stopped",
    };
    char *word = err ? g_strdup_printf("%s%d", words[event], err->code) : g_strdup(words[event]);

    (void)e;
    CHECK_INT(grant != NULL, event < ZKL_ELECTION_FAILED);
    tell(story, word);
    g_free(word);
}

void election_on_leader(const zkl_leader *leader, void *story)
{
    char *word = leader->token == 0 ? g_strdup("nobody")
                 : leader->data     ? g_strdup_printf("%s=%.*s", leader->id, (int)leader->size,
                                                      (const char *)leader->data)
                                    : g_strdup(leader->id);

    tell(story, word);
    g_free(word);
}

void election_begin(struct election_story *s, const zkl_election_options *options)
{
    *s = (struct election_story){
        .session = fake_session(), .lock = PTHREAD_MUTEX_INITIALIZER, .told = g_string_new(NULL)};
    REQUIRE(zkl_election_new(&s->election, s->session, ELECTION, "me", options) == 0);
}

void election_end(struct election_story *s)
{
    zkl_election_free(s->election);
    zkl_session_close(s->session);
    g_string_free(s->told, TRUE);
    g_free(s->node);
}

void election_start(struct election_story *s)
{
    REQUIRE(zkl_election_start(s->election, on_event, s) == 0);
}

void election_win(struct election_story *s, uint64_t token)
{
    g_free(s->node);
    s->node = fake_created_name(ELECTION, (int)token);
    REQUIRE(s->node != NULL);
    char *child = strrchr(s->node, '/') + 1;
    ANSWER(STORE_CREATE, ELECTION, .rc = STORE_OK, .path = s->node, .czxid = token,
           .ephemeral_owner = FAKE_SESSION_ID);
    ANSWER(STORE_LIST, ELECTION, .rc = STORE_OK, .names = &child, .count = 1);
}

void election_begin_started(struct election_story *s, const zkl_election_options *options)
{
    election_begin(s, options);
    election_start(s);
}

void election_set_own_watch(struct election_story *s)
{
    fake_await(STORE_GET, s->node);
    ANSWER(STORE_GET, s->node, .rc = STORE_OK, .ephemeral_owner = FAKE_SESSION_ID);
}

void election_hold_up(struct election_story *s, bool held_up)
{
    pthread_mutex_lock(&s->lock);
    s->held_up = held_up;
    pthread_mutex_unlock(&s->lock);
}

void election_flush(struct election_story *s)
{
    callbacks_flush(s->session->callbacks);
}

static bool is_told(struct election_story *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    bool told = strcmp(s->told->str, text) == 0;
    pthread_mutex_unlock(&s->lock);
    return told;
}

void election_told(struct election_story *s, const char *text, const char *file, int line)
{
    AWAIT(is_told(s, text));
    pthread_mutex_lock(&s->lock);
    runner_check_str(s->told->str, text, "what was told", file, line);
    pthread_mutex_unlock(&s->lock);
}
