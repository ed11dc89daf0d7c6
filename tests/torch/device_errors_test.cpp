// The exit of a process in which LibTorch reports that an accelerator failed.
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <ratoon/torch/numerics.h>
#include <ratoon/train.h>

#include "agent/src/devices/health/watched_devices.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::device_errors_test {
namespace {

using testing::ExitedWithCode;

class DeviceErrors : public testing::Test {
 protected:
  // Ends the process as a trainer ends when its step throws the exception.
  [[noreturn]] void train_and_throw(const std::function<void()>& thrower) {
    const test::TemporaryFolder folder;
    const Options options{
        .save_folder = folder.path().string(), .run_name = "run", .member = {}, .group = {}};
    std::exit(train(options, [&](Session& session) {
      int value = 0;
      session.track("value", value);
      for ([[maybe_unused]] const std::uint64_t step : session.steps(2)) thrower();
    }));
  }
  [[noreturn]] void fail_with(int cuda_error) {
    train_and_throw(
        [=] { throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, cuda_error, "CUDA error"); });
  }

 private:
  const test::TemporaryFolder folder_;
};

TEST_F(DeviceErrors, AKernelOfTheProgramThatFailsIsTheProgramsError) {
  EXPECT_EXIT(fail_with(700), ExitedWithCode(1), "CUDA error 700 \\(cudaErrorIllegalAddress\\)");
  EXPECT_EXIT(fail_with(710), ExitedWithCode(1), "cudaErrorAssert");
}

TEST_F(DeviceErrors, AnErrorOfTheMemoryIsTheMachines) {
  EXPECT_EXIT(fail_with(214), ExitedWithCode(85), "cudaErrorECCUncorrectable");
}

TEST_F(DeviceErrors, TooLittleMemoryIsTheProgramsError) {
  EXPECT_EXIT(train_and_throw(
                  [] { throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "CUDA out of memory"); }),
              ExitedWithCode(1), "the device has no free memory");
}

// A broken device makes libraries fail in any way, for example with an exception of cuBLAS.
TEST_F(DeviceErrors, AnyExceptionIsTheMachinesWhereTheDriverReportsABrokenDevice) {
  const test::TemporaryFolder folder;
  const std::string script = folder / "script";
  ::setenv("TEST_NVML", script.c_str(), 1);
  const auto fail_with_driver = [&](std::string_view report) {
    test::write_text(script, report);
    devices::watch_device("0000:01:00.0", [](const std::string&) {});
    train_and_throw([] { throw std::runtime_error("a library failed"); });
  };
  EXPECT_EXIT(fail_with_driver("xid 79"), ExitedWithCode(85), "Xid 79 \\(the GPU has fallen off the bus\\)");
  EXPECT_EXIT(fail_with_driver("xid 13"), ExitedWithCode(1), "a library failed");
}

TEST_F(DeviceErrors, AnotherExceptionIsToldAsItIs) {
  EXPECT_EXIT(train_and_throw([] { throw std::runtime_error("a file is missing"); }), ExitedWithCode(1),
              "threw std::runtime_error: a file is missing");
}

}  // namespace
}  // namespace ratoon::device_errors_test
