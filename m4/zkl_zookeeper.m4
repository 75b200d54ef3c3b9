# ZKL_LIB_ZOOKEEPER: finds libzookeeper_mt and asks it for what zkl builds on.
#
# Debian ships no .pc file, and versions lie (distributors backport and cut), so every ability is
# a link test. Each has a cached variable, zkl_cv_zoo_*, which can be forced on configure's command
# line: that is how `./dev check` shows that each missing ability is told in one sentence.
#
# Sets ZOOKEEPER_CPPFLAGS, ZOOKEEPER_LIBS, and defines HAVE_ZOO_CONTAINER, HAVE_ZOO_TLS and
# HAVE_ZOO_SASL.

# ZKL_ZOO_ABILITY(NAME, CODE, IF-YES, IF-NO, PROLOGUE): does CODE, in main(), link?
AC_DEFUN([ZKL_ZOO_ABILITY], [
AC_CACHE_CHECK([libzookeeper_mt for $1], [zkl_cv_$1],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[$5
#include <zookeeper/zookeeper.h>]], [[$2]])],
         [zkl_cv_$1=yes], [zkl_cv_$1=no])])
AS_IF([test "$zkl_cv_$1" = yes], [$3], [$4])
])

# ZKL_ZOO_OPTIONAL(FUNCTION, MACRO, HEADER, LIBS, DEFINE, WHAT): a function that the client has if it
# was built with another library, and that its header declares only where MACRO is defined. We call
# that library, too.
AC_DEFUN([ZKL_ZOO_OPTIONAL], [
zkl_before_LIBS=$LIBS
LIBS="$4 $LIBS"
ZKL_ZOO_ABILITY([$1], [void *volatile p = (void *)$1; return p == (void *)0;],
    [AC_DEFINE([$5], [1], [Define to 1 if the client has $6.])
     ZOOKEEPER_LIBS="$ZOOKEEPER_LIBS $4"],
    [LIBS=$zkl_before_LIBS],
    [#define $2 1
#include <$3>])
])

# ZKL_ZOO_FUNCTION(NAME, WHY): a function we cannot do without.
AC_DEFUN([ZKL_ZOO_FUNCTION], [
ZKL_ZOO_ABILITY([$1], [return (void *)$1 == (void *)0;], [],
    [AC_MSG_ERROR([libzookeeper_mt has no $1(): $2 (ZooKeeper's C client 3.8 and Debian 12's libzookeeper-mt-dev have it)])])
])

AC_DEFUN([ZKL_LIB_ZOOKEEPER], [
AC_ARG_WITH([zookeeper],
    [AS_HELP_STRING([--with-zookeeper=PREFIX], [where ZooKeeper's C client is installed, if not in the compiler's own paths])],
    [], [with_zookeeper=])

# THREADED: <zookeeper.h> declares the multi-threaded library's calls only with it.
ZOOKEEPER_CPPFLAGS=-DTHREADED
ZOOKEEPER_LIBS=-lzookeeper_mt
AS_CASE([$with_zookeeper],
    [''|yes], [],
    [no], [AC_MSG_ERROR([zkl is made for ZooKeeper: --without-zookeeper makes no sense])],
    [ZOOKEEPER_CPPFLAGS="$ZOOKEEPER_CPPFLAGS -I$with_zookeeper/include"
     ZOOKEEPER_LIBS="-L$with_zookeeper/lib -Wl,-rpath,$with_zookeeper/lib $ZOOKEEPER_LIBS"])

zkl_save_CPPFLAGS=$CPPFLAGS zkl_save_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $ZOOKEEPER_CPPFLAGS"
LIBS="$ZOOKEEPER_LIBS -lpthread $LIBS"

ZKL_ZOO_ABILITY([zoo_state], [return zoo_state(0);], [],
    [AC_MSG_ERROR([ZooKeeper's C client (<zookeeper/zookeeper.h> and libzookeeper_mt) is missing; on Debian: apt install libzookeeper-mt-dev, elsewhere give --with-zookeeper=PREFIX])])
ZKL_ZOO_FUNCTION([zoo_set_servers_resolution_delay],
    [without it every turn of the client's I/O loop resolves the server names, and a failing resolver freezes a live session])
ZKL_ZOO_FUNCTION([zoo_acreate2],
    [the fencing token must come in the create's own reply, not from a second read])
ZKL_ZOO_FUNCTION([zookeeper_init2],
    [the client's log lines must go to the session's log callback, not to stderr])
ZKL_ZOO_FUNCTION([zoo_aremove_all_watches],
    [the watches of a waiter that gave up must go on the server too])
# Optional: without container mode the parents we make are persistent and stay behind.
ZKL_ZOO_ABILITY([zoo_container], [return ZOO_CONTAINER;],
    [AC_DEFINE([HAVE_ZOO_CONTAINER], [1], [Define to 1 if the client can make container nodes.])])

# Optional: connections by TLS, and credentials by SASL. Debian's client has neither.
ZKL_ZOO_OPTIONAL([zookeeper_init_ssl], [HAVE_OPENSSL_H], [openssl/ssl.h], [-lssl -lcrypto],
    [HAVE_ZOO_TLS], [TLS])
ZKL_ZOO_OPTIONAL([zookeeper_init_sasl], [HAVE_CYRUS_SASL_H], [sasl/sasl.h], [-lsasl2],
    [HAVE_ZOO_SASL], [SASL])
AM_CONDITIONAL([ZOO_TLS], [test "$zkl_cv_zookeeper_init_ssl" = yes])

CPPFLAGS=$zkl_save_CPPFLAGS LIBS=$zkl_save_LIBS
AC_SUBST([ZOOKEEPER_CPPFLAGS])
AC_SUBST([ZOOKEEPER_LIBS])
])
