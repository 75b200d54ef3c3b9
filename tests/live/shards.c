/* shards [--seconds N] [--seed N] [CASE]: eight hosts share one group, each behind a proxy of its
 * own. Half of them run "zkl shards", and half are programs (shard-program.c). They are killed,
 * stopped, cut off and started again, and so are the processes below them, in all combinations. At
 * no time two commands may run for one shard, and in the end its owner runs each. Then hosts leave
 * and come back one by one: a shard moves only if it has another owner then. And how long is a
 * shard without a host when one of three is killed, asked to end, stopped or cut off, or its
 * credentials are refused? That is printed: 10 rounds of each, and on three servers too, if there
 * are 60 seconds or more. The command is shard-command.c: the file of its shard is locked while it
 * runs, and while a program works on the shard. No program is stopped: nobody ends what a stopped
 * program does, and only its token protects. If ZKL_OTHER names zkl of another version, every
 * second of the commands begins as that, and each start of a host is of the other one. */
#include "recipes/shards.h"
#include "process.h"
#include "progress.h"
#include "proxy.h"
#include "raw.h"
#include "seeded.h"
#include "server.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST_SUITE(shards, .init = seeded_init);

/* ---- who serves ---- */

static char *file_of(const char *dir, int shard)
{
    return g_strdup_printf("%s/%d", dir, shard);
}

/* Whether a command runs for it. */
static bool is_served(const char *dir, int shard)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = file_of(dir, shard);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const bool served = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

    if (fd >= 0)
        close(fd);
    g_free(path);
    return served;
}

/* The hosts that have served it, in order; free it with g_ptr_array_unref(). */
static GPtrArray *served_by(const char *dir, int shard)
{
    GPtrArray *ids = g_ptr_array_new_with_free_func(g_free);
    char *path = file_of(dir, shard), *text;

    if (g_file_get_contents(path, &text, NULL, NULL)) {
        char **lines = g_strsplit(text, "\n", -1);
        for (int i = 0; lines[i] && lines[i + 1]; i++)
            g_ptr_array_add(ids, g_strndup(lines[i], strcspn(lines[i], " ")));
        g_strfreev(lines);
        g_free(text);
    }
    g_free(path);
    return ids;
}

/* How often one of so many shards has passed from one host to another; and how many commands have
 * begun. */
static int count_moves(const char *dir, int count, int *ret_begun)
{
    int moves = 0;

    *ret_begun = 0;
    for (int shard = 0; shard < count; shard++) {
        GPtrArray *ids = served_by(dir, shard);
        for (guint i = 1; i < ids->len; i++)
            moves += strcmp(ids->pdata[i - 1], ids->pdata[i]) != 0;
        *ret_begun += (int)ids->len;
        g_ptr_array_unref(ids);
    }
    return moves;
}

/* A line for each command that began while another one ran, or whose token had not risen; NULL if
 * there was none. Free it with g_free(). */
static char *overlaps(const char *dir)
{
    char *path = g_strdup_printf("%s/overlaps", dir), *text = NULL;

    g_file_get_contents(path, &text, NULL, NULL);
    g_free(path);
    if (text && *text == '\0')
        g_clear_pointer(&text, g_free); /* it is being written */
    return text;
}

enum { HOSTS = 8, FEW_HOSTS = 3, SHARDS = 64, TICK_MS = 200, TIMEOUT_MS = 8000 };
enum { PROGRAM_TIMEOUT_MS = 2000 };

#define PATH "/work/s"

/* ---- the hosts ---- */

static struct host {
    struct proxy *proxy;
    pid_t pid;
    char *id;
    bool ends; /* it was killed, or its zygote, without which it ends when it hears of that */
    bool is_program;
    int starts;
} hosts[HOSTS];

static int host_count = HOSTS;
static int timeout_ms = TIMEOUT_MS;

static struct zk_server *server;
static struct raw *admin;
static struct scratch scratch;
static struct seeded campaign = {.seconds = 15, .seed = 1};

static void start(struct host *h)
{
    const char *other = getenv("ZKL_OTHER");
    const char *zkl = other && h->starts++ % 2 != 0 ? other : getenv("ZKL");
    char *timeout = g_strdup_printf("%d", timeout_ms), *limit = g_strconcat(timeout, "ms", NULL);
    char *log = g_strdup_printf("%s/log.%s", scratch.path, h->id);
    char *count = g_strdup_printf("%d", SHARDS);
    const char *const command[] = {zkl ? zkl : "tools/zkl",
                                   "shards",
                                   "--connect",
                                   proxy_connect(h->proxy),
                                   "--session-timeout",
                                   limit,
                                   "--connect-timeout",
                                   "60",
                                   "--auth",
                                   "digest:host:secret",
                                   "--id",
                                   h->id,
                                   "--drain",
                                   "2",
                                   PATH,
                                   count,
                                   "--",
                                   SHARD_COMMAND,
                                   scratch.path,
                                   h->id,
                                   NULL};
    const char *const program[] = {
        SHARD_PROGRAM, proxy_connect(h->proxy), timeout, PATH, count, scratch.path, h->id, NULL};

    h->pid = process_spawn(&(struct process_options){
        .argv = h->is_program ? program : command, .log = log, .input = -1});
    g_free(timeout);
    g_free(limit);
    g_free(count);
    g_free(log);
    REQUIRE(h->pid > 0);
    h->ends = false;
}

