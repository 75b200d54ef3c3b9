# ZKL_PROBES: --disable-probes. The static probes of lib/base/probes.h need only a header of SystemTap's.
# Sets PROBES_CPPFLAGS, of the folders that have probes; tests/lint/probes.sh looks at what was built.
AC_DEFUN([ZKL_PROBES], [
AC_ARG_ENABLE([probes],
    [AS_HELP_STRING([--disable-probes], [leave out the static probes for bpftrace and perf (default: if sys/sdt.h is there)])],
    [], [enable_probes=auto])
PROBES_CPPFLAGS=
AS_IF([test "$enable_probes" != no],
    [AC_CHECK_HEADER([sys/sdt.h], [PROBES_CPPFLAGS=-DZKL_PROBES],
        [AS_IF([test "$enable_probes" = yes],
            [AC_MSG_ERROR([sys/sdt.h is missing; on Debian: apt install systemtap-sdt-dev])])])])
AC_SUBST([PROBES_CPPFLAGS])
])
