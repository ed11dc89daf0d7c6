// A device that a program requests and does not get: broken hardware ends no job for ever.
#include "agent/src/devices/missing_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::devices::missing_device_test {
namespace {

using testing::HasSubstr;

DeviceRequest visible_devices(std::uint32_t count, std::uint32_t index = 0) {
  return {.name = "cuda",
          .kind = "cuda",
          .is_supported = true,
          .visible_devices = count,
          .index = index,
          .local_rank = index,
          .local_size = 4};
}

ExitCode code_of(const DeviceRequest& request, const AssignedDevices& given) {
  const auto missing = find_missing_device(request, given);
  return missing ? missing->exit_code : ExitCode::kDone;
}

TEST(MissingDevice, OneThatIsSeenIsNotMissing) {
  EXPECT_EQ(find_missing_device(visible_devices(1), {}), std::nullopt);
  EXPECT_EQ(find_missing_device(visible_devices(4, 3), {.device_files = 8}), std::nullopt)
      << "this process has its own";
}

TEST(MissingDevice, ALibTorchWithoutSupportIsTheSameOnEveryMachine) {
  auto request = visible_devices(0);
  request.is_supported = false;
  const auto missing = find_missing_device(request, {.device_files = 4});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->exit_code, ExitCode::kConfiguration);
  EXPECT_THAT(missing->sentence, HasSubstr("has no support for devices of the kind cuda"));
}

TEST(MissingDevice, WhereNoneWasGivenTheStartIsWrong) {
  for (const AssignedDevices& given :
       {AssignedDevices{}, AssignedDevices{.nvidia_visible_devices = "void"},
        AssignedDevices{.nvidia_visible_devices = "none"}, AssignedDevices{.nvidia_visible_devices = ""},
        AssignedDevices{.nvidia_visible_devices = "all"}}) {
    const auto missing = find_missing_device(visible_devices(0), given);
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->exit_code, ExitCode::kConfiguration);
    EXPECT_THAT(missing->sentence, HasSubstr("was given to this process: ask for GPUs in the pod"));
  }
}

TEST(MissingDevice, WhereTheDriverDiedAnotherMachineGoesOn) {
  for (const AssignedDevices& given :
       {AssignedDevices{.device_files = 1}, AssignedDevices{.driver_entries = 1},
        AssignedDevices{.nvidia_visible_devices = "GPU-1,GPU-2"}}) {
    const auto missing = find_missing_device(visible_devices(0), given);
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->exit_code, ExitCode::kDeviceUnusable);
    EXPECT_THAT(missing->sentence, HasSubstr("Training continues on another machine"));
  }
}

TEST(MissingDevice, WhereOneFellOffTheBusAnotherMachineGoesOn) {
  const auto missing = find_missing_device(visible_devices(3, 3), {.device_files = 4, .driver_entries = 4});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->exit_code, ExitCode::kDeviceUnusable);
  EXPECT_THAT(
      missing->sentence,
      HasSubstr(
          "on local rank 3 of 4, and this process sees 3 devices of the 4 that this machine was given"));
}

TEST(MissingDevice, MoreProcessesThanDevicesAreAWrongStart) {
  const auto missing = find_missing_device(visible_devices(2, 2), {.device_files = 2, .driver_entries = 2});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->exit_code, ExitCode::kConfiguration);
  EXPECT_THAT(missing->sentence, HasSubstr("start no more processes on a machine than it has devices"));
}

TEST(MissingDevice, CudaVisibleDevicesExplainsFewer) {
  const auto given = [](const char* visible) {
    return AssignedDevices{.device_files = 4, .cuda_visible_devices = visible};
  };
  EXPECT_EQ(code_of(visible_devices(0), given("")), ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(0), given("-1")), ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(0), given("NoDevFiles")), ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(0), given("7")), ExitCode::kConfiguration) << "there is no such device";
  EXPECT_EQ(code_of(visible_devices(1, 1), given("0,7,1")), ExitCode::kConfiguration)
      << "CUDA ends its list there";
  EXPECT_EQ(code_of(visible_devices(2, 2), given("0,1")), ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(1, 1), given("0,1")), ExitCode::kDeviceUnusable);
  EXPECT_EQ(code_of(visible_devices(0), given("GPU-1")), ExitCode::kDeviceUnusable);
}

TEST(MissingDevice, OfADividedDeviceAProcessSeesOnePart) {
  EXPECT_EQ(code_of(visible_devices(1, 1), {.device_files = 8, .nvidia_visible_devices = "MIG-1,MIG-2"}),
            ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(1, 1), {.device_files = 8, .cuda_visible_devices = "MIG-1,MIG-2"}),
            ExitCode::kConfiguration);
  EXPECT_EQ(code_of(visible_devices(0), {.device_files = 1, .nvidia_visible_devices = "MIG-1"}),
            ExitCode::kDeviceUnusable);
}

TEST(MissingDevice, OfAnotherKindNothingIsKnown) {
  auto request = visible_devices(0);
  request.name = request.kind = "xpu";
  EXPECT_EQ(code_of(request, {.device_files = 4}), ExitCode::kConfiguration);
}

TEST(MissingDevice, FilesOfTheDriverAreNoDevices) {
  EXPECT_TRUE(is_device_file("nvidia0"));
  EXPECT_TRUE(is_device_file("nvidia15"));
  for (const char* name : {"nvidia", "nvidiactl", "nvidia-uvm", "nvidia0x", "nvidia-1", "null", "xnvidia0"})
    EXPECT_FALSE(is_device_file(name)) << name;
}

}  // namespace
}  // namespace ratoon::devices::missing_device_test
