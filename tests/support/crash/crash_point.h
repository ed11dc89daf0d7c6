// A place in a program's calls of its disk: "the second time that a manifest is renamed, right after the
// call". The place as words, so that a process can be told where to die.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/support/crash/observed_disk.h"

namespace ratoon::test {

struct CrashPoint {
  DiskCall call = DiskCall::kWrite;
  std::string path{};  // the beginning of those that count
  Moment moment = Moment::kBefore;
  std::uint64_t count = 1;  // which of them: 1 is the first
};

// "2:manifests/:0:1"
[[nodiscard]] std::string words_of(const CrashPoint& point);
[[nodiscard]] std::optional<CrashPoint> parse_point(const std::string& words);

// Calls `act` at the point, once.
[[nodiscard]] DiskObserver at_point(const CrashPoint& point, std::function<void()> act);

}  // namespace ratoon::test
