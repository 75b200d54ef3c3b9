#include <stdio.h>
#include <string.h>
#include <zkl.h>

int main(void)
{
    if (strcmp(zkl_version(), ZKL_VERSION) == 0)
        puts("compiled and running with the same version");
    return 0;
}

/* It prints:
 * compiled and running with the same version */
