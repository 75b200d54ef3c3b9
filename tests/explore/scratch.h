/* Files for what a search need not have in memory. They have no name, so that nothing is left of
 * them. Whatever fails ends the program. */
#ifndef EXPLORE_SCRATCH_H
#define EXPLORE_SCRATCH_H

#include <stdint.h>
#include <stdio.h>

FILE *scratch_open(void); /* in $TMPDIR; fclose() it */

void scratch_write(FILE *file, const void *data, size_t size); /* behind what was written last */
void scratch_read(FILE *file, void *data, size_t size);
void scratch_seek(FILE *file, uint64_t at);
void scratch_empty(FILE *file);

#endif
