/* groups [--seconds N] [--seed N] [--nodes N]: eight members and observers of one group, each a
 * process behind a proxy of its own, which leads to one of the servers, are killed, cut off, frozen
 * and started again at random; two of them want one id. Every observer's story must be consistent,
 * and in the end equal to what the server has; nobody may believe in its membership while another
 * of its id does.
 *
 * With --worker CONNECT ID it is one of them. */
#include "membership.h"
#include "process.h"
#include "progress.h"
#include "proxy.h"
#include "raw.h"
#include "seeded.h"
#include "server.h"

#include <glib.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zkl.h>

TEST_SUITE(groups, .init = seeded_init);

enum { WORKERS = 8, TICK_MS = 200, TIMEOUT_MS = 2000 };

#define GROUP "/groups/g"

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- a worker: tells on standard output, a line each ---- */

static void on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                      void *data)
{
    (void)m, (void)data;
    printf("event %d %" PRIu64 "\n", event, news->token);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)data;
    if (event != ZKL_MEMBERS_ALL) {
        printf("%c %s %" PRIu64 " %.*s\n", " +-~"[event], member -> id, member -> token,
               (int)member -> size, (const char *)member -> data);
        return;
    }
    printf("=");
    for (size_t i = 0; i < zkl_members_count(all); i++)
        printf(" %s:%" PRIu64, zkl_members_get(all, i)->id, zkl_members_get(all, i)->token);
    printf("\n");
    fflush(stdout);
}

static void ignore(const zkl_error *err, void *data)
{
    (void)err, (void)data;
}

static void log_nothing(const zkl_log_record *record, void *data)
{
    (void)record, (void)data; /* losses are what this is for */
}

/* Whether it believes at an instant before the deadline was read. */
static void tell_belief(zkl_member *m)
{
    const int64_t at = now_ns();
    const struct membership now = membership_of(m);

    if (now.remaining_ms > 0)
        printf("believes %" PRIu64 " %" PRId64 "\n", now.token, at);
    fflush(stdout);
}

static int work(const char *connect, const char *id)
{
    zkl_session_options so = ZKL_SESSION_OPTIONS_INIT;
    zkl_member_options mo = ZKL_MEMBER_OPTIONS_INIT;
    zkl_session *s;
    zkl_member *m;

    so.session_timeout_ms = TIMEOUT_MS;
    so.log = log_nothing;
    mo.fn = on_member;
    if (zkl_session_open(&s, connect, &so, NULL) != 0 ||
        zkl_members_watch(NULL, s, GROUP, ZKL_MEMBER_GROUP, on_members, NULL) != 0 ||
        zkl_member_join(&m, s, GROUP, id, "0", 1, &mo) != 0)
        return 1;
    for (int n = 1;; n++) {
        g_usleep(20000);
        tell_belief(m);
        if (n % 25 == 0) {
            char *data = g_strdup_printf("%d", n);
            zkl_member_update_async(m, data, strlen(data), ZKL_FOREVER, ignore, NULL);
            g_free(data);
        }
    }
}

/* ---- all of them ---- */

static struct worker {
    struct proxy *proxy;
    pid_t pid;
    int lives;
} workers[WORKERS];

static struct zk_server *server;
static struct raw *admin;
static struct scratch scratch;
static struct seeded campaign = {.seconds = 6, .seed = 1, .nodes = 1};

static const char *id_of(int w)
{
    static const char *const ids[WORKERS] = {"a", "b", "c", "d", "e", "f", "twin", "twin"};

    return ids[w];
}

static char *log_of(int w, int life)
{
    return g_strdup_printf("%s/%d.%d", scratch.path, w, life);
}

static void start(int w)
{
    char *log = log_of(w, ++workers[w].lives);
    const char *const argv[] = {campaign.self, "--worker", proxy_connect(workers[w].proxy),
                                id_of(w), NULL};

    workers[w].pid =
        process_spawn(&(struct process_options){.argv = argv, .log = log, .input = -1});
    REQUIRE(workers[w].pid > 0);
    g_free(log);
}

static void disturb(GRand *rand)
{
    const int w = g_rand_int_range(rand, 0, WORKERS);
    struct proxy *p = workers[w].proxy;

    switch (g_rand_int_range(rand, 0, 6)) {
    case 0:
        process_end(workers[w].pid, SIGKILL);
        start(w);
        break;
    case 1:
        proxy_cut(p);
        break;
    case 2:
        proxy_freeze(p, PROXY_BOTH);
        break;
    case 3:
        proxy_reset(p);
        break;
    default:
        proxy_heal(p);
        break;
    }
}

