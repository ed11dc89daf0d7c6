// Runs a list of tasks on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

// Calls task(i, thread) for each i below `count`, roughly in ascending order. `thread` is below `threads` and
// identifies the calling thread. Returns the error of the smallest i that failed; after an error no further
// task begins. The caller's thread also works on tasks. If the system cannot start enough threads, the
// existing threads do all the work.
[[nodiscard]] Result<void> run_in_parallel(
    std::size_t count, std::size_t threads,
    const std::function<Result<void>(std::size_t i, std::size_t thread)>& task);

}  // namespace ratoon::checkpoint
