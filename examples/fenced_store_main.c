/* fenced-store: the resource as a program. Under `zkl lock` the token is in the environment, so
 *
 *     zkl lock /jobs/nightly -c 'fenced-store /srv/reports put today "$(make-report)"'
 *
 * cannot overwrite the report of a later holder, however long it was stopped in between. */
#include "fenced_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_STALE = 1, EXIT_USAGE = 64, EXIT_ABSENT = 66, EXIT_IO = 74 };

static int usage(void)
{
    fputs("usage: fenced-store DIR put KEY [TOKEN[/TURN]] VALUE\n"
          "       fenced-store DIR get KEY [TOKEN[/TURN]]\n"
          "TOKEN is $ZKL_TOKEN if not given; get does without. TURN is that of a retained grant.\n",
          stderr);
    return EXIT_USAGE;
}

/* strtoull() would take signs and blanks. */
static int parse_number(const char *text, size_t length, uint64_t *ret)
{
    if (length == 0 || strspn(text, "0123456789") != length)
        return -EINVAL;
    errno = 0;
    *ret = strtoull(text, NULL, 10);
    return errno == 0 ? 0 : -EINVAL;
}

static int parse_fence(const char *text, struct fence *ret)
{
    const char *slash = text + strcspn(text, "/"), *turn = slash + 1;

    if (parse_number(text, (size_t)(slash - text), &ret->token) != 0 || ret->token == 0)
        return -EINVAL;
    return *slash ? parse_number(turn, strlen(turn), &ret->turn) : 0;
}

static int report(const char *store, const char *key, int err, const struct fence *fence,
                  const struct fence *highest)
{
    if (err == -ESTALE) {
        char stale[FENCE_TEXT_SIZE], seen[FENCE_TEXT_SIZE];
        fence_text(fence, stale);
        fence_text(highest, seen);
        fprintf(stderr,
                "fenced-store: %s: token %s is stale: token %s has been here; nothing was "
                "changed\n",
                key, stale, seen);
        return EXIT_STALE;
    }
    if (err == -EINVAL) {
        fprintf(stderr, "fenced-store: \"%s\" cannot be a key\n", key);
        return EXIT_USAGE;
    }
    fprintf(stderr, "fenced-store: %s/%s: %s\n", store, key, strerror(-err));
    return err == -ENOENT ? EXIT_ABSENT : EXIT_IO;
}

static int put(const char *store, const char *key, const struct fence *fence, const char *value)
{
    struct fence highest = {0, 0};
    int err = fenced_put(store, key, fence, value, &highest);

    return err ? report(store, key, err, fence, &highest) : 0;
}

static int get(const char *store, const char *key, const struct fence *fence)
{
    struct fence highest = {0, 0};
    char *value;
    int err = fenced_get(store, key, fence, &value, &highest);

    if (err)
        return report(store, key, err, fence, &highest);
    int wrote = puts(value);
    free(value);
    if (wrote >= 0 && fflush(stdout) == 0)
        return 0;
    perror("fenced-store");
    return EXIT_IO;
}

int main(int argc, char **argv)
{
    const char *given = getenv("ZKL_TOKEN");
    struct fence fence = {0, 0};

    if (argc < 4)
        return usage();
    int is_put = strcmp(argv[2], "put") == 0;
    int least = is_put ? 5 : 4; /* arguments without a token */
    if ((!is_put && strcmp(argv[2], "get") != 0) || argc < least || argc > least + 1)
        return usage();
    if (argc > least)
        given = argv[4];
    if ((is_put || given) && parse_fence(given ? given : "", &fence) != 0) {
        fprintf(stderr, "fenced-store: \"%s\" is no token\n", given ? given : "");
        return EXIT_USAGE;
    }
    return is_put ? put(argv[1], argv[3], &fence, argv[argc - 1]) : get(argv[1], argv[3], &fence);
}
