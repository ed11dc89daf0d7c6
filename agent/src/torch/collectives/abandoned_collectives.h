// Collectives that were abandoned. A thread of the group may still write into their buffers after the world
// has changed. The end of a sum takes a moment in Ratoon's group, and until the timeout in the program's
// group. The memory that an abandoned sum may use is kept alive here until the sum has ended.
#pragma once

#include <functional>
#include <memory>

namespace ratoon {

// Keeps `work` alive until `is_over` returns true. Throws Failure if too many abandoned sums still run,
// because memory is limited and a new process starts without them.
void retain(std::shared_ptr<void> work, std::function<bool()> is_over);

// Releases the work that is over. Returns how many collectives still run.
std::size_t release_finished();

}  // namespace ratoon
