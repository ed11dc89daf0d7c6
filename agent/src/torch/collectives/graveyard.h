// Where collectives go that were given up. A thread of the group may still write into the buffers after the
// world has changed: for a moment where the group is ours, until its time-out where it is the program's.
// Whatever it may touch is kept alive here until it is over.
#pragma once

#include <functional>
#include <memory>

namespace ratoon {

// Keeps `remains` until `is_over` says that nothing runs on them. Throws Failure if too many still run:
// memory is finite, and a fresh process has none of them.
void bury(std::shared_ptr<void> remains, std::function<bool()> is_over);

// Lets go of what is over. Returns how many are not.
std::size_t clear_graves();

}  // namespace ratoon
