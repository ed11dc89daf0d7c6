#include "base/contract/resume_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace ratoon::resume_point_test {
namespace {

using test::checkpoint;
using Inventory = std::vector<InventoryEntry>;

struct Case {
  const char* name;
  std::vector<Inventory> inventories;  // of the joiners, in rank order
  std::optional<ResumePoint> expected;
  Inventory of_completed = {};
};

TEST(PickResumePoint, IsTheNewestThatAllCanReach) {
  const Case cases[] = {
      {"nothing was saved", {{}, {}}, std::nullopt},
      {"the newest step", {{checkpoint(1, 20), checkpoint(1, 40)}, {}}, test::resume_point(1, 40)},
      {"a newer attempt before a later step",
       {{checkpoint(1, 500), checkpoint(2, 40)}, {checkpoint(1, 500)}},
       test::resume_point(2, 40)},
      {"one that is not complete does not exist",
       {{checkpoint(1, 20), checkpoint(1, 40, "volume", false)}},
       test::resume_point(1, 20)},
      {"what reads back for one and not for another is no point for all",
       {{checkpoint(1, 20), checkpoint(1, 40)}, {checkpoint(1, 20), checkpoint(1, 40, "volume", false)}},
       test::resume_point(1, 20)},
      {"nor where it was committed until now",
       {{checkpoint(2, 80), checkpoint(2, 100, "volume", false)}},
       test::resume_point(2, 80),
       {checkpoint(2, 100)}},
      {"what one node alone holds is out of reach",
       {{checkpoint(1, 40, "local"), checkpoint(1, 20)}, {checkpoint(1, 20)}},
       test::resume_point(1, 20)},
      {"what every node holds is in reach",
       {{checkpoint(1, 40, "local")}, {checkpoint(1, 40, "staged")}},
       test::resume_point(1, 40)},
      {"held twice by one node is not held by two",
       {{checkpoint(1, 40, "local"), checkpoint(1, 40, "staged")}, {}},
       std::nullopt},
      {"the store is in reach of all", {{checkpoint(1, 40, "store")}, {}}, test::resume_point(1, 40)},
      {"only staged on one", {{checkpoint(3, 9, "staged")}, {}}, std::nullopt},
      {"committed by one that completed meanwhile",
       {{checkpoint(2, 80)}, {checkpoint(2, 80)}},
       test::resume_point(2, 100),
       {checkpoint(2, 100)}},
      {"kept by one that completed where nobody reaches it",
       {{checkpoint(2, 80)}},
       test::resume_point(2, 80),
       {checkpoint(2, 100, "local"), checkpoint(2, 120, "volume", false)}},
  };
  for (const auto& c : cases) {
    std::vector<JoinRequest> joiners;
    for (std::uint32_t i = 0; i < c.inventories.size(); ++i)
      joiners.push_back(test::join_request(test::process(i), 0, c.inventories[i]));
    EXPECT_EQ(pick_resume_point(joiners, c.of_completed), c.expected) << c.name;
  }
}

TEST(RollbackDispute, NamesTheFirstRankThatWasToldOtherwise) {
  std::vector<JoinRequest> joiners;
  for (std::uint32_t rank = 0; rank < 3; ++rank) joiners.push_back(test::join_request(test::process(rank)));
  EXPECT_EQ(find_rollback_dispute({}), "");
  EXPECT_EQ(find_rollback_dispute(joiners), "") << "none was told anything";
  const RollbackRequest wish{.resume_from = Step(12000), .skip = 200};
  for (auto& joiner : joiners) joiner.rollback = wish;
  EXPECT_EQ(find_rollback_dispute(joiners), "");
  joiners[2].rollback.reset();
  EXPECT_EQ(find_rollback_dispute(joiners),
            "rank 0 was started with --resume-from 12000 --skip 200 and rank 2 with no --resume-from: give "
            "all processes of the run the same flags; no checkpoint was set aside");
  joiners[0].rollback.reset();
  joiners[1].rollback->skip = 0;
  EXPECT_THAT(find_rollback_dispute(joiners),
              testing::StartsWith(
                  "rank 0 was started with no --resume-from and rank 1 with --resume-from 12000 --skip 0:"));
}

}  // namespace
}  // namespace ratoon::resume_point_test
