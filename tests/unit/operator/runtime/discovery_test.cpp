#include "operator/runtime/api_server/discovery.h"

#include <map>

#include <gtest/gtest.h>

namespace ratoon::runtime::discovery_test {
namespace {

EnvironmentLookup with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST(FindAdvertiseUrl, IsTheAddressOfTheService) {
  EXPECT_EQ(find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "my-ratoon"},
                                     {"MY_RATOON_SERVICE_HOST", "10.0.0.7"},
                                     {"MY_RATOON_SERVICE_PORT", "9443"}}),
                               false)
                .value(),
            "http://10.0.0.7:9443");
  EXPECT_EQ(find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "r"},
                                     {"R_SERVICE_HOST", "fd00::7"},
                                     {"R_SERVICE_PORT", "9443"}}),
                               true)
                .value(),
            "https://[fd00::7]:9443");
}

TEST(FindAdvertiseUrl, SaysWhatToDoWhereItCannotBeKnown) {
  EXPECT_NE(find_advertise_url(with({}), false).error().message().find("--advertise-url"), std::string::npos);
  const auto late = find_advertise_url(with({{"RATOON_COORDINATOR_SERVICE", "my-ratoon"}}), false);
  EXPECT_NE(late.error().message().find("start the pod again"), std::string::npos);
}

TEST(FindOwnEndpoint, IsThisPodWhereAServiceIsNamed) {
  EXPECT_EQ(find_own_endpoint(with({})).value(), std::nullopt);
  const auto found =
      find_own_endpoint(with({{"RATOON_COORDINATOR_SERVICE", "r"}, {"RATOON_POD_IP", "10.0.0.7"}}));
  EXPECT_EQ(found.value()->service, "r");
  EXPECT_EQ(found.value()->address, "10.0.0.7");
  const auto lacking = find_own_endpoint(with({{"RATOON_COORDINATOR_SERVICE", "r"}}));
  EXPECT_NE(lacking.error().message().find("RATOON_POD_IP"), std::string::npos);
}

TEST(FindCandidate, IsNamedByItsPodAndItsStart) {
  const auto in_pod = make_election_candidate(with({{"HOSTNAME", "op-1"}, {"RATOON_POD_UID", "u"}}), "s");
  EXPECT_EQ(in_pod.identity, "op-1/u/s");
  EXPECT_EQ(in_pod.identity_prefix, "op-1/u/");
  const auto elsewhere = make_election_candidate(with({{"HOSTNAME", "op-1"}}), "s");
  EXPECT_EQ(elsewhere.identity, "op-1/s");
  EXPECT_EQ(elsewhere.identity_prefix, "") << "two on one machine may both live";
}

TEST(FindApiServerAccess, OutsideOfAClusterAFileIsNeeded) {
  EXPECT_NE(find_api_server_access("", with({})).error().message().find("--kubeconfig"), std::string::npos);
}

}  // namespace
}  // namespace ratoon::runtime::discovery_test
