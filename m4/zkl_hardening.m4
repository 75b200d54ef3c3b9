# ZKL_HARDENING: what makes a mistake harder to exploit, each flag only if the tool takes it. To be called after
# ZKL_BUILD_OPTIONS: builds that look for mistakes themselves do without, since sanitizers do not see the
# calls that _FORTIFY_SOURCE makes. tests/lint/hardening.sh looks at what was built.
#
# Sets HARDEN_CFLAGS, HARDEN_LDFLAGS (of everything), PIE_CFLAGS and PIE_LDFLAGS (of programs).

# ZKL_HARDEN(VARIABLE, FLAGS, COMPILE-FLAGS): appends FLAGS to VARIABLE if a program links with them and
# COMPILE-FLAGS.
AC_DEFUN([ZKL_HARDEN], [
AS_VAR_PUSHDEF([cache], [zkl_cv_harden_$2])
AC_CACHE_CHECK([whether programs can be built with $2], [cache],
    [zkl_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS -Werror $3 $2"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[char text[8]; strcpy(text, "zkl"); return text[0] != 'z';]])],
         [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
     CFLAGS=$zkl_save_CFLAGS])
AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
AS_VAR_POPDEF([cache])
])

AC_DEFUN([ZKL_HARDENING], [
HARDEN_CFLAGS= HARDEN_LDFLAGS= PIE_CFLAGS= PIE_LDFLAGS=
AS_IF([test -z "$ZKL_INSTRUMENTED"], [
ZKL_HARDEN([HARDEN_CFLAGS], [-fstack-protector-strong])
# Whoever builds may want another level. Without optimization the C library warns.
AC_CACHE_CHECK([whether _FORTIFY_SOURCE is set already], [zkl_cv_fortified],
    [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#if _FORTIFY_SOURCE < 1
#error no
#endif]])],
         [zkl_cv_fortified=yes], [zkl_cv_fortified=no])])
AS_IF([test "$zkl_cv_fortified" = no], [ZKL_HARDEN([HARDEN_CFLAGS], [-D_FORTIFY_SOURCE=2])])
m4_foreach_w([zkl_flag], [-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack],
    [ZKL_HARDEN([HARDEN_LDFLAGS], m4_defn([zkl_flag]))])
# Position-independent code of a library is said later on the command line, and wins.
ZKL_HARDEN([PIE_LDFLAGS], [-pie], [-fPIE])
AS_IF([test -n "$PIE_LDFLAGS"], [PIE_CFLAGS=-fPIE])
])
AC_SUBST([HARDEN_CFLAGS])
AC_SUBST([HARDEN_LDFLAGS])
AC_SUBST([PIE_CFLAGS])
AC_SUBST([PIE_LDFLAGS])
])
