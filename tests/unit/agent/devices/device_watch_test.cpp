// The thread that reads a device, with devices that block, fail and report events.
#include "agent/src/devices/health/device_watch.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::devices::device_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Duration kSoon = 60s;

// What a device of a test reports, and what it was asked.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  DeviceReading reading{};  // guarded by mutex, like the members below
  std::vector<std::uint64_t> xids{};
  bool reports_xids = true;
  bool is_blocked = false;
  int readings = 0;
  std::vector<std::string> told{};

  template <class Change>
  void change(const Change& apply) {
    const std::lock_guard lock(mutex);
    apply();
    changed.notify_all();
  }
};

class ScriptedDevice final : public DeviceSource {
 public:
  explicit ScriptedDevice(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  std::string uuid() const override { return "GPU-1"; }
  bool reports_xids() const override {
    const std::lock_guard lock(script_->mutex);
    return script_->reports_xids;
  }
  DeviceReading read() override {
    std::unique_lock lock(script_->mutex);
    script_->changed.wait(lock, [&] { return !script_->is_blocked; });
    ++script_->readings;
    script_->changed.notify_all();
    return script_->reading;
  }
  std::optional<std::uint64_t> wait_for_xid(Duration at_most) override {
    std::unique_lock lock(script_->mutex);
    if (!script_->changed.wait_for(lock, at_most, [&] { return !script_->xids.empty(); }))
      return std::nullopt;
    const std::uint64_t first = script_->xids.front();
    script_->xids.erase(script_->xids.begin());
    return first;
  }

 private:
  const std::shared_ptr<Script> script_;
};

class DeviceWatchTest : public testing::Test {
 protected:
  std::unique_ptr<DeviceWatch> watch() {
    return std::make_unique<DeviceWatch>(
        [script = script_]() -> Result<std::unique_ptr<DeviceSource>> {
          return std::unique_ptr<DeviceSource>(std::make_unique<ScriptedDevice>(script));
        },
        [script = script_](const std::string& sentence) {
          script->change([&] { script->told.push_back(sentence); });
        });
  }
  std::vector<std::string> await_told(std::size_t count) {
    std::unique_lock lock(script_->mutex);
    script_->changed.wait_for(lock, kSoon, [&] { return script_->told.size() >= count; });
    return script_->told;
  }

  const std::shared_ptr<Script> script_ = std::make_shared<Script>();
};

TEST_F(DeviceWatchTest, FactsAreThoseOfTheMomentInWhichTheyAreAskedFor) {
  for (const bool reports_xids : {true, false}) {
    script_->change([&] { script_->reports_xids = reports_xids; });
    script_->change([&] { script_->reading = {.has_row_remap_failed = false}; });
    const auto device = watch();
    EXPECT_FALSE(device->facts(kSoon).has_row_remap_failed);
    script_->change([&] { script_->reading = {.has_row_remap_failed = true}; });
    EXPECT_TRUE(device->facts(kSoon).has_row_remap_failed);
    EXPECT_EQ(device->uuid(), "GPU-1");
    EXPECT_EQ(device->record().newest_reading(), (DeviceReading{.has_row_remap_failed = true}));
  }
}

TEST_F(DeviceWatchTest, TheDeviceIsReadWithoutARequest) {
  const auto device = watch();
  std::unique_lock lock(script_->mutex);
  EXPECT_TRUE(script_->changed.wait_for(lock, kSoon, [&] { return script_->readings >= 2; }));
}

TEST_F(DeviceWatchTest, ADriverThatDoesNotAnswerHoldsUpNoOtherThread) {
  script_->change([&] { script_->is_blocked = true; });
  auto device = watch();
  EXPECT_EQ(device->facts(10ms), DeviceFacts());
  device.reset();  // does not wait for the driver
  script_->change([&] { script_->is_blocked = false; });
}

TEST_F(DeviceWatchTest, EventsBeforeARequestBelongToItsAnswer) {
  const auto device = watch();
  EXPECT_EQ(device->facts(kSoon).fatal_xid, std::nullopt);
  script_->change([&] { script_->xids = {31, 79, 79}; });
  EXPECT_EQ(device->facts(kSoon).fatal_xid, 79u);
  EXPECT_THAT(await_told(2),
              ElementsAre(HasSubstr("Xid 31 (a kernel used memory that is not mapped) about the "
                                    "device GPU-1"),
                          HasSubstr("Xid 79 (the GPU has fallen off the bus)")));
}

TEST_F(DeviceWatchTest, EventsWithoutEndHoldUpNoAnswer) {
  script_->change([&] { script_->xids.assign(100'000, 13); });
  const auto device = watch();
  script_->change([&] { script_->reading = {.is_row_remap_pending = true}; });
  EXPECT_TRUE(device->facts(kSoon).is_row_remap_pending);
  EXPECT_EQ(await_told(1).size(), 1u) << "one sentence for all events with one number";
}

TEST_F(DeviceWatchTest, ADeviceThatCannotBeOpenedIsSaidUnlessThereIsNoLibrary) {
  std::promise<std::string> told;
  DeviceWatch refused(
      []() -> Result<std::unique_ptr<DeviceSource>> {
        return Error(ErrorKind::kUnavailable, "no permission");
      },
      [&](const std::string& sentence) { told.set_value(sentence); });
  EXPECT_EQ(refused.facts(kSoon), DeviceFacts());
  EXPECT_THAT(told.get_future().get(), HasSubstr("no permission"));
  EXPECT_EQ(refused.uuid(), "");

  std::atomic<bool> is_said = false;
  DeviceWatch absent(
      []() -> Result<std::unique_ptr<DeviceSource>> { return Error(ErrorKind::kNotFound, "no such file"); },
      [&](const std::string&) { is_said = true; });
  EXPECT_EQ(absent.facts(kSoon), DeviceFacts());
  EXPECT_FALSE(is_said);
}

}  // namespace
}  // namespace ratoon::devices::device_watch_test