/* ---- the end ---- */

/* As a line of ALL has it. */
static char *truth(void)
{
    char **names = raw_children(admin, GROUP);
    GString *line = g_string_new("=");

    for (int i = 0; names && names[i]; i++) {
        char *path = g_strconcat(GROUP "/", names[i], NULL);
        struct Stat stat;
        if (raw_exists(admin, path, &stat) == ZOK)
            g_string_append_printf(line, " %s:%" PRIu64, names[i], (uint64_t)stat.czxid);
        g_free(path);
    }
    g_strfreev(names);
    return g_string_free(line, FALSE);
}

static char *last_view(int w)
{
    char *log = log_of(w, workers[w].lives), *text, *at;
    char *line = NULL;

    if (g_file_get_contents(log, &text, NULL, NULL)) {
        at = g_strrstr(text, "\n=");
        if (at && strchr(at + 1, '\n'))
            line = g_strndup(at + 1, (gsize)(strchr(at + 1, '\n') - at - 1));
        g_free(text);
    }
    g_free(log);
    return line;
}

static bool is_settled(void)
{
    char *wanted = truth();
    bool settled = strstr(wanted, " a:") && strstr(wanted, " f:") && strstr(wanted, " twin:");

    for (int w = 0; w < WORKERS && settled; w++) {
        char *view = last_view(w);
        settled = view && strcmp(view, wanted) == 0;
        g_free(view);
    }
    g_free(wanted);
    return settled;
}

/* ---- the stories ---- */

struct seen {
    uint64_t token;
    long data;
};

struct belief {
    int64_t first, last;
};

static struct {
    int joined, left, changed, all, beliefs;
} told;

static void judge_member(GHashTable *present, GHashTable *highest, char **words, const char *log)
{
    const uint64_t token = g_ascii_strtoull(words[2], NULL, 10);
    const long data = words[3] ? atol(words[3]) : 0;
    struct seen *seen = g_hash_table_lookup(present, words[1]);
    uint64_t *top = g_hash_table_lookup(highest, words[1]);
    bool good;

    switch (*words[0]) {
    case '+':
        good = !seen && (!top || token > *top);
        seen = g_new(struct seen, 1);
        *seen = (struct seen){token, data};
        g_hash_table_insert(present, g_strdup(words[1]), seen);
        top = g_new(uint64_t, 1);
        *top = token;
        g_hash_table_insert(highest, g_strdup(words[1]), top);
        told.joined++;
        break;
    case '-':
        good = seen && seen->token == token;
        g_hash_table_remove(present, words[1]);
        told.left++;
        break;
    default:
        good = seen && seen->token == token && data >= seen->data;
        if (seen)
            seen->data = data;
        told.changed++;
        break;
    }
    if (!good)
        runner_fail(__FILE__, __LINE__, "%s: %s %s %s", log, words[0], words[1], words[2]);
}

static void judge_all(GHashTable *present, char **words, const char *log)
{
    guint count = g_strv_length(words) - 1;
    bool good = count == g_hash_table_size(present);

    for (guint i = 1; i <= count && good; i++) {
        char **parts = g_strsplit(words[i], ":", 2);
        const struct seen *seen = g_hash_table_lookup(present, parts[0]);
        good = seen && parts[1] && seen->token == g_ascii_strtoull(parts[1], NULL, 10);
        g_strfreev(parts);
    }
    told.all++;
    if (!good)
        runner_fail(__FILE__, __LINE__, "%s: all is not what was told", log);
}

static void note_belief(GTree *beliefs, char **words)
{
    uint64_t token = g_ascii_strtoull(words[1], NULL, 10);
    const int64_t at = g_ascii_strtoll(words[2], NULL, 10);
    struct belief *b = g_tree_lookup(beliefs, &token);

    if (!b) {
        b = g_new(struct belief, 1);
        *b = (struct belief){at, at};
        g_tree_insert(beliefs, g_memdup2(&token, sizeof token), b);
    }
    b->first = MIN(b->first, at);
    b->last = MAX(b->last, at);
    told.beliefs++;
}