/* The processes of a host, by what they are for. */
enum { SUPERVISOR = 1, ZYGOTE = 2, GUARDS = 4, CLOSING = 8, KINDS = 16 };

static int kind_of(const struct host *h, pid_t pid, pid_t parent, const char *name)
{
    if (pid == h->pid)
        return SUPERVISOR;
    if (strcmp(name, "zkl-closing") == 0)
        return CLOSING;
    return strcmp(name, "lock-guard") != 0 ? 0 : parent == h->pid ? ZYGOTE : GUARDS;
}

/* Whether that process, which is no command, was started as this host. */
static bool is_of(const struct host *h, pid_t pid)
{
    char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid), *text = NULL;
    gsize size = 0;
    bool found = false;

    if (g_file_get_contents(path, &text, &size, NULL))
        found = memmem(text, size, scratch.path, strlen(scratch.path)) &&
                memmem(text, size, h->id, strlen(h->id) + 1) &&
                !g_str_has_prefix(text, SHARD_COMMAND);
    g_free(text);
    g_free(path);
    return found;
}

/* Those of some kinds; all are found before the first is signalled. Returns which there were. A
 * dead host's zygote has another parent, and counts as a guard. */
static int signal_kinds(const struct host *h, int kinds, int signo)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(pid_t));
    GDir *dir = g_dir_open("/proc", 0, NULL);
    const char *entry;
    int seen = 0;

    while ((entry = g_dir_read_name(dir))) {
        const pid_t pid = (pid_t)atoi(entry);
        char *path = g_strdup_printf("/proc/%s/stat", entry), *text = NULL, name[32] = "";
        int parent;

        if (pid > 0 && g_file_get_contents(path, &text, NULL, NULL) &&
            sscanf(text, "%*d (%31[^)]) %*c %d", name, &parent) == 2 &&
            (kind_of(h, pid, parent, name) & kinds) != 0 && is_of(h, pid)) {
            g_array_append_val(found, pid);
            seen |= kind_of(h, pid, parent, name);
        }
        g_free(text);
        g_free(path);
    }
    g_dir_close(dir);
    for (guint i = 0; i < found->len; i++)
        kill(g_array_index(found, pid_t, i), signo);
    g_array_unref(found);
    return seen;
}

static void kill_kinds(struct host *h, int kinds)
{
    h->ends |= (signal_kinds(h, kinds, SIGKILL) & (SUPERVISOR | ZYGOTE)) != 0;
}

static void heal(struct host *h)
{
    proxy_heal(h->proxy);
    signal_kinds(h, KINDS - 1, SIGCONT);
    if (!process_gone(h->pid))
        return;
    process_end(h->pid, SIGKILL);
    start(h);
}

/* A host that was stopped hears only now that its zygote was killed, drains, and ends. */
static void heal_all(void)
{
    for (int i = 0; i < HOSTS; i++)
        heal(&hosts[i]);
    for (int i = 0; i < HOSTS; i++) {
        AWAIT(!hosts[i].ends || process_gone(hosts[i].pid));
        heal(&hosts[i]);
        REQUIRE(!hosts[i].ends);
    }
}

/* A host that is healed before it can hear of this. */
static void kill_zygote_of_stopped(void)
{
    int i = 0;

    while (i < HOSTS - 2 && (hosts[i].ends || hosts[i].is_program))
        i++;
    kill(hosts[i].pid, SIGSTOP);
    kill_kinds(&hosts[i], ZYGOTE);
}

static void disturb(GRand *rand)
{
    struct host *h = &hosts[g_rand_int_range(rand, 0, HOSTS)];

    switch (g_rand_int_range(rand, 0, 9)) {
    case 0:
    case 1:
        kill_kinds(h, g_rand_int_range(rand, 1, KINDS)); /* back with the next heal() */
        break;
    case 2:
        kill(h->pid, h->is_program ? SIGTERM : SIGSTOP);
        h->ends |= h->is_program;
        break;
    case 3:
        kill_kinds(h, GUARDS);
        break;
    case 4:
        signal_kinds(h, 1 << g_rand_int_range(rand, 1, 3), SIGSTOP);
        break;
    case 5:
        proxy_cut(h->proxy);
        break;
    case 6:
        proxy_freeze(h->proxy, PROXY_BOTH);
        break;
    default:
        heal(h);
        break;
    }
}

