/* The command's arguments, and what it writes. The input: words, one a line, up to a NUL; how the
 * library answers; what a file holds, up to a NUL; then the contenders of zkl ls. The verbs are
 * played: their options are parsed, but nothing is locked, and nobody elected. */
#include "command.h"

#include <glib.h>
#include <string.h>
#include <zkl.h>

#include "capture.h"
#include "input.h"
#include "runner.h"
#include "targets.h"
#include "text.h"
#include "tools/connect.h"
#include "tools/contenders.h"
#include "tools/elect_options.h"
#include "tools/member_options.h"
#include "tools/once_options.h"
#include "tools/shards_options.h"
#include "tools/tool.h"

/* ---- a libzkl that answers what the input says: no server, no thread, no file ---- */

enum { FAKE_CONTENDERS = 16 };

static struct fake_library {
    int open_code, read_code; /* 0, or how it fails */
    char *file;               /* what every file holds; NULL: none can be read */
    zkl_contender contenders[FAKE_CONTENDERS];
    size_t count;
    /* What the command has done. */
    unsigned opened, closed, read, freed;
} fake_library;

static zkl_error last;

/* Never looked into. */
static char fake_session, fake_queue;

static int answer(int code, const char *subject)
{
    last = (zkl_error){.code = code};
    g_strlcpy(last.path, subject, sizeof last.path);
    if (code)
        g_snprintf(last.text, sizeof last.text, "%s: refused", subject);
    return code;
}

int zkl_session_open(zkl_session **ret, const char *connect, const zkl_session_options *options,
                     zkl_error *reterr)
{
    int code = answer(fake_library.open_code, connect);

    (void)options;
    if (code && reterr)
        *reterr = last;
    if (code == 0) {
        fake_library.opened++;
        *ret = (zkl_session *)&fake_session;
    }
    return code;
}

int zkl_session_wait(zkl_session *s, int64_t timeout_ms)
{
    (void)s, (void)timeout_ms;
    return 0;
}

void zkl_session_close(zkl_session *s)
{
    fake_library.closed += s != NULL;
}

int zkl_queue_read(zkl_queue **ret, zkl_session *s, const char *path,
                   const zkl_queue_options *options, int64_t timeout_ms)
{
    (void)s, (void)options, (void)timeout_ms;
    const int code = answer(fake_library.read_code, path);

    fake_library.read++;
    if (code == 0)
        *ret = (zkl_queue *)&fake_queue;
    return code;
}

size_t zkl_queue_count(const zkl_queue *q)
{
    (void)q;
    return fake_library.count;
}

const zkl_contender *zkl_queue_get(const zkl_queue *q, size_t i)
{
    (void)q;
    return &fake_library.contenders[i];
}

void zkl_queue_free(zkl_queue *q)
{
    (void)q;
    fake_library.freed++;
}

int zkl_last_error(zkl_error *ret)
{
    if (ret)
        *ret = last;
    return last.code;
}

gboolean g_file_get_contents(const char *name, char **contents, gsize *length, GError **error)
{
    if (!fake_library.file) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no file %s", name);
        return FALSE;
    }
    *contents = g_strdup(fake_library.file);
    if (length)
        *length = strlen(*contents);
    return TRUE;
}

/* ---- the command ---- */

/* What the last zkl lock was told, if it took it. */
static struct {
    bool accepted;
    struct lock_options o;
} locked;

/* What the texts of struct lock_options are in. */
static GPtrArray *argvs;

static void forget(void)
{
    if (locked.accepted)
        lock_options_free(&locked.o);
    locked.accepted = false;
}

static bool is_word_or_its_end(char **words, const char *text)
{
    for (; *words; words++)
        if (g_str_has_suffix(*words, text))
            return true;
    return false;
}

