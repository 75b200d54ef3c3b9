#include "process_id.h"

#include <string.h>

#define WORDS "zkl process 1"

/* ---- writing ---- */

struct writer {
    char *at;
};

static void put(struct writer *w, char c)
{
    *w->at++ = c;
    *w->at = '\0';
}

static void put_number(struct writer *w, uint64_t number)
{
    if (number >= 10)
        put_number(w, number / 10);
    put(w, (char)('0' + number % 10));
}

/* One piece, which nothing in it ends. */
static void put_word(struct writer *w, const char *word)
{
    put(w, ' ');
    if (!*word)
        put(w, '-');
    for (; *word; word++)
        put(w, *word > ' ' && *word < 0x7f ? *word : '?');
}

size_t process_id_write(const struct process_id *p, char *buf)
{
    struct writer w = {buf + strlen(WORDS)};
    const uint64_t numbers[] = {p->space, p->pid, p->start};

    memcpy(buf, WORDS, strlen(WORDS));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        put(&w, ' ');
        put_number(&w, numbers[i]);
    }
    put_word(&w, p->boot);
    put_word(&w, p->host);
    return (size_t)(w.at - buf);
}

/* ---- reading ---- */

struct reader {
    const char *at, *end;
};

static bool take(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool take_number(struct reader *r, uint64_t *ret)
{
    const char *from;

    if (!take(r, ' '))
        return false;
    *ret = 0;
    for (from = r->at; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (*ret > (UINT64_MAX - digit) / 10)
            return false;
        *ret = *ret * 10 + digit;
    }
    return r->at > from;
}

static bool take_word(struct reader *r, char *ret, size_t max)
{
    size_t length = 0;

    if (!take(r, ' '))
        return false;
    for (; r->at<r->end && * r->at> ' ' && *r->at < 0x7f; r->at++) {
        if (length == max)
            return false;
        ret[length++] = *r->at;
    }
    ret[length] = '\0';
    if (strcmp(ret, "-") == 0)
        ret[0] = '\0';
    return length > 0;
}

bool process_id_read(const char *text, size_t length, struct process_id *ret)
{
    struct reader r = {text, text + length};
    struct process_id p = {.pid = 0};

    for (const char *word = WORDS; *word; word++)
        if (!take(&r, *word))
            return false;
    if (!take_number(&r, &p.space) || !take_number(&r, &p.pid) || !take_number(&r, &p.start) ||
        !take_word(&r, p.boot, PROCESS_ID_BOOT) || !take_word(&r, p.host, PROCESS_ID_HOST))
        return false;
    if (r.at != r.end || p.pid == 0 || p.pid > INT32_MAX)
        return false;
    *ret = p;
    return true;
}

bool process_id_is_dead(const struct process_id *other, const struct process_id *self, bool exists)
{
    if (other->boot[0] == '\0' || strcmp(other->boot, self->boot) != 0 ||
        other->space != self->space)
        return false;
    return other->pid == self->pid ? other->start != self->start : !exists;
}
