// Names of launches that come from the processes of this machine.
#include "agent/src/session/options/launch_names.h"

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ratoon::session::launch_names_test {
namespace {

constexpr const char* kVariable = "RATOON_TEST_LAUNCH";

// What a grandchild of this process finds, behind a shell that has the variable.
std::string ask_behind_shell() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    const std::string self = "/proc/self/exe";
    std::array<char, 4096> path{};
    if (::readlink(self.c_str(), path.data(), path.size() - 1) < 0) ::_exit(1);
    const std::string command = "sh -c '" + std::string(path.data()) +
                                " --gtest_filter=*SaysItsAncestor --gtest_brief=1; true'; true";
    ::setenv(kVariable, "1", 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 256> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
    said.append(part.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  const std::size_t at = said.find("ancestor ");
  return at == std::string::npos ? said : said.substr(at + 9, said.find('\n', at) - at - 9);
}

// Run by the test below, as a process of its own.
TEST(LaunchNames, SaysItsAncestor) {
  if (std::getenv(kVariable) == nullptr) return;
  std::printf("ancestor %s\n", identify_ancestor_without_variable(kVariable).value().c_str());
}

TEST(LaunchNames, TheLauncherIsTheClosestProcessWithoutTheVariable) {
  const std::string first = ask_behind_shell();
  EXPECT_EQ(first.substr(0, first.find(' ')), std::to_string(::getpid()));
  EXPECT_EQ(first, ask_behind_shell()) << "another process of the launch";
  EXPECT_GT(first.size(), std::to_string(::getpid()).size() + 1) << "with the time of its start";
}

TEST(LaunchNames, AVariableThatNoProcessHasIsFromTheParent) {
  const std::string parent = identify_ancestor_without_variable(kVariable).value();
  EXPECT_EQ(parent.substr(0, parent.find(' ')), std::to_string(::getppid()));
}

}  // namespace
}  // namespace ratoon::session::launch_names_test
