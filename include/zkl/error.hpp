/* C++: error codes, and the exception that has one. */
#ifndef ZKL_ERROR_HPP
#define ZKL_ERROR_HPP

#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <zkl/error.h>

namespace zkl
{

/* The codes of zkl/error.h. */
enum class errc {
    invalid_argument = ZKL_EINVAL,
    no_resources = ZKL_ENOMEM,
    timed_out = ZKL_ETIMEDOUT,
    busy = ZKL_EBUSY,
    canceled = ZKL_ECANCELED,
    not_owner = ZKL_EPERM,
    lost = ZKL_ELOST,
    closed = ZKL_ECLOSED,
    deadlock = ZKL_EDEADLK,
    forked_child = ZKL_ECHILD,
    unknown_host = ZKL_EHOST,
    unreachable = ZKL_EUNREACHABLE,
    no_permission = ZKL_EACCES,
    bad_credentials = ZKL_EAUTH,
    ephemeral_parent = ZKL_EPATH,
    overflow = ZKL_EOVERFLOW,
    limit = ZKL_ELIMIT,
    not_found = ZKL_ENOENT,
    buffer_too_small = ZKL_ERANGE,
    protocol = ZKL_EPROTO,
    exists = ZKL_EEXIST,
    version = ZKL_EVERSION,
    not_empty = ZKL_ENOTEMPTY,
    unknown_outcome = ZKL_EUNKNOWN,
    layout = ZKL_ELAYOUT,
    overdue = ZKL_EOVERDUE
};

} // namespace zkl

namespace std
{
template <> struct is_error_code_enum<zkl::errc> : true_type {
};
} // namespace std

namespace zkl
{

namespace detail
{

/* The condition of the standard that a code is an instance of; none: the code is its own. */
inline std::errc condition(errc code) noexcept
{
    switch (code) {
    case errc::invalid_argument:
        return std::errc::invalid_argument;
    case errc::no_resources:
        return std::errc::resource_unavailable_try_again;
    case errc::timed_out:
        return std::errc::timed_out;
    case errc::busy:
        return std::errc::device_or_resource_busy;
    case errc::canceled:
        return std::errc::operation_canceled;
    case errc::not_owner:
        return std::errc::operation_not_permitted;
    case errc::deadlock:
        return std::errc::resource_deadlock_would_occur;
    case errc::unreachable:
    case errc::unknown_host:
        return std::errc::host_unreachable;
    case errc::no_permission:
    case errc::bad_credentials:
        return std::errc::permission_denied;
    case errc::not_found:
        return std::errc::no_such_file_or_directory;
    case errc::exists:
        return std::errc::file_exists;
    case errc::not_empty:
        return std::errc::directory_not_empty;
    case errc::protocol:
        return std::errc::protocol_error;
    default:
        return std::errc{};
    }
}

class ZKL_API code_category final : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "zkl";
    }

    std::string message(int code) const override
    {
        return zkl_strerror(code);
    }

    std::error_condition default_error_condition(int code) const noexcept override
    {
        const std::errc standard = condition(static_cast<errc>(code));
        return standard != std::errc{} ? std::make_error_condition(standard)
                                       : std::error_condition(code, *this);
    }
};

} // namespace detail

/* The category of the codes, "zkl". ZKL_API lets all shared objects of a process have one. */
ZKL_API inline const std::error_category &error_category() noexcept
{
    static const detail::code_category category;
    return category;
}

/* Makes a std::error_code of a code. It compares equal to the std::errc that detail::condition()
 * has for it. */
inline std::error_code make_error_code(errc code) noexcept
{
    return {static_cast<int>(code), error_category()};
}

/* What a function throws that fails. code() is one of errc. path() is the path or hosts concerned,
 * "options", or "". what() is a sentence, with path() if there is one. */
class ZKL_API error : public std::system_error
{
  public:
    explicit error(const zkl_error &e) noexcept
        : std::system_error(make_error_code(static_cast<errc>(e.code))), error_(e)
    {
        const bool named = e.path[0] == 0 || std::string_view(e.text).rfind(e.path, 0) == 0;
        std::snprintf(what_, sizeof what_, "%s%s%s", named ? "" : e.path, named ? "" : ": ",
                      e.text[0] != 0 ? e.text : zkl_strerror(e.code));
    }

    const char *what() const noexcept override
    {
        return what_;
    }

    const char *path() const noexcept
    {
        return error_.path;
    }

    const zkl_error &native() const noexcept
    {
        return error_;
    }

  private:
    zkl_error error_;
    char what_[sizeof(zkl_error::path) + sizeof(zkl_error::text) + sizeof ": "];
};

namespace detail
{

/* Throws the failure that a C function has returned in this thread. */
[[noreturn]] inline void fail(int code)
{
    zkl_error e;
    if (zkl_last_error(&e) != code)
        e = {code, "", ""};
    throw error(e);
}

inline int check(int code)
{
    return code < 0 ? fail(code), code : code;
}

inline int check(int code, std::error_code &ec) noexcept
{
    ec.assign(code < 0 ? code : 0, error_category());
    return code;
}

/* Mostly somebody else holds: no failure for who only tries. */
constexpr bool is_taken(int code) noexcept
{
    return code == ZKL_EBUSY || code == ZKL_ETIMEDOUT;
}

} // namespace detail

} // namespace zkl

#endif
