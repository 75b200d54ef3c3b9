/* C++: snapshots of a queue or a group. zkl.hpp has the conventions. */
#ifndef ZKL_SNAPSHOT_HPP
#define ZKL_SNAPSHOT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zkl
{

namespace detail
{

/* The items of a C snapshot, as values. */
template <class T, class Handle, class Item>
std::vector<T> items_of(const Handle *from, std::size_t (*count)(const Handle *),
                        const Item *(*get)(const Handle *, std::size_t))
{
    std::vector<T> all;

    for (std::size_t i = 0; i < count(from); ++i)
        all.emplace_back(*get(from, i));
    return all;
}

/* When a server created a node, by its clock. */
inline std::chrono::system_clock::time_point created(std::int64_t ctime_ms)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(ctime_ms));
}

} // namespace detail

/* Values in an order, as they were read. */
template <class T, class Handle> class snapshot
{
  public:
    using value_type = T;
    using const_iterator = typename std::vector<T>::const_iterator;

    std::size_t size() const noexcept
    {
        return items_.size();
    }

    bool empty() const noexcept
    {
        return items_.empty();
    }

    const T &operator[](std::size_t i) const noexcept
    {
        return items_[i];
    }

    const_iterator begin() const noexcept
    {
        return items_.begin();
    }

    const_iterator end() const noexcept
    {
        return items_.end();
    }

    /* The C handle, for functions that have no C++ form. */
    const Handle *native_handle() const noexcept
    {
        return handle_.get();
    }

  protected:
    template <class Item>
    snapshot(Handle *made, void (*free)(Handle *), std::size_t (*count)(const Handle *),
             const Item *(*get)(const Handle *, std::size_t))
        : handle_(made, free), items_(detail::items_of<T>(handle_.get(), count, get))
    {
    }

  private:
    std::unique_ptr<Handle, void (*)(Handle *)> handle_;
    std::vector<T> items_;
};

} // namespace zkl

#endif
