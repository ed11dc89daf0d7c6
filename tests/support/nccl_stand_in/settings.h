// The settings of this process; nccl_stand_in.h explains each.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace ratoon::test::nccl_stand_in {

struct Values {
  std::uint64_t version;
  std::uint64_t abort_ms = 0;
  std::uint64_t abort_hangs = 0;
  std::uint64_t reports_lost_ranks = 0;
  std::uint64_t refuses_shared_devices = 0;
  std::uint64_t garbage_seed = 1;
  std::uint64_t garbage_is_nan = 0;
};

class Settings {
 public:
  Settings();  // from the environment
  [[nodiscard]] bool set(std::string_view name, std::string_view value);
  [[nodiscard]] Values now() const;
  // Returns when an abort may begin.
  void wait_before_abort() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Values values_;  // guarded by mutex_
};

Settings& settings();

}  // namespace ratoon::test::nccl_stand_in
