#include "json_check.h"

#include "text.h"

#include <string.h>

enum { DEPTH_MAX = 32 };

/* Each reader moves on over what it is named for, or answers false. */
struct reader {
    const char *at;
    unsigned depth, objects;
    GString *string; /* the last one, decoded */
};

static void blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool one(struct reader *r, char c)
{
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static bool word(struct reader *r, const char *text)
{
    if (!g_str_has_prefix(r->at, text))
        return false;
    r->at += strlen(text);
    return true;
}

static bool four_hex(struct reader *r, int32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        if (!g_ascii_isxdigit(*r->at))
            return false;
        *ret = *ret << 4 | g_ascii_xdigit_value(*r->at);
    }
    return true;
}

/* What follows \u; a surrogate only in a pair. */
static bool unicode(struct reader *r)
{
    int32_t c, low;

    if (!four_hex(r, &c) || (c >= 0xdc00 && c < 0xe000))
        return false;
    if (c >= 0xd800 && c < 0xdc00) {
        if (!word(r, "\\u") || !four_hex(r, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    g_string_append_unichar(r->string, (gunichar)c);
    return true;
}

static bool escape(struct reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *at = *r->at ? strchr(letters, *r->at) : NULL;

    if (one(r, 'u'))
        return unicode(r);
    if (!at)
        return false;
    r->at++;
    g_string_append_c(r->string, meant[at - letters]);
    return true;
}

static bool string(struct reader *r)
{
    size_t bytes;

    if (!one(r, '"'))
        return false;
    g_string_truncate(r->string, 0);
    while (*r->at != '"') {
        int32_t c = text_character(r->at, strlen(r->at), &bytes);
        if (one(r, '\\')) {
            if (!escape(r))
                return false;
        } else if (c < 0x20) {
            return false;
        } else {
            g_string_append_len(r->string, r->at, (gssize)bytes);
            r->at += bytes;
        }
    }
    return one(r, '"');
}

static bool digits(struct reader *r)
{
    size_t n = strspn(r->at, "0123456789");

    r->at += n;
    return n > 0;
}

static bool number(struct reader *r)
{
    one(r, '-');
    if (!one(r, '0') && !digits(r))
        return false;
    if (one(r, '.') && !digits(r))
        return false;
    if (one(r, 'e') || one(r, 'E')) {
        if (!one(r, '+'))
            one(r, '-');
        return digits(r);
    }
    return true;
}

static bool value(struct reader *r);

/* The members of an array or an object, up to its end. */
static bool members(struct reader *r, bool named, char end)
{
    blanks(r);
    if (one(r, end))
        return true;
    do {
        blanks(r);
        if (named && !string(r))
            return false;
        blanks(r);
        if (named && !one(r, ':'))
            return false;
        if (!value(r))
            return false;
    } while (one(r, ','));
    return one(r, end);
}

static bool unpadded(struct reader *r)
{
    if (*r->at == '"')
        return string(r);
    if (one(r, '['))
        return members(r, false, ']');
    if (one(r, '{')) {
        r->objects++;
        return members(r, true, '}');
    }
    return word(r, "true") || word(r, "false") || word(r, "null") || number(r);
}

static bool value(struct reader *r)
{
    bool good = r->depth++ < DEPTH_MAX;

    blanks(r);
    good = good && unpadded(r);
    blanks(r);
    r->depth--;
    return good;
}

bool json_check(const char *text, unsigned *ret_objects)
{
    struct reader r = {.at = text, .string = g_string_new(NULL)};
    bool good = value(&r) && !*r.at;

    g_string_free(r.string, TRUE);
    if (ret_objects)
        *ret_objects = r.objects;
    return good;
}

GString *json_check_string(const char *text)
{
    struct reader r = {.at = text, .string = g_string_new(NULL)};

    if (string(&r) && !*r.at)
        return r.string;
    g_string_free(r.string, TRUE);
    return NULL;
}
