// A list of tasks that a few threads work off.
#pragma once

#include <cstddef>
#include <functional>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

// Calls task(i, thread) for each i below `count`, in about that order, each `thread` below `threads` from one
// thread. The error is that of the least i which has one; once there is one, no further task is begun. Where
// the system gives fewer threads, those that there are do the work; the caller's is one of them.
[[nodiscard]] Result<void> on_threads(
    std::size_t count, std::size_t threads,
    const std::function<Result<void>(std::size_t i, std::size_t thread)>& task);

}  // namespace ratoon::checkpoint
