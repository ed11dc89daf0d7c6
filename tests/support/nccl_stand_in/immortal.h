// immortal<T>(): the one T of this process. The destructor of the object never runs, since threads that hang
// on purpose may use it while the process ends.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace ratoon::test::nccl_stand_in {

template <typename T>
T& immortal() {
  alignas(T) static std::array<std::byte, sizeof(T)> room;
  static T* const made = std::construct_at(reinterpret_cast<T*>(room.data()));
  return *made;
}

}  // namespace ratoon::test::nccl_stand_in
