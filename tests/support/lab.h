/* Network namespaces on one bridge: hosts whose packets can get lost silently, as no proxy can
 * lose them. Needs root, unshare(1), nsenter(1) and ip(8). Everything goes with this process. */
#ifndef SUPPORT_LAB_H
#define SUPPORT_LAB_H

#include <stdbool.h>
#include <sys/types.h>

enum { LAB_HOSTS = 8 };

struct lab {
    int hosts;
    pid_t pid[LAB_HOSTS];        /* what keeps the namespace */
    char address[LAB_HOSTS][16]; /* reachable from each other and from here */
    char pid_text[LAB_HOSTS][16];
    const char *within[LAB_HOSTS][6]; /* the command that runs another in there */
};

/* Takes this process into a network of its own, before it has threads. Returns NULL, or why there
 * can be no lab. */
const char *lab_enter(void);

bool lab_start(struct lab *lab, int hosts);
void lab_stop(struct lab *lab);

/* Packets from one host to the other vanish, or find their way again. */
bool lab_cut(struct lab *lab, int from, int to);
bool lab_mend(struct lab *lab, int from, int to);

#endif
