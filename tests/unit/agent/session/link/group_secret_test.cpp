// The secret by which the ranks of an attempt know each other, without a coordinator that sends it.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/other_user.h"
#include "tests/unit/agent/session/link/group_link_fixture.h"

namespace ratoon::session::group_secret_test {
namespace {

using testing::HasSubstr;

constexpr auto kOwnersAlone = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

// The secret is in answers that only their owner may read; each attempt has its own secret.
TEST_F(GroupLinkTest, TheRanksOfAnAttemptShareASecretThatOthersCannotRead) {
  const auto zero = opened(0);
  const auto one = opened(1);
  std::set<std::string> secrets;
  int answers = 0;  // that have the secret
  for (std::uint64_t attempt = 1; attempt <= 2; ++attempt) {
    auto a = join(*zero);
    auto b = join(*one);
    const Assignment of_zero = got(std::move(a));
    EXPECT_EQ(of_zero.secret.size(), 2 * kSecretBytes);
    EXPECT_EQ(got(std::move(b)).secret, of_zero.secret);
    secrets.insert(of_zero.secret);
    for (const auto& file : std::filesystem::recursive_directory_iterator(run_)) {
      if (!file.is_regular_file()) continue;
      // Another user who could open a lock could hold it, and keep the rank from starting.
      if (file.path().extension() == ".lock") {
        EXPECT_EQ(file.status().permissions(), kOwnersAlone) << file.path();
      }
      const bool has_it = test::read_text(file.path()).find(of_zero.secret) != std::string::npos;
      const bool is_answer =
          file.path().filename().string().starts_with('a') && file.path().extension() == ".yes";
      EXPECT_TRUE(!has_it || is_answer) << file.path();
      if (!has_it) continue;
      ++answers;
      EXPECT_EQ(file.status().permissions(), kOwnersAlone);
    }
  }
  EXPECT_EQ(secrets.size(), 2u);
  EXPECT_EQ(answers, 2) << "one of rank 1 in each attempt";
}

TEST_F(GroupLinkTest, ARankOfAnotherUserIsToldWhyItHasNoWorld) {
  const auto folder = RendezvousFolder::open(run_, {.rank = 1, .size = 2, .name = name_});
  ASSERT_TRUE(folder);
  const Assignment assignment{.attempt = Attempt(1), .world_size = 2, .rendezvous = "127.0.0.1:1"};
  ASSERT_TRUE(folder->answer("call", {.assignment = assignment, .first_call = "first"}));
  ASSERT_EQ(::chmod((run_ / "meeting" / (name_ + "-of-2") / "acall.yes").c_str(), 0), 0);
  const auto answer = [&] {
    const ratoon::test::OtherUser other;
    return folder->find_answer("call");
  }();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(answer.error().message(), HasSubstr("run all ranks as the same user"));
}

}  // namespace
}  // namespace ratoon::session::group_secret_test
