// What a launched program finds in its environment and its command, and which settings its launcher refuses.
#include "launcher/program_environment.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "launcher/member_settings.h"
#include "launcher/notice_file.h"

namespace ratoon::launcher::program_environment_test {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables kPlace = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};

TEST(ProgramEnvironment, HasThePlaceInTheWorld) {
  const Assignment assignment{
      .attempt = Attempt(3), .rank = Rank(1), .world_size = 4, .rendezvous = "10.0.0.1:29500"};
  EXPECT_EQ(*place_variables(assignment), kPlace);
  EXPECT_EQ(place_variables({.rendezvous = "[fd00::7]:29500"})->at("MASTER_ADDR"), "fd00::7");
  EXPECT_EQ(place_variables({.rendezvous = "10.0.0.1"}).error().kind(), ErrorKind::kInvalid);
}

TEST(ProgramEnvironment, HasNothingByWhichTheLauncherReachesItsCoordinator) {
  const std::vector<std::string> inherited = {"PATH=/bin",
                                              "RATOON_COORDINATOR_URL=https://10.0.0.9:9443",
                                              "RATOON_COORDINATOR_CA=pem",
                                              "RATOON_COORDINATOR_NAME=door",
                                              "RATOON_TOKEN_FILE=/token",
                                              "RATOON_LIFELINE_FD=3",
                                              "RATOON_JOB_NAME=a",
                                              "MASTER_PORT=1"};
  const std::vector<std::string> expected = {"PATH=/bin", "RATOON_JOB_NAME=a", "MASTER_PORT=29500"};
  EXPECT_EQ(program_environment(inherited, {{"MASTER_PORT", "29500"}}), expected);
}

TEST(ProgramEnvironment, ReferencesInTheCommandAreReplacedAsKubernetesDoes) {
  EXPECT_EQ(expand_place("--node-rank=$(RANK)", kPlace), "--node-rank=1");
  EXPECT_EQ(expand_place("$(MASTER_ADDR):$(MASTER_PORT)", kPlace), "10.0.0.1:29500");
  EXPECT_EQ(expand_place("$(date) $(RANK $RANK $(RANK)", kPlace), "$(date) $(RANK $RANK 1");
  EXPECT_EQ(expand_place("", kPlace), "");
  EXPECT_EQ(expand_place("$(", kPlace), "$(");
}

Variables member_variables() {
  return {{"RATOON_JOB_NAMESPACE", "team-a"},
          {"RATOON_JOB_NAME", "any"},
          {"RATOON_ROLE", "worker"},
          {"RATOON_INDEX", "2"},
          {"RATOON_INCARNATION", "1"},
          {"RATOON_MEMBER_UID", "u"},
          {"RATOON_COORDINATOR_URL", "https://10.96.0.7:9443"},
          {"RATOON_COORDINATOR_NAME", "door.ratoon.svc"},
          {"RATOON_TOKEN_FILE", "/token"},
          {"RATOON_POD_IP", "10.0.0.5"},
          {"MASTER_PORT", "29500"},
          {"RATOON_GRACE_SECONDS", "45"}};
}

Result<MemberSettings> read(const Variables& variables) {
  return read_member_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(MemberSettings, AreReadFromTheEnvironment) {
  const auto settings = read(member_variables());
  ASSERT_TRUE(settings) << settings.error().message();
  EXPECT_EQ(settings->process.job.name, "any");
  EXPECT_EQ(settings->process.index, 2U);
  EXPECT_EQ(settings->host, "10.0.0.5");
  EXPECT_EQ(settings->master_port, 29500);
  EXPECT_EQ(settings->tls.server_name, "door.ratoon.svc");
  EXPECT_EQ(settings->times.grace, std::chrono::seconds(45));
  EXPECT_EQ(settings->times.leave, std::chrono::seconds(2));
}

TEST(MemberSettings, WithoutAPodTheMemberIsOnLoopbackAndTakesAFreePort) {
  auto variables = member_variables();
  variables.erase("RATOON_POD_IP");
  variables.erase("MASTER_PORT");
  const auto settings = read(variables);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->host, "127.0.0.1");
  EXPECT_EQ(settings->master_port, 0);
}

TEST(MemberSettings, ANameOfTheCoordinatorIsRefusedBecauseNothingLooksItUp) {
  auto variables = member_variables();
  variables["RATOON_COORDINATOR_URL"] = "https://ratoon-coordinator.ratoon.svc:9443";
  const std::string message = read(variables).error().message();
  EXPECT_NE(message.find("RATOON_COORDINATOR_URL"), std::string::npos) << message;
  EXPECT_NE(message.find("give the IP address"), std::string::npos) << message;
}

TEST(MemberSettings, AMissingOrWrongVariableIsNamed) {
  for (const char* name :
       {"RATOON_COORDINATOR_URL", "RATOON_TOKEN_FILE", "RATOON_MEMBER_UID", "RATOON_JOB_NAME"}) {
    auto variables = member_variables();
    variables.erase(name);
    EXPECT_TRUE(read(variables).error().message().starts_with(std::string(name) + " is not set")) << name;
  }
  auto variables = member_variables();
  variables["MASTER_PORT"] = "70000";
  EXPECT_TRUE(read(variables).error().message().starts_with("MASTER_PORT is '70000'"));
}

TEST(Notice, IsALineOfJson) {
  const std::string text = notice_text(WallTime{std::chrono::milliseconds(1500)}, "node-2 \"ends\"\n");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(nlohmann::json::parse(text),
            (nlohmann::json{{"deadline_unix_seconds", 1.5}, {"reason", "node-2 \"ends\"\n"}}));
}

}  // namespace
}  // namespace ratoon::launcher::program_environment_test