static void check_ranges(const struct lock_options *o)
{
    CHECK(o->hold.path && o->hold.argv && o->hold.argv[0]);
    CHECK(o->timeout_ms >= 0);
    CHECK(o->hold.grace_ms >= 0 || o->hold.grace_ms == GRACE_DEFAULT);
    CHECK(o->conflict_status >= 0 && o->conflict_status <= 255);
    CHECK(o->hold.status_fd > 0 || o->hold.status_fd == STATUS_FD_NONE);
    CHECK(o->hold.on_suspect >= ON_SUSPECT_IGNORE && o->hold.on_suspect <= ON_SUSPECT_TERM);
    CHECK(!o->hold.on_lost || g_strv_length(o->hold.on_lost) == 3);
    CHECK_INT(o->timeout_ms, o->wait_ms);
}

/* All but the command. */
static char *describe(const struct lock_options *o)
{
    return g_strdup_printf("%s %" G_GINT64_FORMAT " %d %s %" G_GINT64_FORMAT " %d %d %d %s",
                           o->hold.path, o->timeout_ms, o->conflict_status, o->name ? o->name : "-",
                           o->hold.grace_ms, (int)o->parents, (int)o->hold.on_suspect,
                           o->hold.status_fd, o->hold.on_lost ? o->hold.on_lost[2] : "-");
}

static int play_lock(struct settings *settings, int argc, char **argv)
{
    zkl_session *session = NULL;

    forget();
    int status = lock_options_parse(&locked.o, settings, argc, argv);
    locked.accepted = status == GO_ON;
    if (!locked.accepted) {
        lock_options_free(&locked.o);
        return status;
    }
    status = session_open(settings, &session);
    zkl_session_close(session);
    return status == GO_ON ? STATUS_OK : status;
}

/* What zkl elect has of its own; its command is taken as zkl lock's is. */
static void check_candidate(const struct elect_options *o)
{
    check_ranges(&o->run);
    CHECK(o->run.hold.candidate[0] && g_utf8_validate(o->run.hold.candidate, -1, NULL));
    CHECK(o->election.priority >= 0 && o->election.priority <= 999);
    CHECK(o->once ? !o->election.yield : o->run.timeout_ms == ZKL_FOREVER);
}

static int play_elect(struct settings *settings, int argc, char **argv)
{
    struct elect_options o;
    zkl_session *session = NULL;
    int status = elect_options_parse(&o, settings, argc, argv);

    forget();
    if (status == GO_ON && o.mode == ELECT_RUN)
        check_candidate(&o);
    if (status == GO_ON)
        status = session_open(settings, &session);
    zkl_session_close(session);
    lock_options_free(&o.run);
    return status == GO_ON ? STATUS_OK : status;
}

static int play_member(struct settings *settings, int argc, char **argv)
{
    struct member_options o;
    int status = member_options_parse(&o, settings, argc, argv);

    forget();
    if (status == GO_ON)
        CHECK(o.run.hold.path && (o.mode != MEMBER_RUN) == !o.run.hold.argv);
    lock_options_free(&o.run);
    return status == GO_ON ? STATUS_OK : status;
}

static int play_once(struct settings *settings, int argc, char **argv)
{
    struct once_options o;
    int status = once_options_parse(&o, settings, argc, argv);

    forget();
    if (status == GO_ON) {
        CHECK(o.run.hold.path && o.period_ms >= 0 && o.slack_ms >= 0 && o.late_ms >= 0);
        CHECK(!o.calendar || o.period_ms == 0);
        CHECK((o.status || o.reset) == !o.run.hold.argv);
    }
    lock_options_free(&o.run);
    return status == GO_ON ? STATUS_OK : status;
}

static int play_shards(struct settings *settings, int argc, char **argv)
{
    struct shards_options o;
    int status = shards_options_parse(&o, settings, argc, argv);

    forget();
    if (status == GO_ON) {
        check_ranges(&o.run);
        CHECK(o.count > 0 && o.id && o.drain_ms >= 0 && o.run.timeout_ms == ZKL_FOREVER);
    }
    lock_options_free(&o.run);
    return status == GO_ON ? STATUS_OK : status;
}

/* Its options are parsed; what it shows is contenders as zkl ls has them. */
static int play_watch(struct settings *settings, int argc, char **argv)
{
    const GOptionEntry none[] = {G_OPTION_ENTRY_NULL};
    const char *path;
    int status = options_parse_path(settings, none, "", argc, argv, &path, NULL, NULL);

    forget();
    return status == GO_ON ? STATUS_OK : status;
}

