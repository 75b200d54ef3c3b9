# ZKL_COMPILER_FLAGS: our warnings (WARN_CFLAGS) and linker flags (ZKL_SO_LDFLAGS), each only if
# the tool takes it. -Werror goes last and never into CFLAGS, where it would spoil later checks.

# ZKL_CC_FLAG(FLAG): appends FLAG to WARN_CFLAGS if the compiler takes it without a word
# (clang only warns about an option it does not know, hence -Werror in the test).
AC_DEFUN([ZKL_CC_FLAG], [
AS_VAR_PUSHDEF([cache], [zkl_cv_cc_flag_$1])
AC_CACHE_CHECK([whether $CC takes $1], [cache],
    [zkl_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS -Werror $1"
     AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int zkl_unit(void);]])],
         [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
     CFLAGS=$zkl_save_CFLAGS])
AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([WARN_CFLAGS], [" $1"])])
AS_VAR_POPDEF([cache])
])

# ZKL_LD_FLAG(FLAG): the same for linking a shared library, into ZKL_SO_LDFLAGS.
AC_DEFUN([ZKL_LD_FLAG], [
AS_VAR_PUSHDEF([cache], [zkl_cv_ld_flag_$1])
AC_CACHE_CHECK([whether the linker takes $1], [cache],
    [zkl_save_LDFLAGS=$LDFLAGS
     LDFLAGS="$LDFLAGS -shared -fPIC $1"
     AC_LINK_IFELSE([AC_LANG_SOURCE([[int zkl_unit(void); int zkl_unit(void) { return 0; }]])],
         [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
     LDFLAGS=$zkl_save_LDFLAGS])
AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([ZKL_SO_LDFLAGS], [" $1"])])
AS_VAR_POPDEF([cache])
])

AC_DEFUN([ZKL_COMPILER_FLAGS], [
WARN_CFLAGS= ZKL_SO_LDFLAGS=
m4_foreach_w([zkl_flag],
    [-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
     -Wpointer-arith -Wundef -Wformat=2],
    [ZKL_CC_FLAG(m4_defn([zkl_flag]))])
AS_IF([test "$enable_werror" != no], [AS_VAR_APPEND([WARN_CFLAGS], [" -Werror"])])
# Our threads and thread-exit handlers outlive a dlclose(), so the code must stay mapped.
ZKL_LD_FLAG([-Wl,-z,nodelete])
AC_SUBST([WARN_CFLAGS])
AC_SUBST([ZKL_SO_LDFLAGS])
])
