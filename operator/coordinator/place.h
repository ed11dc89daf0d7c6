// What processes and members are looked up by, so that no message costs a walk over all of its job.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/contract/messages.h"

namespace ratoon::coordinator {

// A member of a job, whatever its incarnation.
struct MemberPlace {
  std::string role;
  std::uint32_t index = 0;

  friend bool operator==(const MemberPlace&, const MemberPlace&) = default;
};

// A process of one incarnation, whatever its start.
struct Place {
  MemberPlace member;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

[[nodiscard]] inline Place place_of(const ProcessIdentity& process) {
  return {.member = {.role = process.role, .index = process.index},
          .incarnation = process.incarnation,
          .local_rank = process.local_rank};
}

struct PlaceHash {
  std::size_t operator()(const MemberPlace& place) const {
    return mixed(std::hash<std::string>()(place.role), place.index);
  }
  std::size_t operator()(const Place& place) const {
    return mixed(mixed((*this)(place.member), place.incarnation), place.local_rank);
  }

 private:
  static std::size_t mixed(std::size_t hash, std::uint32_t number) {
    constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;
    return (hash ^ number) * kOdd;
  }
};

}  // namespace ratoon::coordinator
