#include "operator/kube/pruning.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::kube::pruning_test {
namespace {

using nlohmann::json;

const json kSent = json::parse(R"({
  "phase": "Running", "ledger": {"load": 1, "step": 2},
  "members": [{"role": "worker", "node": "n1"},
              {"role": "worker", "node": "n2", "successor": {"index": 1}}]})");

TEST(Pruning, NamesWhatIsNotStoredWhereverItIs) {
  EXPECT_EQ(find_pruned_fields(kSent, kSent), FieldPaths());
  const json stored = json::parse(R"({
    "phase": "Failed", "ledger": {"load": 1},
    "members": [{"role": "worker"}, {"role": "worker", "successor": {}}]})");
  EXPECT_EQ(find_pruned_fields(kSent, stored),
            (FieldPaths{"ledger.step", "members[].node", "members[].successor.index"}));
  EXPECT_EQ(find_pruned_fields(kSent, json::object()), (FieldPaths{"ledger", "members", "phase"}));
  EXPECT_EQ(find_pruned_fields(kSent, json()), FieldPaths()) << "nothing is known of what was stored";
}

TEST(Pruning, LeavesOutWhatItNamed) {
  json value = kSent;
  prune(value, {"ledger.step", "members[].node", "members[].successor"});
  EXPECT_EQ(value, json::parse(R"({"phase": "Running", "ledger": {"load": 1},
                                   "members": [{"role": "worker"}, {"role": "worker"}]})"));
  value = kSent;
  prune(value, {});
  EXPECT_EQ(value, kSent);
}

}  // namespace
}  // namespace ratoon::kube::pruning_test
