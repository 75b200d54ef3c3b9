/* Creates that may be done late. Whether a create was done whose answer was lost is asked behind a
 * write, which its server's leader orders behind it; but a leader may let in what a server had kept
 * back from a connection before (docs/design/nodes.md). Such a node belongs to nobody, and others
 * wait for it as long as the session lives. So it is looked for when its contender has ended. All
 * with the monitor held. */
#ifndef LIB_LATE_CREATE_H
#define LIB_LATE_CREATE_H

struct locks;

/* Looks for nodes with the id in the directory, a GRefString, in longer and longer intervals, and
 * deletes them. Nobody contends with the id any more. */
void late_create_look(struct locks *all, char *directory, const char *id);

/* The incarnation has ended, and with it the nodes. */
void late_create_forget_all(struct locks *all);

#endif
