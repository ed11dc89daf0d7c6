#include "cli/launch/visible_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace ratoon::cli::visible_devices_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class VisibleDevicesTest : public testing::Test {
 protected:
  void make(const std::string& folder, const std::vector<std::string>& names) const {
    std::filesystem::create_directories(folder_ / folder);
    for (const auto& name : names) test::write_text(folder_ / folder / name, "");
  }
  std::vector<std::string> visible(const std::optional<std::string>& listed = {}) const {
    return visible_devices(listed, folder_ / "dev", folder_ / "driver");
  }
  test::TemporaryFolder folder_;
};

TEST_F(VisibleDevicesTest, AContainerHasItsOwnDeviceFilesOnly) {
  EXPECT_THAT(visible(), IsEmpty());
  make("driver", {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"});
  EXPECT_THAT(visible(), ElementsAre("0", "1", "2")) << "no device file is there";
  make("dev", {"nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "null"});
  EXPECT_THAT(visible(), ElementsAre("0", "1"));
}

TEST_F(VisibleDevicesTest, AListedDeviceNeedsNoFile) {
  make("dev", {"nvidia0"});
  EXPECT_THAT(visible("3,GPU-7,"), ElementsAre("3", "GPU-7"));
  EXPECT_THAT(visible(""), IsEmpty());
}

}  // namespace
}  // namespace ratoon::cli::visible_devices_test
