#include "operator/runtime/operator_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::operator_config_test {
namespace {

using testing::HasSubstr;

class OperatorConfig : public testing::Test {
 protected:
  Result<void> read(const std::string& body) {
    const auto path = folder_ / "config.yaml";
    test::write_text(path, "apiVersion: operator.ratoon.dev/v1alpha1\nkind: OperatorConfig\n" + body);
    return read_operator_config(path.string(), options_);
  }

  test::TemporaryFolder folder_;
  OperatorOptions options_;
};

TEST_F(OperatorConfig, SetsWhatItSaysAndLeavesTheRest) {
  ASSERT_TRUE(
      read("namespace: trees\nkubeconfig: /etc/k\nadvertiseUrl: http://h:1\ncoordinatorPort: 1000\n"
           "metricsPort: '2000'\nprobePort: 3000\nnotices: /etc/notices.yaml\nworkers: "
           "7\nprocessesPerNamespace: 70000\nlog: "
           "text\nleaderElection:\n  enabled: true\n"
           "tls: {folder: /etc/tls, secret: s, serverName: door.trees.svc}\n"));
  EXPECT_EQ(options_.name_space, "trees");
  EXPECT_EQ(options_.kubeconfig_path, "/etc/k");
  EXPECT_EQ(options_.advertise_url, "http://h:1");
  EXPECT_EQ(options_.coordinator_port, 1000);
  EXPECT_EQ(options_.metrics_port, 2000);
  EXPECT_EQ(options_.probe_port, 3000);
  EXPECT_EQ(options_.workers, 7);
  EXPECT_EQ(options_.processes_per_namespace, 70000u);
  EXPECT_TRUE(options_.is_text_log);
  EXPECT_EQ(options_.tls_folder, "/etc/tls");
  EXPECT_EQ(options_.tls_secret, "s");
  EXPECT_EQ(options_.tls_server_name, "door.trees.svc");
  EXPECT_EQ(options_.notices_path, "/etc/notices.yaml");
  EXPECT_TRUE(options_.uses_election);
  EXPECT_EQ(options_.lease_name, "ratoon-operator");
}

TEST_F(OperatorConfig, RefusesWhatItDoesNotKnowByName) {
  for (const auto& [body, part] : std::vector<std::pair<std::string, std::string>>{
           {"namespaces: a", "namespaces is not a field of this file"},
           {"leaderElection: {lease: a}", "leaderElection.lease is not a field of this file"},
           {"leaderElection: true", "leaderElection must be an object"},
           {"tls: /etc/tls", "tls must be an object"},
           {"tls: {folder: []}", "tls.folder must be a text"},
           {"tls: {cert: a}", "tls.cert is not a field of this file"},
           {"tls: {cert: a}\nleaderElection: {}", "tls.cert is not a field of this file"},
           {"coordinatorPort: 65536", "coordinatorPort must be a port"},
           {"metricsPort: -1", "metricsPort must be a port"},
           {"probePort: 0", "probePort must be a port"},
           {"workers: 0", "workers must be a number from 1 to 64"},
           {"workers: 65", "workers must be a number from 1 to 64"},
           {"processesPerNamespace: 0", "processesPerNamespace must be a number from 1 to 4294967295"},
           {"processesPerNamespace: 4294967296", "processesPerNamespace must be a number from 1 to"},
           {"log: xml", "log must be json or text, found \"xml\""},
           {"leaderElection: {enabled: 1}", "leaderElection.enabled must be true or false"},
           {"namespace: ''", "namespace must be a text"}}) {
    const auto done = read(body);
    ASSERT_FALSE(done) << body;
    EXPECT_THAT(done.error().message(), HasSubstr(part));
    EXPECT_THAT(done.error().message(), HasSubstr("config.yaml"));
  }
}

TEST_F(OperatorConfig, OfAnotherVersionIsRefused) {
  const nlohmann::json other = {{"apiVersion", "operator.ratoon.dev/v2"}, {"kind", "OperatorConfig"}};
  EXPECT_THAT(apply_operator_config(other, options_).error().message(),
              HasSubstr("operator.ratoon.dev/v1alpha1"));
  EXPECT_FALSE(apply_operator_config(nlohmann::json::array(), options_));
  EXPECT_FALSE(read_operator_config("/no/such/file", options_));
}

}  // namespace
}  // namespace ratoon::runtime::operator_config_test
