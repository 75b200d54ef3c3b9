#include "fenced_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The only one, used under the lock of the folder: what a crash leaves is overwritten. */
#define TEMPORARY ".new"

/* "fenced 1 FENCE LENGTH\n" and the value; LENGTH -1 for a key with a fence and no value. */
enum { HEADER_MAX = 80 };

struct entry {
    struct fence fence;
    char *value; /* NULL: none */
};

void fence_text(const struct fence *fence, char text[FENCE_TEXT_SIZE])
{
    int length = snprintf(text, FENCE_TEXT_SIZE, "%" PRIu64, fence->token);

    if (fence->turn > 0)
        snprintf(text + length, (size_t)(FENCE_TEXT_SIZE - length), "/%" PRIu64, fence->turn);
}

static bool is_lower(const struct fence *a, const struct fence *b)
{
    return a->token < b->token || (a->token == b->token && a->turn < b->turn);
}

static int put_header(char header[HEADER_MAX], const struct fence *fence, int64_t length)
{
    char text[FENCE_TEXT_SIZE];

    fence_text(fence, text);
    return snprintf(header, HEADER_MAX, "fenced 1 %s %" PRId64 "\n", text, length);
}

static bool parse_header(const char *text, struct fence *fence, int64_t *length)
{
    return sscanf(text, "fenced 1 %" SCNu64 " %" SCNd64, &fence->token, length) == 2 ||
           sscanf(text, "fenced 1 %" SCNu64 "/%" SCNu64 " %" SCNd64, &fence->token, &fence->turn,
                  length) == 3;
}

static bool is_key(const char *key)
{
    size_t length = strlen(key);

    return length > 0 && length <= FENCED_KEY_MAX && key[0] != '.' &&
           strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

/* The folder's own lock makes compare and replace one step. It ends with the descriptor, so also
 * with the process. */
static int open_locked(const char *store)
{
    int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            int err = -errno;
            close(fd);
            return err;
        }
    }
    return fd;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

static int read_all(int fd, char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = read(fd, bytes, length);
        if (n == 0)
            return -EBADMSG; /* shorter than it was a moment ago */
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

/* The whole file as text, for free() whatever it returns. */
static int slurp(int folder, const char *name, char **text, size_t *length)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err = 0;

    *text = NULL;
    *length = 0;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) != 0)
        err = -errno;
    else if (!S_ISREG(st.st_mode))
        err = -EBADMSG;
    else if (!(*text = calloc(1, (size_t)st.st_size + 1)))
        err = -ENOMEM;
    if (!err) {
        *length = (size_t)st.st_size;
        err = read_all(fd, *text, *length);
    }
    close(fd);
    return err;
}

/* A key that nobody has used yet is an entry with fence 0 and no value. */
static int load(int folder, const char *key, struct entry *ret)
{
    char *text, header[HEADER_MAX];
    int64_t said = -1;
    size_t length;
    int err = slurp(folder, key, &text, &length);

    *ret = (struct entry){.value = NULL};
    if (!err && !parse_header(text, &ret->fence, &said))
        err = -EBADMSG;
    /* To the letter as we write it, or it was not we who wrote it. */
    size_t head = (size_t)put_header(header, &ret->fence, said);
    size_t body = said < 0 ? 0 : (size_t)said;
    if (!err && (said < -1 || length != head + body || memcmp(text, header, head) != 0 ||
                 strlen(text) != length))
        err = -EBADMSG;
    if (!err && said >= 0 && !(ret->value = strdup(text + head)))
        err = -ENOMEM;
    free(text);
    return err == -ENOENT ? 0 : err;
}

static int write_temporary(int folder, const struct entry *e)
{
    char header[HEADER_MAX];
    size_t length = e->value ? strlen(e->value) : 0;
    int head = put_header(header, &e->fence, e->value ? (int64_t)length : -1);
    int fd = openat(folder, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return -errno;
    int err = write_all(fd, header, (size_t)head);
    if (!err && length > 0)
        err = write_all(fd, e->value, length);
    if (!err && fsync(fd) != 0)
        err = -errno;
    if (close(fd) != 0 && !err)
        err = -errno;
    return err;
}

/* The rename is the step: before it the old entry stands, after it the new one. The first fsync
 * must come before it, or a crash of the machine could leave the name with half an entry. */
static int store_entry(int folder, const char *key, const struct entry *e)
{
    int err = write_temporary(folder, e);

    if (!err && renameat(folder, TEMPORARY, folder, key) != 0)
        err = -errno;
    if (err) {
        unlinkat(folder, TEMPORARY, 0);
        return err;
    }
    return fsync(folder) == 0 ? 0 : -errno;
}

int fenced_put(const char *store, const char *key, const struct fence *fence, const char *value,
               struct fence *highest)
{
    struct entry old;

    if (!is_key(key))
        return -EINVAL;
    int folder = open_locked(store);
    if (folder < 0)
        return folder;
    int err = load(folder, key, &old);
    if (!err) {
        /* const is lost for the time of the call only. */
        const struct entry e = {*fence, (char *)(uintptr_t)value};
        *highest = old.fence;
        if (is_lower(fence, &old.fence))
            err = -ESTALE;
        else
            err = store_entry(folder, key, &e);
        if (!err)
            *highest = *fence;
    }
    free(old.value);
    close(folder);
    return err;
}

int fenced_get(const char *store, const char *key, const struct fence *fence, char **value,
               struct fence *highest)
{
    struct entry e;

    *value = NULL;
    if (!is_key(key))
        return -EINVAL;
    int folder = open_locked(store);
    if (folder < 0)
        return folder;
    int err = load(folder, key, &e);
    if (!err && fence->token > 0 && is_lower(fence, &e.fence)) {
        err = -ESTALE;
    } else if (!err && is_lower(&e.fence, fence)) {
        e.fence = *fence;
        err = store_entry(folder, key, &e);
    }
    *highest = e.fence;
    close(folder);
    if (!err && !e.value)
        err = -ENOENT;
    if (err)
        free(e.value);
    else
        *value = e.value;
    return err;
}
