#include "processes.h"

#include "client.h"
#include "lib/member/process.h"

#include <stdio.h>

enum { FRESH = 1000, NEIGHBORS = 3 };

static const struct stage *playing;

static bool lives(unsigned machine, uint64_t pid)
{
    for (guint i = 0; i < playing->processes->len; i++) {
        const struct client *p = playing->processes->pdata[i];
        if (!p->dead && p->machine == machine && p->pid == pid)
            return true;
    }
    return false;
}

/* The lowest that is free, or one that nobody had. */
static uint64_t choose_pid(unsigned machine, unsigned number)
{
    uint64_t pid = 1;

    if (number % 3 == 0)
        return FRESH + number;
    while (lives(machine, pid))
        pid++;
    return pid;
}

void processes_add(struct client *p)
{
    playing = p->stage;
    p->started = p->stage->processes->len + 1;
    p->machine = host_name(p->host)[0] < 'A' + NEIGHBORS ? 0 : 1;
    p->pid = choose_pid(p->machine, (unsigned)p->started);
}

static const struct client *running(void)
{
    for (guint i = 0; i < playing->processes->len; i++) {
        const struct client *p = playing->processes->pdata[i];
        if (p->host == host_entered())
            return p;
    }
    g_error("nobody runs");
}

/* The linker puts these before the library's. */
void __wrap_process_self(struct process_id *ret);
void __wrap_process_self(struct process_id *ret)
{
    const struct client *p = running();

    *ret = (struct process_id){.space = 1, .pid = p->pid, .start = p->started};
    snprintf(ret->boot, sizeof ret->boot, "machine-%u", p->machine);
    g_strlcpy(ret->host, host_name(p->host), sizeof ret->host);
}

bool __wrap_process_is_dead(const struct process_id *other, const struct process_id *self);
bool __wrap_process_is_dead(const struct process_id *other, const struct process_id *self)
{
    return process_id_is_dead(other, self, lives(running()->machine, other->pid));
}
