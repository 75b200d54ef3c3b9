/* What others wrote, as zkl_queue_read() shows it. The input is the directory: what the list is
 * answered, then for each child what reading it is answered, its name up to a NUL, the length of
 * its payload, and the payload. */
#include "targets.h"

#include "input.h"
#include "recipes/name.h"
#include "recipes/rule.h"
#include "runner.h"
#include "text.h"
#include "unit/fake_store.h"

#define DIRECTORY "/q"

enum { NODES_MAX = 32, ANSWERS = 3 };

struct node {
    enum store_rc rc;
    char *name, *data;
    int length; /* -1: null */
    bool seen;
    struct child contender;
};

static struct {
    zkl_session *session; /* one for all inputs of a run */
    enum store_rc rc;
    struct node nodes[NODES_MAX];
    char *names[NODES_MAX];
    int count;
} tree;

static enum store_rc take_rc(struct input *in)
{
    static const enum store_rc rcs[] = {STORE_NONODE, STORE_NOAUTH, STORE_BAD};
    unsigned byte = input_byte(in);

    return byte >= 0x10 && byte < 0x10 + ANSWERS ? rcs[byte - 0x10] : STORE_OK;
}

/* Names as a server can have them: no two alike, none with a slash, none empty. */
static bool is_new_name(const char *name)
{
    for (int i = 0; i < tree.count; i++)
        if (strcmp(tree.names[i], name) == 0)
            return false;
    return *name && !strchr(name, '/');
}

static void take_node(struct input *in)
{
    struct node *n = &tree.nodes[tree.count];
    enum store_rc rc = take_rc(in);
    char *name = input_until(in, '\0', NULL);
    size_t length = input_byte(in);
    bool null = length == 0xff;

    if (length > in->size)
        length = in->size;
    if (!is_new_name(name)) {
        g_free(name);
        return;
    }
    *n = (struct node){.rc = rc, .name = name, .length = null ? -1 : (int)length};
    n->data = null ? NULL : g_memdup2(in->data, length);
    name_parse(name, strlen(name), &n->contender);
    tree.names[tree.count++] = name;
    if (!null)
        input_skip(in, length);
}

static struct node *find_node(const char *name)
{
    for (int i = 0; i < tree.count; i++)
        if (strcmp(tree.nodes[i].name, name) == 0)
            return &tree.nodes[i];
    return NULL;
}

static bool answer(const struct store_request *request, struct store_reply *reply)
{
    struct node *n;

    if (!g_str_has_prefix(request->path, DIRECTORY))
        return false; /* the session's own */
    if (request->kind == STORE_LIST) {
        *reply = (struct store_reply){.rc = tree.rc, .names = tree.names, .count = tree.count};
        return true;
    }
    n = find_node(request->path + strlen(DIRECTORY "/"));
    *reply = (struct store_reply){.rc = n->rc,
                                  .data = n->data,
                                  .length = n->length,
                                  .czxid = (uint64_t)(n - tree.nodes) + 1,
                                  .ephemeral_owner = FAKE_SESSION_ID};
    return true;
}

/* Characters that show stay as they are, control characters become '?', and so on. */
static GString *cleaned(const struct node *n)
{
    GString *text = g_string_new(NULL);
    size_t length = n->length > 0 ? (size_t)n->length : 0, bytes;

    for (size_t i = 0; i < length; i += bytes) {
        int32_t c = text_character(n->data + i, length - i, &bytes);
        if (c <= 0)
            g_string_append(text, "\357\277\275"); /* U+FFFD, also for a NUL */
        else if (text_is_control(c))
            g_string_append_len(text, "??", (gssize)bytes);
        else
            g_string_append_len(text, n->data + i, (gssize)bytes);
    }
    return text;
}

static void check_contender(const zkl_contender *c, size_t i)
{
    struct node *n = find_node(c->node);

    if (!CHECK(n && !n->seen && n->rc == STORE_OK))
        return;
    GString *owner = cleaned(n);
    n->seen = true;
    CHECK_STR(c->owner, owner->str);
    CHECK(text_is_clean(c->owner, strlen(c->owner)));
    CHECK_INT(c->number, n->contender.number);
    CHECK_INT(c->token, n - tree.nodes + 1);
    CHECK_INT(c->session_id, FAKE_SESSION_ID);
    CHECK_INT(c->holds, i == 0);
    CHECK_INT(c->retains, n->contender.retains);
    g_string_free(owner, TRUE);
}

static void check_queue(const zkl_queue *q)
{
    for (size_t i = 0; i < zkl_queue_count(q); i++) {
        const zkl_contender *c = zkl_queue_get(q, i);
        check_contender(c, i);
        CHECK(i == 0 || zkl_queue_get(q, i - 1)->number <= c->number);
    }
    CHECK(!zkl_queue_get(q, zkl_queue_count(q)));
    for (int i = 0; i < tree.count; i++) {
        const struct node *n = &tree.nodes[i];
        CHECK_INT(n->seen, rule_waits(RULE_SELECTOR, n->contender.kind) && n->rc == STORE_OK);
    }
}

static int code_of(enum store_rc rc)
{
    static const int codes[] = {[STORE_NONODE] = ZKL_ENOENT, [STORE_NOAUTH] = ZKL_EACCES};

    return rc == STORE_BAD ? ZKL_EPROTO : codes[rc];
}

/* The first failure of a contender's; one that has left is none. */
static int expected_code(void)
{
    if (tree.rc != STORE_OK)
        return code_of(tree.rc);
    for (int i = 0; i < tree.count; i++) {
        const struct node *n = &tree.nodes[i];
        if (rule_waits(RULE_SELECTOR, n->contender.kind) && n->rc != STORE_OK &&
            n->rc != STORE_NONODE)
            return code_of(n->rc);
    }
    return 0;
}

static void clear(void)
{
    for (int i = 0; i < tree.count; i++) {
        g_free(tree.nodes[i].name);
        g_free(tree.nodes[i].data);
    }
    tree.count = 0;
}

static void close_session(void)
{
    zkl_session_close(tree.session);
    tree.session = NULL;
}

void fuzz_payloads(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    zkl_queue *q = NULL;

    fake_answer_at_once(answer);
    if (!tree.session) {
        runner_at_end(close_session);
        tree.session = fake_session();
    }
    tree.rc = take_rc(&in);
    while (in.size > 0 && tree.count < NODES_MAX)
        take_node(&in);
    int code = zkl_queue_read(&q, tree.session, DIRECTORY, NULL, ZKL_FOREVER);
    CHECK_INT(code, expected_code());
    if (code == 0)
        check_queue(q);
    zkl_queue_free(q);
    clear();
}
