// Keeps the memory of abandoned collectives until they end. When a process is lost, the other processes
// abandon their running collectives. A thread of the process group may still write into the buffers of an
// abandoned collective. An abandoned collective of a group that Ratoon made ends within a moment. An
// abandoned collective of a group that the program made ends only at the timeout of that group.
#pragma once

#include <functional>
#include <memory>

namespace ratoon {

// Keeps the object `work`, with all memory that it owns, until the function `is_over` returns true. If too
// many abandoned collectives still run and use memory, throws a Failure, so that a new process starts.
void keep_until_done(std::shared_ptr<void> work, std::function<bool()> is_over);

// Releases the memory of all abandoned collectives that have ended. Returns how many abandoned collectives
// still run.
std::size_t release_done_collectives();

}  // namespace ratoon
