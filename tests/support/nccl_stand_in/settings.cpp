#include "tests/support/nccl_stand_in/settings.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string>

#include <nccl.h>

#include "tests/support/nccl_stand_in/immortal.h"
#include "tests/support/nccl_stand_in/nccl_stand_in.h"

namespace ratoon::test::nccl_stand_in {
namespace {

struct Setting {
  std::string_view name;
  std::uint64_t Values::* value;
};

constexpr std::array kSettings{
    Setting{"VERSION", &Values::version},
    Setting{"ABORT_MS", &Values::abort_ms},
    Setting{"ABORT_HANGS", &Values::abort_hangs},
    Setting{"REPORTS_LOST_RANKS", &Values::reports_lost_ranks},
    Setting{"REFUSES_SHARED_DEVICES", &Values::refuses_shared_devices},
    Setting{"GARBAGE_SEED", &Values::garbage_seed},
    Setting{"GARBAGE_IS_NAN", &Values::garbage_is_nan},
};

}  // namespace

Settings::Settings() : values_{.version = NCCL_VERSION_CODE} {
  for (const Setting& setting : kSettings) {
    const char* value = std::getenv(("RATOON_NCCL_STAND_IN_" + std::string(setting.name)).c_str());
    if (value != nullptr) static_cast<void>(set(setting.name, value));
  }
}

bool Settings::set(std::string_view name, std::string_view value) {
  std::uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) return false;
  for (const Setting& setting : kSettings) {
    if (setting.name != name) continue;
    const std::scoped_lock lock(mutex_);
    values_.*setting.value = number;
    changed_.notify_all();
    return true;
  }
  return false;
}

Values Settings::now() const {
  const std::scoped_lock lock(mutex_);
  return values_;
}

void Settings::wait_before_abort() const {
  std::unique_lock lock(mutex_);
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    return std::chrono::steady_clock::now() >= begin + std::chrono::milliseconds(values_.abort_ms);
  };
  changed_.wait(lock, [&] { return values_.abort_hangs == 0; });
  while (!is_over()) changed_.wait_until(lock, begin + std::chrono::milliseconds(values_.abort_ms));
}

Settings& settings() {
  return immortal<Settings>();
}

}  // namespace ratoon::test::nccl_stand_in

extern "C" int ratoon_nccl_stand_in_set(const char* name, const char* value) {
  using ratoon::test::nccl_stand_in::settings;
  return name != nullptr && value != nullptr && settings().set(name, value) ? 1 : 0;
}