static void judge_log(const char *log, GTree *beliefs)
{
    GHashTable *present = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GHashTable *highest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    char *text, **lines;

    REQUIRE(g_file_get_contents(log, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    /* What follows the last end of a line was cut off by a kill. */
    for (int i = 0; lines[i] && lines[i + 1]; i++) {
        char **words = g_strsplit(lines[i], " ", -1);
        const guint count = g_strv_length(words);
        if (count >= 3 && strchr("+-~", *words[0]) && !words[0][1])
            judge_member(present, highest, words, log);
        else if (strcmp(words[0], "=") == 0)
            judge_all(present, words, log);
        else if (count == 3 && strcmp(words[0], "believes") == 0)
            note_belief(beliefs, words);
        g_strfreev(words);
    }
    g_strfreev(lines);
    g_free(text);
    g_hash_table_unref(present);
    g_hash_table_unref(highest);
}

static int compare_tokens(gconstpointer a, gconstpointer b, gpointer data)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    (void)data;
    return x < y ? -1 : x > y;
}

/* In the order of tokens. */
static gboolean is_behind(gpointer token, gpointer value, gpointer data)
{
    const struct belief *b = value;
    int64_t *last = data;

    if (b->first <= *last)
        runner_fail(__FILE__, __LINE__, "two believe in one id: the second with token %" PRIu64,
                    *(const uint64_t *)token);
    *last = MAX(*last, b->last);
    return FALSE;
}

static void judge(void)
{
    for (int w = 0; w < WORKERS; w++) {
        GTree *beliefs = g_tree_new_full(compare_tokens, NULL, g_free, g_free);
        int64_t last = 0;
        for (int twin = w; twin < WORKERS; twin++) {
            if (strcmp(id_of(twin), id_of(w)) != 0)
                continue;
            for (int life = 1; life <= workers[twin].lives; life++) {
                char *log = log_of(twin, life);
                judge_log(log, beliefs);
                g_free(log);
            }
        }
        g_tree_foreach(beliefs, is_behind, &last);
        g_tree_unref(beliefs);
        if (strcmp(id_of(w), "twin") == 0)
            break; /* the other one, too */
    }
}

/* Whether more joins were told than those of the beginning, when each worker sees each. */
static bool has_joined_again(void)
{
    int joined = 0;

    for (int w = 0; w < WORKERS; w++)
        for (int life = 1; life <= workers[w].lives; life++) {
            char *log = log_of(w, life), *text = NULL;
            if (g_file_get_contents(log, &text, NULL, NULL))
                for (const char *at = text; (at = strstr(at, "+ ")); at++)
                    joined += at == text || at[-1] == '\n';
            g_free(text);
            g_free(log);
        }
    return joined > WORKERS * WORKERS;
}

TEST_CASE(under_faults)
{
    const struct zk_server_options options = {.tick_ms = TICK_MS, .nodes = campaign.nodes};
    int lives = 0;

    REQUIRE((server = zk_server_start(&options)) != NULL);
    REQUIRE((admin = raw_open(zk_server_connect(server))) != NULL);
    REQUIRE(scratch_make(&scratch, "groups"));
    for (int w = 0; w < WORKERS; w++) {
        REQUIRE((workers[w].proxy = proxy_start(zk_server_port(server, w % campaign.nodes))) !=
                NULL);
        start(w);
    }
    const int64_t end = g_get_monotonic_time() + campaign.seconds * G_USEC_PER_SEC;
    while (g_get_monotonic_time() < end || !has_joined_again()) {
        disturb(campaign.rand);
        progress_step();
        g_usleep((gulong)g_rand_int_range(campaign.rand, 20000, 250000));
    }
    for (int w = 0; w < WORKERS; w++)
        proxy_heal(workers[w].proxy);
    if (!CHECK(AWAIT(is_settled())))
        for (int w = 0; w < WORKERS; w++)
            printf("  %d sees %s, wanted %s\n", w, last_view(w), truth());
    for (int w = 0; w < WORKERS; w++) {
        process_end(workers[w].pid, SIGKILL);
        lives += workers[w].lives;
    }
    judge();
    CHECK(told.joined > WORKERS * WORKERS && told.beliefs > 0);
    printf("seed %u: %d lives, %d joins, %d leaves, %d changes and %d views told\n", campaign.seed,
           lives, told.joined, told.left, told.changed, told.all);
    for (int w = 0; w < WORKERS; w++)
        proxy_stop(workers[w].proxy);
    raw_close(admin);
    zk_server_stop(server);
    scratch_remove(&scratch);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--worker") == 0)
        return work(argv[2], argv[3]);
    return seeded_main(&campaign, argc, argv);
}