static int play_ls(struct settings *settings, int argc, char **argv)
{
    gboolean json = FALSE;
    const GOptionEntry entries[] = {{"json", 0, 0, G_OPTION_ARG_NONE, &json, "", NULL},
                                    G_OPTION_ENTRY_NULL};
    g_autoptr(zkl_session) session = NULL;
    g_autoptr(zkl_queue) q = NULL;
    const char *path;
    int status = options_parse_path(settings, entries, "", argc, argv, &path, NULL, NULL);

    forget();
    if (status == GO_ON)
        status = session_open(settings, &session);
    if (status == GO_ON)
        status = contenders_read(&q, session, path, settings->connect_timeout_ms);
    if (q && json)
        contenders_print_json(q);
    else if (q)
        contenders_print(q, path);
    return status;
}

/* zkl limit, and what is like it: another operand behind PATH, and never without PATH. */
static int play_limit(struct settings *settings, int argc, char **argv)
{
    const GOptionEntry none[] = {G_OPTION_ENTRY_NULL};
    const char *path = NULL, *second = NULL;
    int status = options_parse_path(settings, none, "", argc, argv, &path, "N", &second);

    CHECK(path || !second);
    CHECK(path || status != GO_ON);
    forget();
    return status == GO_ON ? STATUS_OK : status;
}

const struct verb verbs[] = {
    {"elect", play_elect, ""},   {"limit", play_limit, ""},   {"lock", play_lock, ""},
    {"ls", play_ls, ""},         {"member", play_member, ""}, {"once", play_once, ""},
    {"shards", play_shards, ""}, {"watch", play_watch, ""},   {NULL, NULL, NULL},
};

static void check_said(const GString *err, int status)
{
    char **lines = g_strsplit(err->str, "\n", -1);
    guint count = g_strv_length(lines);

    CHECK_INT(strlen(err->str), err->len);
    if (err->len > 0 && CHECK_STR(lines[count - 1], ""))
        CHECK_INT(count, 2);
    CHECK(status == STATUS_OK || err->len > 0);
    for (char **line = lines; err->len > 0 && line[1]; line++) {
        size_t length = strlen(*line), bytes;
        CHECK(g_str_has_prefix(*line, "zkl: "));
        CHECK(text_is_clean(*line, length));
        for (size_t i = 0; i < length; i += bytes)
            CHECK(!text_is_trick(text_character(*line + i, length - i, &bytes)));
    }
    g_strfreev(lines);
}

/* A table has a line for each contender, and one for the heads. */
static void check_written(const GString *out, int status)
{
    unsigned lines = 0, objects;

    CHECK_INT(strlen(out->str), out->len);
    if (status != STATUS_OK)
        CHECK_STR(out->str, "");
    if (out->str[0] == '[' && CHECK(json_check(out->str, &objects)))
        CHECK_INT(objects, fake_library.count);
    for (const char *at = out->str; *at; at++)
        lines += *at == '\n';
    if (g_str_has_prefix(out->str, "STATE"))
        CHECK_INT(lines, fake_library.count + 1);
    char **parts = g_strsplit(out->str, "\n", -1);
    for (char **part = parts; *part; part++)
        CHECK(text_is_clean(*part, strlen(*part)));
    g_strfreev(parts);
}

static int run(GPtrArray *words)
{
    static const int known[] = {STATUS_OK,          STATUS_CONFLICT, STATUS_USAGE,
                                STATUS_UNAVAILABLE, STATUS_INTERNAL, STATUS_NOPERM};
    GString *out, *err;
    bool is_known = false;

    char **argv = g_strdupv((char **)words->pdata); /* secrets are wiped in it */

    capture_begin();
    int status = command_main((int)words->len - 1, argv);
    capture_end(&out, &err);
    g_ptr_array_add(argvs, argv);
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        is_known |= status == known[i];
    if (!CHECK(is_known))
        runner_fail(__FILE__, __LINE__, "status %d", status);
    check_said(err, status);
    check_written(out, status);
    CHECK_INT(fake_library.opened, fake_library.closed);
    CHECK_INT(fake_library.read - fake_library.freed, fake_library.read_code && fake_library.read);
    g_string_free(out, TRUE);
    g_string_free(err, TRUE);
    fake_library.opened = fake_library.closed = fake_library.read = fake_library.freed = 0;
    return status;
}

