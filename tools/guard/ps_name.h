/* How ps and pidof name this process: by the kernel's name for it and by its first argument. The
 * kernel shows the arguments where they were at the start, with no more room than they had. */
#ifndef ZKL_TOOLS_PS_NAME_H
#define ZKL_TOOLS_PS_NAME_H

/* Returns a copy of the arguments, valid until the next call: nobody else reads those which the
 * kernel shows. Called first of all; without it ps_name_set() gives no argument. */
char **ps_name_keep(int argc, char **argv);

/* Wipes what the kernel shows of a text within that copy. Any other text is left alone. */
void ps_name_wipe(const char *text);

/* Names this process. The other arguments follow, and are cut where there is no room. */
void ps_name_set(const char *name);

#endif
