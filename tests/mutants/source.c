#include "source.h"

#include <glib.h>
#include <string.h>

/* The longest first. */
static const char *const signs[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>",
                                    "<=",  ">=",  "==",  "!=", "&&", "||", "+=", "-=",
                                    "*=",  "/=",  "%=",  "&=", "|=", "^=", NULL};

struct reader {
    const char *text;
    size_t at;
    int line;
    size_t line_begin;
    GArray *tokens;
};

static char now(const struct reader *r)
{
    return r->text[r->at];
}

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

static void advance(struct reader *r, size_t n)
{
    for (; n > 0 && now(r); n--) {
        if (r->text[r->at++] != '\n')
            continue;
        r->line++;
        r->line_begin = r->at;
    }
}

static void skip_to(struct reader *r, const char *end)
{
    const char *found = strstr(r->text + r->at, end);

    advance(r, found ? (size_t)(found - r->text) - r->at + strlen(end) : strlen(r->text + r->at));
}

/* A line continued by a backslash is one line. */
static void skip_directive(struct reader *r)
{
    while (now(r) && now(r) != '\n') {
        if (g_str_has_prefix(r->text + r->at, "/*"))
            skip_to(r, "*/");
        else
            advance(r, now(r) == '\\' ? 2 : 1);
    }
}

static bool is_first_of_line(const struct reader *r)
{
    size_t at = r->at;

    while (at > r->line_begin && g_ascii_isspace(r->text[at - 1]))
        at--;
    return at == r->line_begin;
}

/* True if there was anything that is no token. */
static bool skip(struct reader *r)
{
    if (g_ascii_isspace(now(r)))
        advance(r, 1);
    else if (g_str_has_prefix(r->text + r->at, "/*"))
        skip_to(r, "*/");
    else if (g_str_has_prefix(r->text + r->at, "//"))
        skip_to(r, "\n");
    else if (now(r) == '#' && is_first_of_line(r))
        skip_directive(r);
    else
        return false;
    return true;
}

static size_t quoted_length(const char *text)
{
    size_t n = 1;

    while (text[n] && text[n] != text[0])
        n += text[n] == '\\' && text[n + 1] ? 2 : 1;
    return text[n] ? n + 1 : n;
}

static size_t sign_length(const char *text)
{
    for (int i = 0; signs[i]; i++)
        if (g_str_has_prefix(text, signs[i]))
            return strlen(signs[i]);
    return 1;
}

static void read_token(struct reader *r)
{
    const char *text = r->text + r->at;
    struct token t = {.kind = TOKEN_SIGN, .begin = r->at, .line = r->line, .match = -1};
    size_t n = 0;

    t.column = (int)(r->at - r->line_begin) + 1;
    if (is_word(*text)) {
        t.kind = g_ascii_isdigit(*text) ? TOKEN_NUMBER : TOKEN_WORD;
        while (is_word(text[n]) || (t.kind == TOKEN_NUMBER && text[n] == '.'))
            n++;
    } else if (*text == '"' || *text == '\'') {
        t.kind = TOKEN_TEXT;
        n = quoted_length(text);
    } else {
        n = sign_length(text);
    }
    advance(r, n);
    t.end = r->at;
    g_array_append_val(r->tokens, t);
}

static void match_brackets(struct source *s)
{
    static const char opening[] = "([{", closing[] = ")]}";
    GArray *open = g_array_new(FALSE, FALSE, sizeof(int));

    for (int i = 0; i < s->count; i++) {
        char c = s->text[s->tokens[i].begin];
        const char *place = strchr(closing, c);
        if (s->tokens[i].kind != TOKEN_SIGN)
            continue;
        if (strchr(opening, c)) {
            g_array_append_val(open, i);
        } else if (place && open->len > 0) {
            int other = g_array_index(open, int, open->len - 1);
            if (s->text[s->tokens[other].begin] != opening[place - closing])
                continue;
            g_array_set_size(open, open->len - 1);
            s->tokens[i].match = other;
            s->tokens[other].match = i;
        }
    }
    g_array_unref(open);
}

struct source *source_new(const char *text)
{
    struct source *s = g_new0(struct source, 1);
    struct reader r = {.text = text, .line = 1};

    r.tokens = g_array_new(FALSE, FALSE, sizeof(struct token));
    while (now(&r))
        if (!skip(&r))
            read_token(&r);
    s->text = g_strdup(text);
    s->count = (int)r.tokens->len;
    s->tokens = (struct token *)(void *)g_array_free(r.tokens, FALSE);
    match_brackets(s);
    return s;
}

void source_free(struct source *s)
{
    g_free(s->text);
    g_free(s->tokens);
    g_free(s);
}

bool source_is(const struct source *s, int i, const char *text)
{
    if (i < 0 || i >= s->count)
        return false;
    const struct token *t = &s->tokens[i];
    return t->end - t->begin == strlen(text) && memcmp(s->text + t->begin, text, strlen(text)) == 0;
}

bool source_is_any(const struct source *s, int i, const char *const *texts)
{
    for (; *texts; texts++)
        if (source_is(s, i, *texts))
            return true;
    return false;
}

bool source_is_kind(const struct source *s, int i, enum token_kind kind)
{
    return i >= 0 && i < s->count && s->tokens[i].kind == kind;
}

char *squeeze(const char *text, size_t length)
{
    GString *words = g_string_new(NULL);

    for (size_t i = 0; i < length; i++) {
        if (!g_ascii_isspace(text[i]))
            g_string_append_c(words, text[i]);
        else if (words->len > 0 && words->str[words->len - 1] != ' ')
            g_string_append_c(words, ' ');
    }
    if (words->len > 0 && words->str[words->len - 1] == ' ')
        g_string_truncate(words, words->len - 1);
    return g_string_free(words, FALSE);
}

char *source_words(const struct source *s, int first, int last)
{
    size_t begin = s->tokens[first].begin;

    return squeeze(s->text + begin, s->tokens[last].end - begin);
}
