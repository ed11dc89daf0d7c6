#include "agent/src/session/telemetry/time_accounts.h"

#include <gtest/gtest.h>

namespace ratoon::session::time_accounts_test {
namespace {

using namespace std::chrono_literals;

class TimeAccountsTest : public testing::Test {
 protected:
  // A duration in a phase, with a number of steps in the weights.
  void spend(ProcessPhase phase, std::uint64_t step, Duration time) {
    accounts_.enter(phase, step);
    clock_.advance(time);
  }
  Duration of(Part part) const { return accounts_.process_account().of(part); }
  Duration of_run(Part part) const { return accounts_.run_ledger()->account.of(part); }

  ManualClock clock_{{.since_boot = 77s}, {.since_epoch = 1'700'000'000s}};
  TimeAccounts accounts_{clock_};
};

TEST_F(TimeAccountsTest, BooksEachPhaseInItsPart) {
  clock_.advance(3s);
  spend(ProcessPhase::kLoad, 0, 2s);
  spend(ProcessPhase::kCompute, 0, 10s);
  spend(ProcessPhase::kCollective, 0, 100ms);
  spend(ProcessPhase::kUser, 0, 10ms);
  spend(ProcessPhase::kData, 0, 7s);
  spend(ProcessPhase::kSave, 1, 500ms);
  spend(ProcessPhase::kValidate, 1, 20s);
  accounts_.note_waiting_for_members();
  clock_.advance(40s);
  accounts_.leave();
  clock_.advance(1s);
  EXPECT_EQ(of(Part::kRestarting), 6s);
  EXPECT_EQ(of(Part::kUseful), 10s + 110ms);
  EXPECT_EQ(of(Part::kDataWait), 7s);
  EXPECT_EQ(of(Part::kSaveStall), 500ms);
  EXPECT_EQ(of(Part::kValidation), 20s);
  EXPECT_EQ(of(Part::kWaitingForCapacity), 40s);
  EXPECT_EQ(accounts_.process_account().total(), clock_.now() - Timestamp{.since_boot = 77s});
  EXPECT_EQ(accounts_.run_ledger(), std::nullopt) << "another process is rank 0";
}

TEST_F(TimeAccountsTest, WhoWaitedForARankThatHungHasLostThatTime) {
  spend(ProcessPhase::kCompute, 0, 10s);
  spend(ProcessPhase::kCollective, 0, 31s);
  accounts_.note_hang();
  accounts_.leave();
  spend(ProcessPhase::kCompute, 0, 5s);
  accounts_.note_hang();  // it did not wait: another rank hung
  accounts_.leave();
  EXPECT_EQ(of(Part::kHung), 31s);
  EXPECT_EQ(of(Part::kUseful), 15s);
}

TEST_F(TimeAccountsTest, WhatWasLostIsMadeAgain) {
  accounts_.continue_run_account(std::nullopt, Attempt(1));
  for (std::uint64_t step = 0; step < 7; ++step) spend(ProcessPhase::kCompute, step, 1s);
  spend(ProcessPhase::kValidate, 7, 5s);
  spend(ProcessPhase::kCompute, 7, 1s);
  accounts_.leave();
  accounts_.continue_run_account(LastRecord{.attempt = Attempt(1), .ledger = *accounts_.run_ledger()},
                                 Attempt(2));
  for (std::uint64_t step = 4; step < 7; ++step) spend(ProcessPhase::kCompute, step, 1s);
  spend(ProcessPhase::kValidate, 7, 5s);
  for (std::uint64_t step = 7; step < 9; ++step) spend(ProcessPhase::kCompute, step, 1s);
  EXPECT_EQ(of_run(Part::kRecomputed), 3s + 5s);
  EXPECT_EQ(of_run(Part::kValidation), 5s);
  EXPECT_EQ(of_run(Part::kUseful), 10s);
  EXPECT_EQ(of_run(Part::kRestarting), 0s) << "its own last word is no downtime";
}

TEST_F(TimeAccountsTest, AValidationThatWasCutOffIsNotMadeAgain) {
  spend(ProcessPhase::kValidate, 7, 2s);
  accounts_.leave();
  spend(ProcessPhase::kValidate, 7, 5s);
  EXPECT_EQ(of(Part::kRecomputed), 0s);
  EXPECT_EQ(of(Part::kValidation), 7s);
}

TEST_F(TimeAccountsTest, AValidationThatWaitsForSamplesGoesOn) {
  spend(ProcessPhase::kValidate, 7, 2s);
  spend(ProcessPhase::kData, 7, 1s);
  spend(ProcessPhase::kValidate, 7, 5s);
  EXPECT_EQ(of(Part::kValidation), 7s);
  EXPECT_EQ(of(Part::kDataWait), 1s);
  spend(ProcessPhase::kCompute, 7, 1s);
  spend(ProcessPhase::kValidate, 7, 3s);
  EXPECT_EQ(of(Part::kRecomputed), 3s);
}

TEST_F(TimeAccountsTest, AValidationThatAddsUpOverRanksGoesOn) {
  spend(ProcessPhase::kValidate, 7, 5s);
  spend(ProcessPhase::kCollective, 7, 1s);
  spend(ProcessPhase::kValidate, 7, 100s);
  EXPECT_EQ(of(Part::kValidation), 105s);
  EXPECT_EQ(of(Part::kRecomputed), 0s);
}

TEST_F(TimeAccountsTest, GoesOnFromTheLastWordOfAnother) {
  clock_.advance(4s);  // until a world was joined
  const LastRecord last{.attempt = Attempt(6),
                        .ledger = {.account = Account().plus(Part::kUseful, 100s).plus(Part::kHung, 3s),
                                   .at = {.since_epoch = 1'700'000'000s - 50s},
                                   .step = 40,
                                   .newest_step = 43,
                                   .newest_validated_step = 42}};
  accounts_.continue_run_account(last, Attempt(7));
  spend(ProcessPhase::kCompute, 42, 1s);
  spend(ProcessPhase::kValidate, 42, 1s);
  spend(ProcessPhase::kCompute, 43, 1s);
  const RunLedger run = *accounts_.run_ledger();
  EXPECT_EQ(run.account.of(Part::kUseful), 101s);
  EXPECT_EQ(run.account.of(Part::kRecomputed), 2s);
  EXPECT_EQ(run.account.of(Part::kHung), 3s);
  EXPECT_EQ(run.account.of(Part::kRestarting), 54s) << "while there was no process, and while there was";
  EXPECT_EQ(run.account.total(), 103s + 50s + 7s);
  EXPECT_EQ(run.step, 43u);
  EXPECT_EQ(run.newest_step, 43u);
  EXPECT_EQ(accounts_.process_account().total(), 7s);
}

TEST_F(TimeAccountsTest, RankZeroMayHaveBeenElsewhereForAWhile) {
  accounts_.continue_run_account(std::nullopt, Attempt(1));
  spend(ProcessPhase::kCompute, 0, 10s);
  accounts_.leave();
  clock_.advance(30s);  // somebody else's attempt 2, who wrote 5 s ago
  const LastRecord last{.attempt = Attempt(2),
                        .ledger = {.account = Account().plus(Part::kUseful, 35s),
                                   .at = {.since_epoch = clock_.wall_now().since_epoch - 5s},
                                   .step = 9,
                                   .newest_step = 9}};
  accounts_.continue_run_account(last, Attempt(3));
  clock_.advance(1s);
  EXPECT_EQ(of_run(Part::kUseful), 35s);
  EXPECT_EQ(of_run(Part::kRestarting), 6s);
}

}  // namespace
}  // namespace ratoon::session::time_accounts_test
