// Keeps the memory of abandoned collectives alive. A thread of a process group may still write into a
// collective's buffers after the world has changed. An abandoned sum ends within a moment in Ratoon's group,
// but only at the timeout in a program's group. The memory of a sum is kept here until the sum ends.
#pragma once

#include <functional>
#include <memory>

namespace ratoon {

// Keeps `work` alive until `is_over` returns true. Throws Failure if too many abandoned sums still run:
// memory is limited, and a new process begins without such sums.
void retain(std::shared_ptr<void> work, std::function<bool()> is_over);

// Releases the memory of ended collectives. Returns how many collectives still run.
std::size_t release_finished();

}  // namespace ratoon
