#include "agent/src/session/telemetry/ledger.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace ratoon::session::ledger_test {
namespace {

using namespace std::chrono_literals;

Timestamp at(Duration d) {
  return {.since_boot = 1000s + d};
}

TEST(Ledger, BooksEachMomentInOnePart) {
  Ledger ledger(at(0s));
  ledger.enter(Part::kUseful, at(3s));
  ledger.enter(Part::kSaveStall, at(10s));
  ledger.enter(Part::kUseful, at(10s + 1ns));
  const Account account = ledger.account(at(20s));
  EXPECT_EQ(account.of(Part::kRestarting), 3s);
  EXPECT_EQ(account.of(Part::kSaveStall), 1ns);
  EXPECT_EQ(account.of(Part::kUseful), 17s - 1ns);
  EXPECT_EQ(account.total(), 20s);
  EXPECT_EQ(ledger.account(at(20s)), account);  // looking changes nothing
}

TEST(Ledger, GoesOnWithWhatWasBefore) {
  Ledger first(at(0s));
  first.enter(Part::kUseful, at(1s));
  const Account left = first.account(at(5s)).plus(Part::kWaitingForCapacity, downtime({100s}, {160s}));
  Ledger second(at(500s), left);
  second.enter(Part::kRecomputed, at(502s));
  const Account account = second.account(at(503s));
  EXPECT_EQ(account.of(Part::kUseful), 4s);
  EXPECT_EQ(account.of(Part::kRestarting), 1s + 2s);
  EXPECT_EQ(account.of(Part::kWaitingForCapacity), 60s);
  EXPECT_EQ(account.of(Part::kRecomputed), 1s);
  EXPECT_EQ(account.total(), 5s + 60s + 3s);
  EXPECT_EQ(left.plus(left).of(Part::kUseful), 8s);
}

TEST(Ledger, AHangIsBookedFromWhenItBegan) {
  Ledger ledger(at(0s));
  ledger.enter(Part::kUseful, at(10s));
  ledger.reclassify(Part::kHung, at(15s), at(45s));
  EXPECT_EQ(ledger.part(), Part::kHung);
  EXPECT_EQ(ledger.account(at(45s)).of(Part::kUseful), 5s);
  EXPECT_EQ(ledger.account(at(50s)).of(Part::kHung), 35s);
  // The time of another part stays its own.
  ledger.enter(Part::kSaveStall, at(50s));
  ledger.reclassify(Part::kHung, at(0s), at(60s));
  EXPECT_EQ(ledger.account(at(60s)).of(Part::kUseful), 5s);
  EXPECT_EQ(ledger.account(at(60s)).of(Part::kSaveStall), 0s);
  EXPECT_EQ(ledger.account(at(60s)).of(Part::kHung), 45s);
  EXPECT_EQ(ledger.account(at(60s)).total(), 60s);
}

TEST(Ledger, AHangStaysBookedUpToWhenItWasTold) {
  Ledger ledger(at(0s));
  ledger.reclassify(Part::kHung, at(15s), at(45s));
  ledger.enter(Part::kRestarting, at(40s));
  EXPECT_EQ(ledger.account(at(50s)).of(Part::kHung), 30s);
  EXPECT_EQ(ledger.account(at(50s)).of(Part::kRestarting), 15s + 5s);
}

TEST(Ledger, AHangThatBeginsAfterNowBeginsNow) {
  Ledger ledger(at(0s));
  ledger.reclassify(Part::kHung, at(30s), at(10s));
  EXPECT_EQ(ledger.account(at(12s)).of(Part::kRestarting), 10s);
  EXPECT_EQ(ledger.account(at(12s)).of(Part::kHung), 2s);
}

TEST(Ledger, TimeThatGoesBackIsNoTime) {
  Ledger ledger(at(10s));
  ledger.enter(Part::kUseful, at(5s));
  ledger.enter(Part::kDataWait, at(12s));
  ledger.enter(Part::kUseful, at(11s));
  EXPECT_EQ(ledger.account(at(9s)).total(), 2s);
  EXPECT_EQ(ledger.account(at(13s)).total(), 3s);
  EXPECT_EQ(ledger.account(at(13s)).of(Part::kDataWait), 0s);
  EXPECT_EQ(downtime({50s}, {40s}), 0s);
}

TEST(Ledger, AStepCountsOnce) {
  // 120 steps were made, 100 were saved: 100 to 119 are made again, the next is new.
  EXPECT_EQ(part_of_step(100, 120), Part::kRecomputed);
  EXPECT_EQ(part_of_step(119, 120), Part::kRecomputed);
  EXPECT_EQ(part_of_step(120, 120), Part::kUseful);
  EXPECT_EQ(part_of_step(0, 0), Part::kUseful);
  EXPECT_EQ(part_of_validation(100, 100), Part::kRecomputed);
  EXPECT_EQ(part_of_validation(0, std::nullopt), Part::kValidation);
  EXPECT_EQ(part_of_validation(200, 100), Part::kValidation);
}

TEST(Ledger, PartsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kParts; ++i) names.emplace(name_of(static_cast<Part>(i)));
  EXPECT_EQ(names.size(), kParts);
  EXPECT_TRUE(names.contains("waiting_for_capacity"));
}

}  // namespace
}  // namespace ratoon::session::ledger_test
