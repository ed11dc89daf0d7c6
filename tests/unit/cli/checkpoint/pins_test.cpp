#include "cli/checkpoint/pins.h"

#include <gmock/gmock.h>

#include "agent/src/checkpoint/retention/removal.h"
#include "tests/support/crash/observed_disk.h"
#include "tests/unit/cli/checkpoint/run_fixture.h"

namespace ratoon::cli::pins_test {
namespace {

using checkpoint::Pin;
using test::DiskCall;
using test::Moment;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Seen { kAsFolder, kAsStore };

class PinsTest : public RunFixture, public testing::WithParamInterface<Seen> {
 protected:
  PinsTest() { disk_ = place(); }
  std::unique_ptr<checkpoint::Disk> place() {
    return GetParam() == Seen::kAsStore ? as_store() : *open_run_folder(run_);
  }
  std::vector<std::string> pins() {
    const auto pins = checkpoint::read_pins(*disk_);
    std::vector<std::string> found;
    for (const Pin& pin : *pins) found.push_back(checkpoint_text(pin.id) + ": " + pin.why);
    return found;
  }
  std::vector<std::string> pinned_in_survey() {
    const Survey now = survey();
    std::vector<std::string> found;
    for (const auto& one : now.checkpoints)
      if (one.is_pinned) found.push_back(checkpoint_text(one.id) + ": " + one.pin_reason);
    return found;
  }
  // Its run retires the checkpoint at the moment at which its pin gets its name.
  test::ObservedDisk retired_as_it_is_pinned(const checkpoint::CheckpointId& which) {
    return {place(), [this, which](DiskCall call, const std::string&, Moment moment) {
              if (call != DiskCall::kRename || moment != Moment::kAfter) return;
              ASSERT_TRUE(checkpoint::remove_checkpoint(*disk_, which));
            }};
  }
};

TEST_P(PinsTest, TheNewestIsPinnedWhereNobodySaysWhich) {
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  const auto made = make_pin(*disk_, {}, kDefaultPinReason);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->pin.id, id(1, 30));
  EXPECT_TRUE(made->is_new);
  EXPECT_THAT(made->file, HasSubstr((run_ / "pins/s0000000030.a0001.json").string()));
  ASSERT_TRUE(make_pin(*disk_, {.step = 10}, "best accuracy"));
  EXPECT_THAT(pinned_in_survey(),
              ElementsAre("step 30 of attempt 1: pinned by hand", "step 10 of attempt 1: best accuracy"));
  EXPECT_THAT(survey().orphaned_pins, IsEmpty());
}

TEST_P(PinsTest, TheFirstReasonStands) {
  commit_plain(id(1, 10));
  ASSERT_TRUE(make_pin(*disk_, {}, "best accuracy"));
  const auto again = make_pin(*disk_, {}, "another");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->pin.why, "best accuracy");
  EXPECT_THAT(pins(), ElementsAre("step 10 of attempt 1: best accuracy"));
}

