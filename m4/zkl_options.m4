# ZKL_BUILD_OPTIONS: --enable-sanitizer, --enable-coverage, --enable-fuzzer, --enable-werror.
#
# Their flags go to INSTRUMENT_CFLAGS and INSTRUMENT_LDFLAGS, never to CFLAGS: configure's own
# link tests must find the libraries, not judge an instrumented program. ZKL_INSTRUMENTED names
# what was chosen, so that tests which look at plain objects can skip themselves.
AC_DEFUN([ZKL_BUILD_OPTIONS], [
AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST], [build with sanitizers: address, undefined, address,undefined, or thread])],
    [], [enable_sanitizer=no])
AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage], [count executed lines (gcov)])],
    [], [enable_coverage=no])
AC_ARG_ENABLE([fuzzer],
    [AS_HELP_STRING([--enable-fuzzer], [build tests/fuzz/fuzzer too (clang and its libFuzzer)])],
    [], [enable_fuzzer=no])
AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])],
    [], [enable_werror=no])

ZKL_INSTRUMENTED= INSTRUMENT_CFLAGS= INSTRUMENT_LDFLAGS=

AS_CASE([$enable_sanitizer],
    [no], [],
    [yes|'thread,'*|*',thread'],
        [AC_MSG_ERROR([--enable-sanitizer takes address, undefined, address,undefined or thread, not "$enable_sanitizer" (thread goes with no other)])],
    [AC_CACHE_CHECK([whether $CC links with -fsanitize=$enable_sanitizer],
        [AS_TR_SH([zkl_cv_sanitizer_$enable_sanitizer])],
        [zkl_save_CFLAGS=$CFLAGS
         CFLAGS="$CFLAGS -fsanitize=$enable_sanitizer"
         AC_LINK_IFELSE([AC_LANG_PROGRAM()],
             [AS_VAR_SET([AS_TR_SH([zkl_cv_sanitizer_$enable_sanitizer])], [yes])],
             [AS_VAR_SET([AS_TR_SH([zkl_cv_sanitizer_$enable_sanitizer])], [no])])
         CFLAGS=$zkl_save_CFLAGS])
     AS_VAR_IF([AS_TR_SH([zkl_cv_sanitizer_$enable_sanitizer])], [yes], [],
        [AC_MSG_ERROR([$CC cannot link with -fsanitize=$enable_sanitizer; on Debian gcc brings its sanitizers itself, clang needs: apt install libclang-rt-14-dev])])
     ZKL_INSTRUMENTED=$enable_sanitizer
     INSTRUMENT_CFLAGS="-fsanitize=$enable_sanitizer -fno-omit-frame-pointer"
     # Undefined behaviour must end the test that shows it, not only print.
     AS_CASE([$enable_sanitizer], [*undefined*], [AS_VAR_APPEND([INSTRUMENT_CFLAGS], [" -fno-sanitize-recover=all"])])
     INSTRUMENT_LDFLAGS="-fsanitize=$enable_sanitizer"])

# What an assertion would do when it fails is no branch of the program.
AS_IF([test "$enable_coverage" != no],
    [ZKL_INSTRUMENTED="$ZKL_INSTRUMENTED${ZKL_INSTRUMENTED:+,}coverage"
     AS_VAR_APPEND([INSTRUMENT_CFLAGS], [" -O0 -DNDEBUG -DG_DISABLE_ASSERT -fprofile-arcs -ftest-coverage -fprofile-update=atomic"])
     AS_VAR_APPEND([INSTRUMENT_LDFLAGS], [" -fprofile-arcs"])])

AS_IF([test "$enable_fuzzer" != no],
    [zkl_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [],
        [AC_MSG_ERROR([$CC has no libFuzzer; take CC=clang; on Debian: apt install clang libclang-rt-14-dev])])
     CFLAGS=$zkl_save_CFLAGS
     ZKL_INSTRUMENTED="$ZKL_INSTRUMENTED${ZKL_INSTRUMENTED:+,}fuzzer"
     AS_VAR_APPEND([INSTRUMENT_CFLAGS], [" -fsanitize=fuzzer-no-link"])])
AM_CONDITIONAL([FUZZER], [test "$enable_fuzzer" != no])

AC_SUBST([ZKL_INSTRUMENTED])
AC_SUBST([INSTRUMENT_CFLAGS])
AC_SUBST([INSTRUMENT_LDFLAGS])
])
