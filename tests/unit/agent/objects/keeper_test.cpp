// The way in which credentials are kept fresh.
#include <deque>
#include <latch>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/credentials/credential_cache.h"

namespace ratoon::objects::keeper_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ScriptedSource final : public CredentialSource {
 public:
  using Answer = Result<std::optional<Credentials>>;
  Answer fetch(const std::stop_token&) override {
    ++fetches;
    for (int i = 0; i < yields; ++i) std::this_thread::yield();
    if (answers.empty()) return Error(ErrorKind::kUnavailable, "the token service is away");
    Answer answer = answers.front();
    answers.pop_front();
    return answer;
  }
  std::string missing_reason() const override { return "a script"; }

  std::deque<Answer> answers;
  int fetches = 0;
  int yields = 0;  // so that others come meanwhile
};

class KeeperTest : public testing::Test {
 protected:
  KeeperTest() {
    auto source = std::make_unique<ScriptedSource>();
    source_ = source.get();
    credential_cache_ = std::make_unique<CredentialCache>(std::move(source), clock_);
  }
  Credentials ending_in(const std::string& id, Duration life) {
    return {.access_key_id = id,
            .secret_access_key = "S",
            .expires_at = WallTime{clock_->wall_now().since_epoch + life},
            .source = "a script"};
  }
  std::string id() {
    const auto current = credential_cache_->current({});
    return current ? current->access_key_id : current.error().message();
  }

  std::shared_ptr<ManualClock> clock_ =
      std::make_shared<ManualClock>(Timestamp{}, parse_rfc3339("2026-03-01T12:00:00Z").value());
  ScriptedSource* source_ = nullptr;
  std::unique_ptr<CredentialCache> credential_cache_;
};

TEST_F(KeeperTest, FetchesOnceAndAgainBeforeTheEnd) {
  source_->answers = {std::optional(ending_in("first", 1h))};
  EXPECT_EQ(id(), "first");
  clock_->advance(44min);
  EXPECT_EQ(id(), "first");
  EXPECT_EQ(source_->fetches, 1);
  source_->answers = {std::optional(ending_in("second", 1h))};
  clock_->advance(1min);
  EXPECT_EQ(id(), "second");
}

TEST_F(KeeperTest, OldOnesServeAsLongAsTheyAreGood) {
  source_->answers = {std::optional(ending_in("first", 1h))};
  EXPECT_EQ(id(), "first");
  clock_->advance(50min);
  EXPECT_EQ(id(), "first") << "the token service is away";
  EXPECT_EQ(id(), "first");
  EXPECT_EQ(source_->fetches, 2) << "it is not asked with every request";
  clock_->advance(1min);
  EXPECT_EQ(id(), "first");
  EXPECT_EQ(source_->fetches, 3);
  clock_->advance(9min);
  EXPECT_EQ(
      id(),
      "the credentials from a script expired at 2026-03-01T13:00:00.000Z, and new ones could not be fetched: "
      "the token service is away");
  source_->answers = {std::optional(ending_in("second", 1h))};
  EXPECT_EQ(id(), "second");
}

TEST_F(KeeperTest, WhatHasEndedIsNotUsed) {
  source_->answers = {std::optional(ending_in("old", -1min))};
  EXPECT_THAT(id(), HasSubstr("the credentials from a script expired at 2026-03-01T11:59:00.000Z; the time "
                              "is now 2026-03-01T12:00:00"));
}

TEST_F(KeeperTest, RejectedCredentialsAreFetchedAgainEachTime) {
  source_->answers = {std::optional(ending_in("first", 1h)), std::optional(ending_in("first", 1h)),
                      std::optional(ending_in("second", 1h))};
  const Credentials first = credential_cache_->current({}).value();
  credential_cache_->report_rejected(first);
  EXPECT_EQ(credential_cache_->current({}).value(), first) << "no other ones exist yet";
  credential_cache_->report_rejected(first);
  EXPECT_EQ(id(), "second") << "the file was corrected in the meantime";
}

TEST_F(KeeperTest, RejectedOldCredentialsLeaveTheNewOnes) {
  source_->answers = {std::optional(ending_in("first", 1h))};
  const Credentials first = credential_cache_->current({}).value();
  clock_->advance(45min);
  source_->answers = {std::optional(ending_in("second", 1h))};
  EXPECT_EQ(id(), "second");
  credential_cache_->report_rejected(first);
  EXPECT_EQ(id(), "second");
  EXPECT_EQ(source_->fetches, 2);
}

TEST_F(KeeperTest, ThreadsShareOneFetch) {
  source_->yields = 10'000;
  std::latch all_here(8);
  source_->answers = {std::optional(ending_in("first", 1h))};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      all_here.arrive_and_wait();
      EXPECT_EQ(id(), "first");
    });
  }
  threads.clear();
  EXPECT_EQ(source_->fetches, 1);
}

}  // namespace
}  // namespace ratoon::objects::keeper_test
