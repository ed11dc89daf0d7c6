// Where collectives go that were given up. Gloo cannot be told to stop: a thread of it may still write into
// the buffers long after the world has changed, until the group's time-out. Whatever it may touch is kept
// alive here until it is over.
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
