/* C++: the session. zkl.hpp has the conventions. */
#ifndef ZKL_SESSION_HPP
#define ZKL_SESSION_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>
#include <zkl/callback.hpp>
#include <zkl/error.hpp>
#include <zkl/session.h>
#include <zkl/stats.h>

namespace zkl
{

/* Mirrors zkl_session_options, with two more members. An empty acl or tls_... is NULL there. */
struct session_options {
    std::chrono::milliseconds session_timeout{0};
    std::string acl;
    std::function<void(const zkl_log_record &record)>
        log; /* empty: stderr. It is called where callbacks run without an executor, never on the
                executor. The record is valid during the call. */
    zkl_log_level log_level = ZKL_LOG_WARN;
    std::chrono::milliseconds tick{0};
    int drift_permille = 0;
    bool dispatch = false;
    std::vector<std::pair<std::string, std::string>> credentials; /* schemes and credentials */
    std::string tls_ca, tls_cert, tls_key;
    bool fixed_servers = false;

    executor run;          /* empty: callbacks run where the library calls them */
    exception_hook thrown; /* empty: std::terminate() */
};

namespace detail
{

struct session_closer {
    void operator()(zkl_session *s) const noexcept
    {
        zkl_session_close(s);
    }
};

using log_function = std::function<void(const zkl_log_record &)>;

struct log_entry {
    shared_environment where;
    log_function fn;
};

inline void on_log(const zkl_log_record *record, void *data) noexcept
{
    if (const auto entry = registry<log_entry>::instance().find(data))
        entry->where->guard([&] { entry->fn(*record); });
}

/* Removes the log's function after the session was closed: lines that still come are dropped. */
struct log_remover {
    void operator()(void *key) const noexcept
    {
        registry<log_entry>::instance().remove(key);
    }
};

inline void on_session_change(zkl_session *, zkl_session_event event, std::int64_t id,
                              void *data) noexcept
{
    auto *call = static_cast<callback<zkl_session_event, std::int64_t> *>(data);

    (*call)(event, id);
    if (event == ZKL_SESSION_CLOSED)
        delete call;
}

inline int saturated(std::chrono::milliseconds value) noexcept
{
    const auto count = value.count();
    return count > 2000000000 ? 2000000000 : count < -1 ? -1 : static_cast<int>(count);
}

/* The options for C. What is invalid there is so here. The strings are the options'. */
inline zkl_session_options to_c(const session_options &o,
                                const std::vector<zkl_credential> &credentials)
{
    zkl_session_options c = ZKL_SESSION_OPTIONS_INIT;

    c.session_timeout_ms = saturated(o.session_timeout);
    c.acl = text_or_null(o.acl);
    c.log_level = o.log_level;
    c.tick_ms = saturated(o.tick);
    c.drift_permille = o.drift_permille;
    c.dispatch = o.dispatch ? 1 : 0;
    c.credentials = credentials.empty() ? nullptr : credentials.data();
    c.credential_count = credentials.size();
    c.tls_ca = text_or_null(o.tls_ca);
    c.tls_cert = text_or_null(o.tls_cert);
    c.tls_key = text_or_null(o.tls_key);
    c.fixed_servers = o.fixed_servers ? 1 : 0;
    return c;
}

} // namespace detail

/* A zkl_session, closed by the destructor. zkl/session.h describes the functions. Any thread may
 * call any function, but none while another one closes, moves or destroys the object. */
class session
{
  public:
    explicit session(const std::string &connect, const session_options &options = {})
    {
        detail::check(open(connect, options));
    }

    session(const std::string &connect, const session_options &options,
            std::error_code &ec) noexcept
    {
        detail::check(open(connect, options), ec);
    }

    session(session &&) noexcept = default;

    session &operator=(session &&other) noexcept
    {
        close();
        where_ = std::move(other.where_);
        log_ = std::move(other.log_);
        handle_ = std::move(other.handle_);
        return *this;
    }