TEST_P(PinsTest, WhatIsBadOrMissingIsRefusedAsEverywhere) {
  EXPECT_EQ(make_pin(*disk_, {}, "x").error().message(), "no checkpoint was ever committed here");
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  std::filesystem::remove(pack(id(1, 30), 0));
  for (const CheckpointSelection& selection :
       {CheckpointSelection{.step = 10}, CheckpointSelection{.step = 30}, CheckpointSelection{.step = 7}}) {
    const auto refused = make_pin(*disk_, selection, "x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(), choose_checkpoint(survey(), selection).error().message());
    EXPECT_EQ(code_of(refused.error()), *selection.step == 7 ? 82 : 83);
  }
  EXPECT_THAT(pins(), IsEmpty());
}

TEST_P(PinsTest, WhatIsRetiredBetweenChoiceAndPinIsNotCalledPinned) {
  for (const std::uint64_t step : {10, 20, 30}) commit_plain(id(1, step));
  auto disk = retired_as_it_is_pinned(id(1, 10));
  const auto refused = make_pin(disk, {.step = 10}, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(code_of(refused.error()), 82);
  EXPECT_THAT(refused.error().message(), HasSubstr("step 10 of attempt 1 was removed after it was chosen"));
  EXPECT_THAT(pins(), IsEmpty());

  auto newest = retired_as_it_is_pinned(id(1, 30));
  const auto made = make_pin(newest, {}, "x");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->pin.id, id(1, 20)) << "the newest by then";
  EXPECT_THAT(pins(), ElementsAre("step 20 of attempt 1: x"));
}

// The pin of another user. The command told this user that the checkpoint is pinned.
TEST_P(PinsTest, APinThatWasThereBeforeIsNotRemoved) {
  commit_plain(id(1, 10));
  ASSERT_TRUE(make_pin(*disk_, {}, "best accuracy"));
  test::ObservedDisk disk(place(), [&](DiskCall call, const std::string&, Moment moment) {
    // The second pin has no effect, since one of that name exists.
    if (call == DiskCall::kRename && moment == Moment::kAfter)
      std::filesystem::remove(run_ / checkpoint::manifest_path(id(1, 10)));
  });
  const auto refused = make_pin(disk, {.step = 10}, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConflict);
  EXPECT_THAT(pins(), ElementsAre("step 10 of attempt 1: best accuracy"));
}

TEST_P(PinsTest, APinWithoutItsCheckpointIsListedAndCanGo) {
  commit_plain(id(1, 10));
  commit_plain(id(1, 20));
  ASSERT_TRUE(make_pin(*disk_, {.step = 10}, "best accuracy"));
  ASSERT_TRUE(checkpoint::remove_checkpoint(*disk_, id(1, 10)));
  const Survey now = survey();
  ASSERT_EQ(now.orphaned_pins.size(), 1u);
  EXPECT_EQ(now.orphaned_pins[0].id, id(1, 10));
  EXPECT_EQ(now.orphaned_pins[0].why, "best accuracy");
  EXPECT_THAT(pinned_in_survey(), IsEmpty());
  const auto only = choose_pin(checkpoint::read_pins(*disk_).value(), {});
  ASSERT_TRUE(only);
  ASSERT_TRUE(checkpoint::unpin(*disk_, only->id));
  EXPECT_THAT(survey().orphaned_pins, IsEmpty());
}

TEST_P(PinsTest, OfWhatIsSetAsideIsShownThere) {
  commit_plain(id(1, 10));
  ASSERT_TRUE(make_pin(*disk_, {}, "best accuracy"));
  ASSERT_TRUE(store_.quarantine_checkpoint(id(1, 10), "a flipped bit"));
  EXPECT_THAT(pinned_in_survey(), ElementsAre("step 10 of attempt 1: best accuracy"));
}

INSTANTIATE_TEST_SUITE_P(Places, PinsTest, testing::Values(Seen::kAsFolder, Seen::kAsStore),
                         [](const auto& place) {
                           return place.param == Seen::kAsStore ? "Store" : "Folder";
                         });

TEST(ChoosePin, WithoutASelectionThereMustBeOne) {
  const std::vector<Pin> several = {{id(2, 10), "a"}, {id(1, 20), "b"}, {id(1, 10), "c"}};
  EXPECT_EQ(choose_pin({several[1]}, {})->why, "b");
  EXPECT_EQ(choose_pin(several, {.step = 20})->why, "b");
  EXPECT_EQ(choose_pin(several, {.attempt = 2})->why, "a");
  EXPECT_EQ(choose_pin(several, {.step = 10, .attempt = 1})->why, "c");
  const struct {
    std::vector<Pin> pins;
    CheckpointSelection selection;
    std::string said;
  } refused[] = {{{}, {}, "no checkpoint is pinned here"},
                 {{}, {.step = 10}, "no checkpoint is pinned here"},
                 {several,
                  {},
                  "several checkpoints are pinned; choose one with --step and --attempt: step 10 of attempt "
                  "2, step 20 of attempt 1, "
                  "step 10 of attempt 1"},
                 {several,
                  {.step = 10},
                  "several checkpoints are pinned; choose one with --step and --attempt: step 10 of attempt "
                  "2, step 10 of attempt 1"},
                 {{several[0], several[1]},
                  {.step = 7},
                  "the chosen checkpoint is not pinned; the pinned checkpoints are: step 10 of attempt 2, "
                  "step 20 of attempt 1"}};
  for (const auto& c : refused) {
    const auto pin = choose_pin(c.pins, c.selection);
    ASSERT_FALSE(pin) << c.said;
    EXPECT_EQ(pin.error().message(), c.said);
    EXPECT_EQ(code_of(pin.error()), 82);
  }
  const std::vector<Pin> many(5000, several[0]);
  EXPECT_LT(choose_pin(many, {}).error().message().size(), 400u);
}

TEST(ReasonOfPin, IsOneLineOfText) {
  for (const char* good : {"x", "best accuracy: 0.93", "größte Genauigkeit", " x "})
    EXPECT_EQ(check_pin_reason(good), "") << good;
  for (const char* bad : {"two\nlines", "\x1b[2J", "\x7f", "a\tb", "\xc2\x9b", "\xff"})
    EXPECT_THAT(check_pin_reason(bad), HasSubstr("expected one line")) << bad;
  EXPECT_THAT(check_pin_reason(""), HasSubstr("is empty"));
  EXPECT_THAT(check_pin_reason("  "), HasSubstr("is empty"));
  EXPECT_EQ(check_pin_reason(std::string(256, 'x')), "");
  EXPECT_EQ(check_pin_reason(std::string(257, 'x')), "has 257 bytes; expected 256 at most");
}

}  // namespace
}  // namespace ratoon::cli::pins_test
