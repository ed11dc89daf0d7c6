// Notices that a tracked Stateful is destroyed while the session still tracks it.
//
//   const auto is_destroyed = watch_lifetime(object);
//   ...
//   if (*is_destroyed) refuse();  // before `object` is used
//
// Thread contract: any thread may call watch_lifetime() and destroy objects.
#pragma once

#include <atomic>
#include <memory>

#include <ratoon/stateful.h>

namespace ratoon::session {

// Returns a flag that becomes true when the destructor of `object` runs.
[[nodiscard]] std::shared_ptr<const std::atomic<bool>> watch_lifetime(const Stateful& object);
// The destructor of Stateful calls end_lifetime().
void end_lifetime(const Stateful& object) noexcept;

}  // namespace ratoon::session
