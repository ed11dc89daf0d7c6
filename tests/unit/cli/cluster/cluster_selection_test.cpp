#include "cli/cluster/access/cluster_selection.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ratoon::cli::cluster_selection_test {
namespace {

using testing::HasSubstr;

struct Place {
  std::map<std::string, std::string> environment;
  std::set<std::string> files;

  [[nodiscard]] Result<std::string> choose(const ClusterSelection& selection = {}) const {
    return choose_kubeconfig(
        selection,
        [this](const std::string& name) {
          const auto found = environment.find(name);
          return found == environment.end() ? std::nullopt : std::optional(found->second);
        },
        [this](const std::string& path) { return files.contains(path); });
  }
};

TEST(ClusterSelection, IsMeantByAnyWordForIt) {
  EXPECT_FALSE(selects_cluster({}));
  EXPECT_TRUE(selects_cluster({.is_requested = true}));
  EXPECT_TRUE(selects_cluster({.name_space = "prod"}));
  EXPECT_TRUE(selects_cluster({.is_for_all_namespaces = true}));
  EXPECT_TRUE(selects_cluster({.kubeconfig = "f"}));
  EXPECT_TRUE(selects_cluster({.context = "c"}));
}

TEST(ChooseKubeconfig, TheNearestWordCounts) {
  Place place{.environment = {{"HOME", "/people/a"}, {"KUBECONFIG", "/a"}},
              .files = {"/a", "/people/a/.kube/config"}};
  EXPECT_EQ(*place.choose({.kubeconfig = "mine"}), "mine");
  EXPECT_EQ(*place.choose(), "/a");
  place.environment.erase("KUBECONFIG");
  EXPECT_EQ(*place.choose(), "/people/a/.kube/config");
}

TEST(ChooseKubeconfig, OfSeveralInTheEnvironmentOneMustBeThere) {
  Place place{.environment = {{"KUBECONFIG", "/a:/b:"}}, .files = {"/b"}};
  EXPECT_EQ(*place.choose(), "/b");
  place.files.insert("/a");
  EXPECT_THAT(place.choose().error().message(),
              HasSubstr("several files, /a, /b: choose one with --kubeconfig"));
  place.files.clear();
  EXPECT_EQ(place.choose().error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(place.choose().error().message(),
              HasSubstr("KUBECONFIG names /a:/b:, which does not exist: name a file with"));
}

TEST(ChooseKubeconfig, APodHasItsServiceAccount) {
  Place place{.environment = {{"HOME", "/people/b"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}, .files = {}};
  EXPECT_EQ(*place.choose(), "");
  EXPECT_FALSE(place.choose({.context = "prod"})) << "a service account has no contexts";
  place.environment.erase("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(place.choose().error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(place.choose().error().message(), HasSubstr("/people/b/.kube/config does not exist"));
}

}  // namespace
}  // namespace ratoon::cli::cluster_selection_test
