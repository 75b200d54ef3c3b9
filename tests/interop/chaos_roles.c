#include "chaos_roles.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER "00000000000000000000 00000000000000000000\n" /* and the token, or the reverse */
#define FOR_EVER "1000000"                                   /* seconds */

const char *kind_name(enum kind kind)
{
    static const char *const names[KINDS] = {"curator", "kazoo-curator", "zkl-retain", "careful"};

    return names[kind];
}

/* ---- starting ---- */

static void add_careful(const struct roles *c, const struct slot *s, GPtrArray *argv)
{
    g_ptr_array_add(argv, g_file_read_link("/proc/self/exe", NULL));
    g_ptr_array_add(argv, g_strdup("worker"));
    g_ptr_array_add(argv, g_strdup(proxy_connect(s->way)));
    g_ptr_array_add(argv, g_strdup(CHAOS_PATH));
    g_ptr_array_add(argv, g_strdup(c->plain.number));
    g_ptr_array_add(argv, g_strdup(c->plain.history));
    g_ptr_array_add(argv, g_strdup(s->hold));
    g_ptr_array_add(argv, g_strdup_printf("%d", SESSION_MS));
    g_ptr_array_add(argv, g_strdup(c->o.careful ? "0" : "1"));
}

static void add_other(const struct roles *c, const struct slot *s, GPtrArray *argv)
{
    char **words = g_strsplit(c->o.command[s->kind], " ", 0);

    for (char **word = words; *word; word++)
        g_ptr_array_add(argv, *word);
    g_free(words);
    g_ptr_array_add(argv, g_strdup(s->way ? proxy_connect(s->way) : zk_server_connect(c->server)));
    g_ptr_array_add(argv, g_strdup("locks"));
}

static bool order(const struct slot *s, const char *text)
{
    ssize_t size = (ssize_t)strlen(text);

    return write(s->control, text, (size_t)size) == size;
}

static bool begin(const struct roles *c, const struct slot *s)
{
    if (s->kind == CAREFUL)
        return true;
    char *text = g_strdup_printf("contend %s %s %s %s " FOR_EVER " 0 %d\n", CHAOS_PATH,
                                 kind_name(s->kind), c->reg.number, c->reg.history, c->o.fenced);
    bool ok = order(s, text);
    g_free(text);
    return ok;
}

static bool spawn(struct roles *c, struct slot *s)
{
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    struct process_options po = {.log = s->log};
    int ends[2];

    (s->kind == CAREFUL ? add_careful : add_other)(c, s, argv);
    g_ptr_array_add(argv, NULL);
    po.argv = (const char *const *)argv->pdata;
    s->pid = 0;
    s->last = (act){0};
    s->stopped = false;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        po.input = ends[0];
        s->pid = process_spawn(&po);
        s->control = ends[1];
        close(ends[0]);
    }
    if (s->pid <= 0)
        fprintf(stderr, "cannot start %s: %s\n", (const char *)argv->pdata[0], g_strerror(errno));
    g_ptr_array_free(argv, TRUE);
    return s->pid > 0 && begin(c, s);
}

static bool make_record(const struct roles *c, struct record *r, const char *name)
{
    r->number = g_strdup_printf("%s/%s", c->scratch.path, name);
    r->history = g_strdup_printf("%s/%s.history", c->scratch.path, name);
    r->acts = g_array_new(FALSE, TRUE, sizeof(act));
    return g_file_set_contents(r->number, NUMBER, -1, NULL) &&
           g_file_set_contents(r->history, "", 0, NULL);
}

static bool start_slot(struct roles *c, int i)
{
    struct slot *s = &c->slot[i];

    *s = (struct slot){.kind = (enum kind)(i / EACH), .control = -1};
    s->log = g_strdup_printf("%s/%s-%d.log", c->scratch.path, kind_name(s->kind), i % EACH);
    s->hold = g_strdup_printf("%s/hold-%d", c->scratch.path, i);
    if (s->kind == ZKL || s->kind == CAREFUL) {
        s->way = proxy_start(zk_server_port(c->server, 0));
        if (!s->way)
            return false;
    }
    return spawn(c, s);
}

