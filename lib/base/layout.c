#include "layout.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "recipes/name.h"

/* Fills bytes from the kernel. fork() copies GLib's generator, so two workers of one parent would
 * draw the same ids, and take each other's nodes for their own. */
static void read_random(void *bytes, size_t size)
{
    if (getentropy(bytes, size) != 0)
        g_error("zkl: no random bytes: %s", g_strerror(errno));
}

void (*layout_random)(void *bytes, size_t size) = read_random;

enum { VERSION_AT = 14, MARK_AT = 15, VARIANT_AT = 19 };

char *layout_new_id(enum child_kind kind, bool retains)
{
    guint16 r[8];
    char *uuid = g_strdup("01234567-0123-0123-0123-0123456789ab"), *to = uuid;

    layout_random(r, sizeof r);
    for (unsigned digit = 0; digit < 4 * G_N_ELEMENTS(r); digit++) {
        to += *to == '-';
        *to++ = "0123456789abcdef"[r[digit / 4] >> (12 - digit % 4 * 4) & 15];
    }
    uuid[VERSION_AT] = NAME_UUID_VERSION;
    uuid[VARIANT_AT] = "89ab"[r[4] >> 14];
    /* An id that is marked by chance loses the mark. */
    if (retains)
        memcpy(uuid + MARK_AT, NAME_UUID_RETAINS, strlen(NAME_UUID_RETAINS));
    else if (memcmp(uuid + MARK_AT, NAME_UUID_MARKED, strlen(NAME_UUID_MARKED)) == 0)
        uuid[MARK_AT] = '0';
    if (kind == CHILD_KAZOO) {
        to = uuid;
        for (const char *from = uuid; *from; from++) {
            if (*from != '-')
                *to++ = *from;
        }
        *to = '\0';
    }
    return uuid;
}

char *layout_name(enum child_kind kind, const char *id, int rank)
{
    const char *word = name_word(kind);

    if (kind == CHILD_KAZOO)
        return g_strconcat(id, word, NULL);
    if (kind == CHILD_LEASE && rank < 0)
        return g_strdup_printf("_c_%s-s%d-%s", id, -rank, word);
    if (kind == CHILD_LEASE && rank > 1)
        return g_strdup_printf("_c_%s-n%d-%s", id, rank, word);
    if (kind != CHILD_LEASE && rank > 0)
        return g_strdup_printf("_c_%s-p%03d-%s", id, rank, word);
    return g_strconcat("_c_", id, "-", word, NULL);
}

/* Returns what a child of that kind is, in the words of an error. */
static const char *layout_words_for(enum child_kind kind)
{
    static const char *const texts[CHILD_KINDS] = {
        [CHILD_FOREIGN] = "not a contender of any known layout",
        [CHILD_LOCK] = "of a lock or of a selector's election",
        [CHILD_LATCH] = "of a latch's election",
        [CHILD_APACHE] = "of a lock of Apache's WriteLock or zoo_lock.c",
        [CHILD_RUBY] = "of a lock of zk-ruby",
        [CHILD_READ] = "of a read-write lock",
        [CHILD_WRITE] = "of a read-write lock",
        [CHILD_LEASE] = "of a semaphore",
        [CHILD_LATER] = "of a later version of zkl",
        [CHILD_KAZOO] = "of a lock or of a selector's election",
        [CHILD_KAZOO_READ] = "of a read-write lock",
        [CHILD_RUBY_SHARED] = "of a lock of zk-ruby",
    };

    return texts[kind];
}

char *layout_incompatible(const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    return g_strdup_printf("\"%.100s\" is %s", name, layout_words_for(child.kind));
}

char *layout_refusal(const char *name)
{
    const char *advice = ": use one of that kind, or another path";
    struct child child;

    name_parse(name, strlen(name), &child);
    if (child.kind == CHILD_FOREIGN || child.kind == CHILD_LATER)
        advice = "";
    else if (child.kind == CHILD_RUBY || child.kind == CHILD_RUBY_SHARED)
        advice = ": use another path"; /* zkl has no such locks */
    return g_strdup_printf("\"%.100s\" is %s%s", name, layout_words_for(child.kind), advice);
}
