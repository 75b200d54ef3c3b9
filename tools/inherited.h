/* Which descriptors we were started with: those and no others go on to the command. */
#ifndef ZKL_TOOLS_INHERITED_H
#define ZKL_TOOLS_INHERITED_H

/* Before anything else is opened. */
void inherited_note(void);
void inherited_free(void);

/* In the child, async-signal-safe: everything that is not inherited is closed at exec. */
void inherited_close_others(void);

#endif
