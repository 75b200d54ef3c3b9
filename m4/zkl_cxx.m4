# ZKL_CXX: is there a C++17 compiler that goes with CC? The library is C and does not need one; zkl.hpp's
# tests and example do. Sets WARN_CXXFLAGS and the conditionals HAVE_CXX and, for ./dev, CXX_AT_ONCE.
AC_DEFUN([ZKL_CXX], [
AC_LANG_PUSH([C++])
zkl_save_CXXFLAGS=$CXXFLAGS zkl_save_LDFLAGS=$LDFLAGS
CXXFLAGS="$CXXFLAGS -std=c++17 $INSTRUMENT_CFLAGS" LDFLAGS="$LDFLAGS $INSTRUMENT_LDFLAGS"
AC_CACHE_CHECK([for a C++17 compiler], [zkl_cv_cxx],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string>
#include <string_view>]], [[std::string_view text("zkl"); return std::string(text).empty();]])],
         [zkl_cv_cxx=yes], [zkl_cv_cxx=no])])
WARN_CXXFLAGS='-Wall -Wextra -Wshadow -Wconversion'
CXXFLAGS="$CXXFLAGS -Werror $WARN_CXXFLAGS"
AC_CACHE_CHECK([whether $CXX takes $WARN_CXXFLAGS], [zkl_cv_cxx_warnings],
    [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int zkl_unit;]])],
         [zkl_cv_cxx_warnings=yes], [zkl_cv_cxx_warnings=no])])
AS_IF([test "$zkl_cv_cxx_warnings" = no], [WARN_CXXFLAGS=])
AS_IF([test "$enable_werror" != no], [AS_VAR_APPEND([WARN_CXXFLAGS], [" -Werror"])])
CXXFLAGS=$zkl_save_CXXFLAGS LDFLAGS=$zkl_save_LDFLAGS
AC_LANG_POP([C++])
AC_SUBST([WARN_CXXFLAGS])
AM_CONDITIONAL([HAVE_CXX], [test "$zkl_cv_cxx" = yes])
AM_CONDITIONAL([CXX_AT_ONCE], [test "$zkl_cxx_at_once" = yes])
])
