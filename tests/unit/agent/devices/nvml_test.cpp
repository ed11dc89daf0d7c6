// The calls of NVML, against a library with NVML's binary interface.
#include "agent/src/devices/health/nvml.h"

#include <chrono>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::devices::nvml_test {
namespace {

using testing::HasSubstr;

class Nvml : public testing::Test {
 protected:
  Nvml() { ::setenv("TEST_NVML", script_.c_str(), 1); }
  ~Nvml() override { ::unsetenv("TEST_NVML"); }
  void script(const std::string& text) { test::write_text(script_, text); }
  static Result<std::unique_ptr<DeviceSource>> open(const std::string& bus_id = "0000:01:00.0") {
    return open_nvml_device(TEST_NVML_LIBRARY, bus_id);
  }

  test::TemporaryFolder folder_;
  const std::string script_ = folder_ / "script";
};

TEST_F(Nvml, EachFigureIsRead) {
  script(
      "temperature 71 power 350500 clock 1980 utilization 93 memory 1000 memory_used 400 corrected 5 "
      "uncorrectable 2 remap_pending 1 remap_failed 0 slowdown 68");
  const auto device = open();
  ASSERT_TRUE(device) << device.error().message();
  EXPECT_EQ((*device)->uuid(), "GPU-of-a-test");
  const DeviceReading expected{
      .temperature_celsius = 71,
      .power_watts = 350.5,
      .clock_hertz = 1.98e9,
      .utilization = 0.93,
      .memory_bytes = 1000,
      .memory_used_bytes = 400,
      .corrected_errors = 5,
      .uncorrectable_errors = 2,
      .is_row_remap_pending = true,
      .has_row_remap_failed = false,
      .slowdown = ClockSlowdown{.is_by_power_limit = true, .is_by_temperature = true}};
  EXPECT_EQ((*device)->read(), expected);
}

TEST_F(Nvml, AFigureThatTheDeviceDoesNotSupportIsUnknown) {
  script("temperature 40");
  EXPECT_EQ((*open())->read(), (DeviceReading{.temperature_celsius = 40}));
}

TEST_F(Nvml, ALostDeviceIsReported) {
  script("temperature 40 lost 1");
  EXPECT_EQ((*open())->read(), (DeviceReading{.is_lost = true}));
}

TEST_F(Nvml, EventsComeInTheirOrder) {
  const auto device = open();
  ASSERT_TRUE(device && (*device)->reports_xids());
  EXPECT_EQ((*device)->wait_for_xid(Duration::zero()), std::nullopt);
  script("xid 31 xid 79");
  EXPECT_EQ((*device)->wait_for_xid(std::chrono::minutes(1)), 31u);
  EXPECT_EQ((*device)->wait_for_xid(std::chrono::minutes(1)), 79u);
  script("no_events 1");
  EXPECT_FALSE((*open())->reports_xids());
}

TEST_F(Nvml, WhereItIsMissingOrRefusesTheReasonIsSaid) {
  EXPECT_EQ(open_nvml_device("libno-such-library.so.1", "0000:01:00.0").error().kind(), ErrorKind::kNotFound);
  const auto other = open_nvml_device("libm.so.6", "0000:01:00.0");
  EXPECT_EQ(other.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(other.error().message(), HasSubstr("libm.so.6 lacks functions"));
  EXPECT_THAT(open("0000:02:00.0").error().message(),
              HasSubstr("finding the device 0000:02:00.0 failed with NVML's error 6 (words of the library)"));
  script("init 9");
  EXPECT_THAT(open().error().message(), HasSubstr("starting NVML failed with NVML's error 9"));
}

}  // namespace
}  // namespace ratoon::devices::nvml_test