/* ---- who is to serve ---- */

static int owner(int shard, const struct host *but)
{
    struct shards_host said[HOSTS];
    struct shards_shard plan[SHARDS];

    for (int i = 0; i < host_count; i++)
        said[i] = (struct shards_host){
            .id = hosts[i].id, .weight = 1, .count = &hosts[i] == but ? 0 : SHARDS};
    shards_plan(said, (uint32_t)host_count, plan);
    return (int)plan[shard].owner;
}

static bool runs_shard(const struct host *h, int shard)
{
    GPtrArray *ids = served_by(scratch.path, shard);
    const bool was_last = ids->len > 0 && strcmp(ids->pdata[ids->len - 1], h->id) == 0;

    g_ptr_array_unref(ids);
    return was_last && is_served(scratch.path, shard);
}

/* Once it is seen nothing else is worth waiting for. */
static void judge(void)
{
    char *text = overlaps(scratch.path);
    const bool overlap = text != NULL;

    if (overlap)
        runner_fail(__FILE__, __LINE__, "overlaps:\n%s", text);
    g_free(text);
    REQUIRE(!overlap);
}

static void wait_settled(const struct host *but)
{
    int shard = 0;

    while (shard < SHARDS && !progress_is_late()) {
        judge();
        if (runs_shard(&hosts[owner(shard, but)], shard)) {
            shard++;
            progress_step();
        } else {
            g_usleep(50000);
        }
    }
    if (shard < SHARDS)
        runner_fail(__FILE__, __LINE__, "shard %d is not with %s, its owner", shard,
                    hosts[owner(shard, but)].id);
    REQUIRE(shard == SHARDS);
}

/* ---- the test ---- */

/* Which hosts are programs. */
enum kinds { COMMANDS, PROGRAMS, MIXED };

static void begin(int count, int servers, enum kinds kinds)
{
    const struct zk_server_options options = {.tick_ms = TICK_MS, .nodes = servers};

    host_count = count;
    REQUIRE((server = zk_server_start(&options)) != NULL);
    REQUIRE((admin = raw_open(zk_server_connect(server))) != NULL);
    REQUIRE(scratch_make(&scratch, "shards"));
    for (int i = 0; i < count; i++) {
        REQUIRE((hosts[i].proxy = proxy_start(zk_server_port(server, i % servers))) != NULL);
        hosts[i].id = g_strdup_printf("host-%d", i);
        hosts[i].is_program = kinds == PROGRAMS || (kinds == MIXED && i % 2 == 1);
        hosts[i].starts = i / 2; /* every second host may be a program */
        start(&hosts[i]);
    }
    wait_settled(NULL);
}

static void under_faults(void)
{
    const int64_t end = g_get_monotonic_time() + campaign.seconds * G_USEC_PER_SEC;
    int begun, moves;

    while (g_get_monotonic_time() < end) {
        disturb(campaign.rand);
        progress_step();
        g_usleep((gulong)g_rand_int_range(campaign.rand, 20000, 400000));
    }
    kill_zygote_of_stopped();
    heal_all();
    wait_settled(NULL);
    moves = count_moves(scratch.path, SHARDS, &begun);
    CHECK(moves > 0);
    printf("seed %u: %d commands, %d moves under faults\n", campaign.seed, begun, moves);
}

/* One host less, or one more: what has another owner by that moves, and nothing else. */
static void change(int *moves, int *wanted)
{
    const int changes = campaign.seconds < 60 ? 3 : HOSTS;
    int begun;

    *wanted = *moves = 0;
    const int before = count_moves(scratch.path, SHARDS, &begun);
    for (int i = 0; i < changes; i++) {
        process_end(hosts[i].pid, SIGTERM);
        wait_settled(&hosts[i]);
        start(&hosts[i]);
        wait_settled(NULL);
        for (int shard = 0; shard < SHARDS; shard++)
            *wanted += 2 * (owner(shard, NULL) != owner(shard, &hosts[i]));
    }
    *moves = count_moves(scratch.path, SHARDS, &begun) - before;
    printf("%d changes of %d hosts with %d shards: %.2f moves a change, 1/n are %.2f\n",
           2 * changes, HOSTS, SHARDS, *moves / (2.0 * changes), (double)SHARDS / (double)HOSTS);
}

static bool nothing_is_left(void)
{
    bool left = false;

    for (int shard = 0; shard < SHARDS && !left; shard++) {
        char *path = g_strdup_printf(PATH "/shards/%d", shard);
        char **names = raw_children(admin, path);
        left = is_served(scratch.path, shard) || (names && names[0]);
        g_strfreev(names);
        g_free(path);
    }
    return !left;
}

