#include "cli/run/run_end.h"

#include <map>

#include <gtest/gtest.h>

#include "base/contract/names.h"
#include "tests/support/operator_builders.h"

namespace ratoon::cli::run_end_test {
namespace {

using namespace std::chrono_literals;
namespace env = names::env;

class RunEndTest : public testing::Test {
 protected:
  std::optional<local::RunEnd> end() const {
    return find_run_end(job_, {.at = {4h},
                               .wall_time = {1'700'000'000s},
                               .variable = [this](const char* name) -> std::optional<std::string> {
                                 const auto found = variables_.find(name);
                                 if (found == variables_.end()) return std::nullopt;
                                 return found->second;
                               }});
  }
  Duration left() const {
    const auto found = end();
    EXPECT_TRUE(found);
    return found ? found->at - Timestamp{4h} : Duration(0);
  }
  void say(const std::vector<std::string>& words) { job_.spec.roles[0].command = words; }

  api::TrainingJob job_ = test::job();
  std::map<std::string, std::string> variables_;
};

TEST_F(RunEndTest, IsTheTimeLimitOfTheTrainer) {
  EXPECT_FALSE(end());
  variables_[env::kTimeLimit] = "3h";
  EXPECT_EQ(left(), 3h);
  job_.spec.roles[0].environment = {{env::kTimeLimit, "2h"}};
  EXPECT_EQ(left(), 2h) << "the container's variable outweighs that of the shell";
  say({"train", "--time-limit=5m", "--time-limit", "90s", "--", "--time-limit", "1s"});
  EXPECT_EQ(left(), 90s) << "the last flag of the trainer counts";
  EXPECT_EQ(end()->reason, "the time limit of 1m30s");
}

TEST_F(RunEndTest, IsTheEndOfTheSlurmJobIfThatIsEarlier) {
  variables_[env::kSlurmJobEndTime] = "1700000600";
  EXPECT_EQ(left(), 10min);
  EXPECT_EQ(end()->reason, "the end of the Slurm job");
  say({"train", "--time-limit", "11m"});
  EXPECT_EQ(left(), 10min);
  say({"train", "--time-limit", "9m"});
  EXPECT_EQ(left(), 9min);
}

TEST_F(RunEndTest, IsNothingForTextsThatTheTrainerRefusesOrDoesNotRead) {
  for (const char* text : {"", "4", "4ep", "0h", "soon", "366d"}) {
    say({"train", "--time-limit", text});
    EXPECT_FALSE(end()) << text;
  }
  say({"train"});
  for (const char* text : {"", "soon", "-1", "1.5", "99999999999"}) {
    variables_[env::kSlurmJobEndTime] = text;
    EXPECT_FALSE(end()) << text;
  }
  say({"train", "--time-limit", "9m"});
  job_.spec.roles[0].has_agent = false;
  EXPECT_FALSE(end()) << "the flag may mean anything to that program";
}

}  // namespace
}  // namespace ratoon::cli::run_end_test