    ~session()
    {
        close();
    }

    /* As zkl_session_close(). If it does not wait, as inside a callback, later lines of the log
     * are dropped. Tasks that the executor has got may run later. */
    void close() noexcept
    {
        handle_.reset();
        log_.reset();
    }

    template <class Rep, class Period>
    void wait(const std::chrono::duration<Rep, Period> &limit) const
    {
        detail::check(zkl_session_wait(handle_.get(), detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    bool wait(const std::chrono::duration<Rep, Period> &limit, std::error_code &ec) const noexcept
    {
        return detail::check(zkl_session_wait(handle_.get(), detail::milliseconds(limit)), ec) == 0;
    }

    template <class Rep, class Period>
    void flush(const std::chrono::duration<Rep, Period> &limit) const
    {
        detail::check(zkl_session_flush(handle_.get(), detail::milliseconds(limit)));
    }

    template <class Rep, class Period>
    bool flush(const std::chrono::duration<Rep, Period> &limit, std::error_code &ec) const noexcept
    {
        return detail::check(zkl_session_flush(handle_.get(), detail::milliseconds(limit)), ec) ==
               0;
    }

    /* Calls fn(event, id) on the executor: see zkl_session_on_change(). */
    void on_change(std::function<void(zkl_session_event event, std::int64_t id)> fn) const
    {
        auto call = std::make_unique<detail::callback<zkl_session_event, std::int64_t>>(
            where_, std::move(fn));
        detail::check(zkl_session_on_change(handle_.get(), detail::on_session_change, call.get()));
        call.release();
    }

    int fd() const
    {
        return detail::check(zkl_session_fd(handle_.get()));
    }

    void dispatch() const
    {
        detail::check(zkl_session_dispatch(handle_.get()));
    }

    void set_servers(const std::string &connect) const
    {
        detail::check(zkl_session_set_servers(handle_.get(), connect.c_str()));
    }

    void keep(bool keep = true) const
    {
        detail::check(zkl_session_keep(handle_.get(), keep));
    }

    std::int64_t id() const noexcept
    {
        return zkl_session_id(handle_.get());
    }

    zkl_outage outage() const noexcept
    {
        return zkl_session_outage(handle_.get());
    }

    std::chrono::milliseconds timeout() const
    {
        return std::chrono::milliseconds(detail::check(zkl_session_timeout_ms(handle_.get())));
    }

    /* zkl_stats_prometheus() renders them. */
    zkl_stats stats() const
    {
        zkl_stats all{};
        all.size = sizeof all;
        detail::check(zkl_session_stats(handle_.get(), &all));
        return all;
    }

    /* The C handle, for functions that have no C++ form. NULL: closed, or moved from. */
    zkl_session *native_handle() const noexcept
    {
        return handle_.get();
    }

    /* For the other headers. */
    const detail::shared_environment &environment() const noexcept
    {
        return where_;
    }

  private:
    int open(const std::string &connect, const session_options &options)
    {
        std::vector<zkl_credential> credentials;
        zkl_session *opened = nullptr;

        for (const auto &[scheme, auth] : options.credentials)
            credentials.push_back({scheme.c_str(), auth.c_str()});
        zkl_session_options c = detail::to_c(options, credentials);
        where_ = std::make_shared<const detail::environment>(
            detail::environment{options.run, options.thrown});
        if (options.log) {
            log_.reset(detail::registry<detail::log_entry>::instance().add({where_, options.log}));
            c.log = detail::on_log;
            c.log_data = log_.get();
        }
        const int code = zkl_session_open(&opened, connect.c_str(), &c, nullptr);
        handle_.reset(opened);
        if (code != 0)
            close();
        return code;
    }

    detail::shared_environment where_;
    std::unique_ptr<void, detail::log_remover> log_;
    std::unique_ptr<zkl_session, detail::session_closer> handle_;
};

} // namespace zkl

#endif
