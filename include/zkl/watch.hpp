/* C++: watches of what others change. zkl.hpp has the conventions. */
#ifndef ZKL_WATCH_HPP
#define ZKL_WATCH_HPP

#include <memory>
#include <utility>
#include <zkl/callback.hpp>
#include <zkl/error.hpp>
#include <zkl/watch.h>

namespace zkl
{

/* Reports changes until its end, or that of its session. */
class watch
{
  public:
    watch() noexcept = default;

    watch(zkl_watch *handle, std::shared_ptr<void> entry) noexcept
        : entry_(std::move(entry)), handle_(handle)
    {
    }

    /* Ends it, like the destructor: see zkl_watch_free(). Tasks that the executor has got may run
     * later. */
    void close() noexcept
    {
        handle_.reset();
        entry_.reset();
    }

    /* The C handle, for functions that have no C++ form. NULL: closed, or moved from. */
    zkl_watch *native_handle() const noexcept
    {
        return handle_.get();
    }

  private:
    struct freer {
        void operator()(zkl_watch *w) const noexcept
        {
            zkl_watch_free(w);
        }
    };

    std::shared_ptr<void> entry_; /* of the registry. Calls of the watch find it, so the destructor
                                     ends it after the handle */
    std::unique_ptr<zkl_watch, freer> handle_;
};

namespace detail
{

/* begin(ret, data) begins the watch. By data the watch's calls find call, as long as the watch
 * exists. If the watch ends inside its own call, call is destroyed after that. */
template <class Call, class Begin> watch begin_watch(Call call, Begin begin)
{
    auto &all = registry<Call>::instance();
    std::shared_ptr<void> entry(all.add(std::move(call)), [&all](void *key) { all.remove(key); });
    zkl_watch *made = nullptr;

    check(begin(&made, entry.get()));
    return watch(made, std::move(entry));
}

} // namespace detail

} // namespace zkl

#endif
