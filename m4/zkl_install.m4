# ZKL_INSTALL_FOLDERS: where systemd, the shells and Python look for what others bring, below the prefix unless
# they are told elsewhere. Python's own folder below a prefix depends on its version and its distributor: this is
# Debian's for packages. `no' installs nothing there.

# ZKL_INSTALL_FOLDER(VARIABLE, DEFAULT, WHOSE)
AC_DEFUN([ZKL_INSTALL_FOLDER], [
AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR], [where $3 go, or no (default: $2)])], [], [with_$1='$2'])
AS_CASE([$with_$1], [yes], [$1='$2'], [no], [$1=], [$1=$with_$1])
AC_SUBST([$1])
])

AC_DEFUN([ZKL_INSTALL_FOLDERS], [
ZKL_INSTALL_FOLDER([systemdsystemunitdir], [${prefix}/lib/systemd/system], [units])
ZKL_INSTALL_FOLDER([bashcompletiondir], [${datarootdir}/bash-completion/completions], [completions for bash])
ZKL_INSTALL_FOLDER([zshcompletiondir], [${datarootdir}/zsh/site-functions], [completions for zsh])
ZKL_INSTALL_FOLDER([pythondir], [${prefix}/lib/python3/dist-packages], [modules of Python])
])
