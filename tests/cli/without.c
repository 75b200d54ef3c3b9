/* without CALL... -- COMMAND ARG...: runs COMMAND as on a kernel that does not have these calls:
 * each is refused with ENOSYS. TCP_RTO_MAX_MS stands for that option of setsockopt(). Exits with 77
 * if the kernel takes no filter of calls. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    USAGE = 64,
    UNABLE = 77,
    NOT_FOUND = 127,
    MISSING_MOST = 8,
    RTO_MAX_OPTION = 44, /* TCP_RTO_MAX_MS of Linux 6.15 */
    LOW_HALF = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0
};

static const struct call {
    const char *name;
    long number;
} calls[] = {
    {"clone3", SYS_clone3},         {"close_range", SYS_close_range},
    {"pidfd_open", SYS_pidfd_open}, {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"pwritev2", SYS_pwritev2},     {"TCP_RTO_MAX_MS", SYS_setsockopt},
};

static const struct call *call_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

/* Whether the kernel does not have the call now. It is asked for nothing that it could do. */
static bool call_is_missing(const struct call *call)
{
    if (call->number == SYS_setsockopt)
        return setsockopt(-1, IPPROTO_TCP, RTO_MAX_OPTION, NULL, 0) < 0 && errno == ENOPROTOOPT;
    return syscall(call->number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 && errno == ENOSYS;
}

struct filter {
    struct sock_filter steps[2 * MISSING_MOST + 8];
    unsigned short count;
};

static void filter_add(struct filter *f, unsigned short code, unsigned char if_true,
                       unsigned char if_false, unsigned value)
{
    f->steps[f->count++] = (struct sock_filter){code, if_true, if_false, value};
}

/* After the number of the call was loaded. */
static void filter_refuse(struct filter *f, const struct call *call)
{
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)call->number);
    filter_add(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS);
}

/* The last one, since it loads other things. */
static void filter_refuse_option(struct filter *f)
{
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, SYS_setsockopt);
    filter_add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0,
               offsetof(struct seccomp_data, args[1]) + LOW_HALF);
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, IPPROTO_TCP);
    filter_add(f, BPF_LD | BPF_W | BPF_ABS, 0, 0,
               offsetof(struct seccomp_data, args[2]) + LOW_HALF);
    filter_add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, RTO_MAX_OPTION);
    filter_add(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOPROTOOPT);
}

/* Refuses the calls from now on, for this process and all that it starts. */
static bool calls_take_away(const struct call *const *missing, size_t count)
{
    struct filter f = {.count = 0};
    bool option = false, ok = true;

    filter_add(&f, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++)
        if (missing[i]->number == SYS_setsockopt)
            option = true;
        else
            filter_refuse(&f, missing[i]);
    if (option)
        filter_refuse_option(&f);
    filter_add(&f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {f.count, f.steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        ok = ok && call_is_missing(missing[i]);
    return ok;
}

int main(int argc, char **argv)
{
    const struct call *missing[MISSING_MOST];
    size_t count = 0;
    int i = 1;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++, count++)
        if (count == MISSING_MOST || !(missing[count] = call_by_name(argv[i])))
            break;
    if (count == 0 || i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fputs("usage: without CALL... -- COMMAND ARG...\n", stderr);
        return USAGE;
    }
    if (!calls_take_away(missing, count))
        return UNABLE;
    execvp(argv[i + 1], argv + i + 1);
    return NOT_FOUND;
}