bool roles_start(struct roles *c, const struct roles_options *o)
{
    *c = (struct roles){.o = *o, .reg_fd = -1};
    c->killed = g_array_new(FALSE, TRUE, sizeof(int));
    bool ok = scratch_make(&c->scratch, "zkl-chaos") && make_record(c, &c->reg, "register") &&
              make_record(c, &c->plain, "plain");
    if (ok)
        c->reg_fd = open(c->reg.number, O_RDONLY | O_CLOEXEC);
    if (ok)
        c->server = zk_server_start(NULL);
    ok = ok && c->reg_fd >= 0 && c->server;
    for (int i = 0; ok && i < SLOTS; i++)
        ok = start_slot(c, i);
    return ok;
}

static void free_record(struct record *r)
{
    g_free(r->number);
    g_free(r->history);
    if (r->acts)
        g_array_free(r->acts, TRUE);
}

void roles_end(struct roles *c)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (s->pid > 0)
            process_end(s->pid, SIGKILL, 0);
        if (s->control > 0)
            close(s->control);
        if (s->way)
            proxy_stop(s->way);
        g_free(s->log);
        g_free(s->hold);
    }
    zk_server_stop(c->server);
    if (c->reg_fd >= 0)
        close(c->reg_fd);
    free_record(&c->reg);
    free_record(&c->plain);
    g_array_free(c->killed, TRUE);
    if (c->scratch.path)
        scratch_remove(&c->scratch);
}

/* ---- what they record ---- */

static void take(struct roles *c, struct record *r, const char *line)
{
    act a;

    if (!act_parse(&a, line)) {
        fprintf(stderr, "in %s: %s\n", r->history, line);
        r->garbled = true;
        return;
    }
    g_array_append_val(r->acts, a);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (s->pid != a.pid)
            continue;
        s->last = a;
        if (a.word == ACT_END)
            s->served = a.ns;
    }
}

static void follow(struct roles *c, struct record *r)
{
    char buf[16384], *line = buf, *end;
    int fd = open(r->history, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, sizeof buf - 1, r->read);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    buf[n] = '\0';
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take(c, r, line);
    }
    r->read += line - buf;
    if (n == (ssize_t)sizeof buf - 1)
        follow(c, r);
}

void roles_follow(struct roles *c)
{
    follow(c, &c->reg);
    follow(c, &c->plain);
}

bool slot_holds(const struct slot *s)
{
    return s->last.pid != 0 && (s->last.word == ACT_BEGIN || s->last.word == ACT_READ);
}

/* ---- what is done to them ---- */

static bool replace(struct roles *c, struct slot *s)
{
    close(s->control);
    s->control = -1;
    roles_follow(c); /* its last words are still its own */
    return spawn(c, s);
}

bool roles_kill(struct roles *c, struct slot *s)
{
    int pid = s->pid;

    process_end(s->pid, SIGKILL, 0);
    g_array_append_val(c->killed, pid);
    return replace(c, s);
}

static bool has_register(const struct roles *c, const struct slot *s)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(c->reg_fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid == s->pid;
}

bool roles_stop(struct roles *c, struct slot *s)
{
    process_pause(s->pid);
    roles_follow(c);
    if (has_register(c, s) || (s->last.pid != 0 && s->last.word == ACT_GO)) {
        process_resume(s->pid);
        return false;
    }
    s->stopped = true;
    return true;
}

void roles_let_on(struct slot *s)
{
    process_resume(s->pid);
    s->stopped = false;
}

void slot_hold(const struct slot *s, bool on)
{
    if (s->kind != CAREFUL)
        return;
    if (on)
        g_file_set_contents(s->hold, "", 0, NULL);
    else
        g_unlink(s->hold);
}

bool roles_look_after(struct roles *c)
{
    bool ok = true;

    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &c->slot[i];

        if (waitpid(s->pid, NULL, WNOHANG) != s->pid)
            continue;
        fprintf(stderr, "%s ended by itself\n", s->log);
        s->broken++;
        ok = replace(c, s) && ok;
    }
    return ok;
}
