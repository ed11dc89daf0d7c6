#include "operator/runtime/whereabouts.h"

#include <map>

#include <gtest/gtest.h>

namespace ratoon::runtime {
namespace {

Environment with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(FindAdvertiseUrl, IsTheAddressOfTheService) {
  EXPECT_EQ(find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "my-ratoon"},
                                     {"MY_RATOON_SERVICE_HOST", "10.0.0.7"},
                                     {"MY_RATOON_SERVICE_PORT", "9443"}}))
                .value(),
            "http://10.0.0.7:9443");
  EXPECT_EQ(find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "r"},
                                     {"R_SERVICE_HOST", "fd00::7"},
                                     {"R_SERVICE_PORT", "9443"}}))
                .value(),
            "http://[fd00::7]:9443");
}

TEST(FindAdvertiseUrl, SaysWhatToDoWhereItCannotBeKnown) {
  EXPECT_NE(find_advertise_url(with({})).error().message().find("--advertise-url"), std::string::npos);
  const auto late = find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "my-ratoon"}}));
  EXPECT_NE(late.error().message().find("start the pod again"), std::string::npos);
}

TEST(FindAccess, OutsideOfAClusterAFileIsNeeded) {
  EXPECT_NE(find_access("", with({})).error().message().find("--kubeconfig"), std::string::npos);
}

}  // namespace
}  // namespace ratoon::runtime
