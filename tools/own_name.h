/* Under which name ps and kills by name find this process. */
#ifndef ZKL_TOOLS_OWN_NAME_H
#define ZKL_TOOLS_OWN_NAME_H

/* Makes the arguments of main() copies, which last as long as the process: where they stood is room
 * for a new name. */
void own_name_make_room(char **argv);

/* name is shown in place of the program, about in place of its arguments; as far as there is room.
 */
void own_name_take(const char *name, const char *about);

#endif