/* Whether words, which end with NULL, end with the command. */
static bool is_tail(const GPtrArray *words, char **command)
{
    guint count = g_strv_length(command), given = words->len - 1;
    bool tail = count <= given;

    for (guint i = 0; tail && i < count; i++)
        tail = strcmp(command[i], g_ptr_array_index(words, given - count + i)) == 0;
    return tail;
}

/* One more word is the command's own, whatever it looks like. */
static void check_one_more(GPtrArray *words, const struct lock_options *before)
{
    g_ptr_array_insert(words, (int)words->len - 1, g_strdup("-n"));
    run(words);
    if (!CHECK(locked.accepted))
        return;
    char *now = describe(&locked.o), *then = describe(before);
    CHECK_STR(now, then);
    CHECK_INT(g_strv_length(locked.o.hold.argv), g_strv_length(before->hold.argv) + 1);
    g_free(now);
    g_free(then);
}

/* The command is the end of the line, untouched, or one string for a shell. */
static void check_locked(GPtrArray *words)
{
    struct lock_options o = locked.o;
    bool shell = g_strv_length(o.hold.argv) == 3 && strcmp(o.hold.argv[1], "-c") == 0 &&
                 is_word_or_its_end((char **)words->pdata, o.hold.argv[2]);

    locked.accepted = false;
    check_ranges(&o);
    CHECK(shell || is_tail(words, o.hold.argv));
    if (!shell)
        check_one_more(words, &o);
    lock_options_free(&o);
}

static GPtrArray *take_words(struct input *in)
{
    GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
    char *text = input_until(in, '\0', NULL);
    char **lines = g_strsplit(text, "\n", -1);

    g_ptr_array_add(words, g_strdup("zkl"));
    for (char **line = lines; *line; line++)
        g_ptr_array_add(words, *line);
    g_ptr_array_add(words, NULL);
    g_free(lines);
    g_free(text);
    return words;
}

static int take_code(struct input *in)
{
    int code = -(int)input_byte(in);

    return code < ZKL_EUNKNOWN ? 0 : code;
}

static void take_contender(struct input *in)
{
    zkl_contender *c = &fake_library.contenders[fake_library.count];

    *c = (zkl_contender){.holds = fake_library.count == 0};
    c->owner = input_until(in, '\0', NULL);
    c->node = input_until(in, '\0', NULL);
    c->number = (int32_t)input_number(in, 4);
    c->token = input_number(in, 8);
    c->session_id = (int64_t)c->token;
    c->kind = (zkl_kind)(c->token % 9); /* also those there are not */
    c->client = (zkl_client)(c->token / 9 % 8);
    c->retains = (int)(c->token / 72 % 2);
    c->ctime_ms = (int64_t)input_number(in, 6);
    fake_library.count++;
}

static void clear(void)
{
    for (size_t i = 0; i < fake_library.count; i++) {
        g_free((char *)(uintptr_t)fake_library.contenders[i].owner);
        g_free((char *)(uintptr_t)fake_library.contenders[i].node);
    }
    g_free(fake_library.file);
    fake_library = (struct fake_library){0};
    forget();
}

void fuzz_command(const uint8_t *data, size_t size)
{
    struct input in = {data, size};

    argvs = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    GPtrArray *words = take_words(&in);

    fake_library.open_code = take_code(&in);
    fake_library.read_code = take_code(&in);
    if (input_byte(&in))
        fake_library.file = input_until(&in, '\0', NULL);
    while (in.size > 0 && fake_library.count < FAKE_CONTENDERS)
        take_contender(&in);
    run(words);
    if (locked.accepted)
        check_locked(words);
    g_ptr_array_unref(words);
    clear();
    g_ptr_array_unref(argvs);
}
