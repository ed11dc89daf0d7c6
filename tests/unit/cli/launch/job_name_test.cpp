#include "cli/launch/job_name.h"

#include <gtest/gtest.h>

namespace ratoon::cli::job_name_test {
namespace {

using Command = std::vector<std::string>;

TEST(JobName, IsThatOfTheProgram) {
  EXPECT_EQ(job_name_of({"/opt/My_Trainer-2", "--steps", "5"}), "mytrainer-2");
  EXPECT_EQ(job_name_of({"./7"}), "trainer");
  EXPECT_EQ(job_name_of({"train.py"}), "trainpy");
}

TEST(JobName, AnInterpreterRunsAScriptOrAModuleOfThatName) {
  EXPECT_EQ(job_name_of({"python3", "first.py", "--lr", "0.1"}), "first");
  EXPECT_EQ(job_name_of({"/usr/bin/python3.11", "-u", "-W", "ignore", "dir/second.py"}), "second");
  EXPECT_EQ(job_name_of({"python", "-um", "package.train"}), "package-train");
  EXPECT_EQ(job_name_of({"python", "-mpackage.tune", "--lr", "1"}), "package-tune");
  EXPECT_EQ(job_name_of({"python3", "-Xtracemalloc", "-Wd", "fourth.py"}), "fourth");
  EXPECT_EQ(job_name_of({"julia", "-t", "4", "fifth.jl"}), "fifth");
  EXPECT_EQ(job_name_of({"env", "A=/b", "-u", "C", "python3", "third.py"}), "third");
  EXPECT_EQ(job_name_of({"env", "LD_PRELOAD=x", "digits", "--steps", "5"}), "digits");
  EXPECT_EQ(job_name_of({"bash", "-e", "./run.sh"}), "run");
}

TEST(JobName, ThereIsNoneWithoutAFile) {
  for (const Command& command :
       {Command{"python3", "-c", "print()"}, Command{"sh", "-ec", "digits"}, Command{"python3"},
        Command{"python3", "-m"}, Command{"env", "python3", "-uc", "pass"}})
    EXPECT_EQ(job_name_of(command), std::nullopt) << command.back();
}

}  // namespace
}  // namespace ratoon::cli::job_name_test
