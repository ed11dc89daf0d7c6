// Keys for hash maps of processes and members, so that handling a message needs no search through the job.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/contract/messages.h"

namespace ratoon::coordinator {

// The key of a member of a job, the same for all its incarnations.
struct MemberKey {
  std::string role;
  std::uint32_t index = 0;

  friend bool operator==(const MemberKey&, const MemberKey&) = default;
};

// The key of a process within one incarnation of its member. All starts of one process have the same key.
struct ProcessKey {
  MemberKey member;
  std::uint32_t incarnation = 0;
  std::uint32_t local_rank = 0;

  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

[[nodiscard]] inline ProcessKey process_key_of(const ProcessIdentity& process) {
  return {.member = {.role = process.role, .index = process.index},
          .incarnation = process.incarnation,
          .local_rank = process.local_rank};
}

struct ProcessKeyHash {
  std::size_t operator()(const MemberKey& process_key) const {
    return mixed(std::hash<std::string>()(process_key.role), process_key.index);
  }
  std::size_t operator()(const ProcessKey& process_key) const {
    return mixed(mixed((*this)(process_key.member), process_key.incarnation), process_key.local_rank);
  }

 private:
  static std::size_t mixed(std::size_t hash, std::uint32_t number) {
    constexpr std::size_t kMultiplier = 0x9e3779b97f4a7c15;
    return (hash ^ number) * kMultiplier;
  }
};

}  // namespace ratoon::coordinator