static void end(void)
{
    for (int i = 0; i < host_count; i++)
        kill(hosts[i].pid, SIGTERM);
    for (int i = 0; i < host_count; i++)
        process_end(hosts[i].pid, SIGTERM);
    CHECK(AWAIT(nothing_is_left()));
    judge();
    for (int i = 0; i < host_count; i++) {
        proxy_stop(hosts[i].proxy);
        g_free(hosts[i].id);
    }
    raw_close(admin);
    zk_server_stop(server);
    scratch_remove(&scratch);
}

TEST_CASE(eight_hosts)
{
    int moves, wanted;

    begin(HOSTS, 1, MIXED);
    under_faults();
    change(&moves, &wanted);
    CHECK_INT(moves, wanted);
    end();
}

/* ---- until its shards run elsewhere ---- */

static void kill_host(struct host *h)
{
    kill(h->pid, SIGKILL);
    h->ends = true;
}

static void ask_to_end(struct host *h)
{
    kill(h->pid, SIGTERM);
    h->ends = true;
}

static void stop_host(struct host *h)
{
    kill(h->pid, SIGSTOP);
}

static void cut_off(struct host *h)
{
    proxy_cut(h->proxy);
}

static void silence(struct host *h)
{
    proxy_freeze(h->proxy, PROXY_BOTH);
}

/* For longer than a session timeout, which ends it. */
static void refuse_host(struct host *h)
{
    proxy_refuse_credentials(h->proxy);
    h->ends = true;
}

/* Until it has given up all, and so for less than a session timeout. */
static void refuse_for_a_while(struct host *h)
{
    proxy_refuse_credentials(h->proxy);
    for (int shard = 0; shard < SHARDS; shard++)
        REQUIRE(AWAIT(!runs_shard(h, shard)));
    proxy_heal(h->proxy);
}

static void bring_back(struct host *h)
{
    AWAIT(!h->ends || process_gone(h->pid));
    heal(h);
    REQUIRE(!h->ends);
    wait_settled(NULL);
}

static const struct way {
    const char *what;
    void (*disturb)(struct host *h);
    bool stays; /* and is to have its shards again */
} ways[] = {{"killed", kill_host, false},
            {"asked to end", ask_to_end, false},
            {"stopped", stop_host, false},
            {"cut off", cut_off, false},
            {"silent", silence, false},
            {"refused", refuse_host, false},
            {"refused for a while", refuse_for_a_while, true}};

static void time_moves(const struct way *way, int rounds)
{
    double sum = 0, worst = 0;
    int begun;
    const int before = count_moves(scratch.path, SHARDS, &begun);

    for (int i = 0; i < rounds; i++) {
        struct host *h = &hosts[i % host_count];
        const int64_t from = g_get_monotonic_time();
        double s;
        way->disturb(h);
        wait_settled(way->stays ? NULL : h);
        s = (double)(g_get_monotonic_time() - from) / G_USEC_PER_SEC;
        sum += s;
        worst = MAX(worst, s);
        bring_back(h);
    }
    printf("%s: its shards run %s after %.2f s, at worst %.2f; %.1f moves a change\n", way->what,
           way->stays ? "again" : "elsewhere", sum / rounds, worst,
           (count_moves(scratch.path, SHARDS, &begun) - before) / (2.0 * rounds));
}

TEST_CASE(move_times)
{
    const bool all = campaign.seconds >= 60;
    const int rounds = all ? 10 : 1;

    for (int servers = 1; servers <= (all ? 3 : 1); servers += 2) {
        begin(FEW_HOSTS, servers, COMMANDS);
        printf("%d hosts, %d shards, servers: %d, session timeout %d ms\n", FEW_HOSTS, SHARDS,
               servers, TIMEOUT_MS);
        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++)
            time_moves(&ways[i], rounds);
        end();
    }
}

/* A program's session lives for its timeout when the program was killed: no guard ends it. */
TEST_CASE(program_move_times)
{
    static const struct way of_programs[] = {{"killed", kill_host, false},
                                             {"asked to end", ask_to_end, false},
                                             {"cut off", cut_off, false},
                                             {"silent", silence, false}};

    timeout_ms = PROGRAM_TIMEOUT_MS;
    begin(FEW_HOSTS, 1, PROGRAMS);
    printf("%d programs, %d shards, session timeout %d ms\n", FEW_HOSTS, SHARDS, timeout_ms);
    for (size_t i = 0; i < G_N_ELEMENTS(of_programs); i++)
        time_moves(&of_programs[i], campaign.seconds >= 60 ? 10 : 1);
    end();
    timeout_ms = TIMEOUT_MS;
}

int main(int argc, char **argv)
{
    return seeded_main(&campaign, argc, argv);
}
