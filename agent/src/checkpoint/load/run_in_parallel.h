// Runs a list of tasks on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include <ratoon/result.h>

namespace ratoon::checkpoint {

// Calls task(i, thread) for each i from 0 to `count` - 1, roughly in ascending order. The argument `thread`
// is the number of the thread that runs the task, below `threads`. Returns the error of the failed task with
// the smallest i. After a task has failed, no further task begins. The thread that calls run_in_parallel()
// also runs tasks. If the system cannot start enough threads, the existing threads do all the work.
[[nodiscard]] Result<void> run_in_parallel(
    std::size_t count, std::size_t threads,
    const std::function<Result<void>(std::size_t i, std::size_t thread)>& task);

}  // namespace ratoon::checkpoint
