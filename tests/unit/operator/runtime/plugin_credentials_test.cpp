#include "operator/runtime/api_server/plugin_credentials.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/runtime/api_server/kubeconfig.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::runtime::plugin_credentials_test {
namespace {

using testing::HasSubstr;

constexpr auto kStart = WallTime{std::chrono::hours(24 * 365 * 50)};

kube::CredentialPlugin plugin() {
  return {.api_version = "client.authentication.k8s.io/v1",
          .command = "login",
          .arguments = {"--for", "training"},
          .variables = {{"PROFILE", "research"}},
          .install_hint = "take login from its page"};
}

// A plugin whose tokens are numbered and live for an hour.
class Fetching {
 public:
  explicit Fetching(const ManualClock& clock) : clock_(clock) {}

  Result<std::string> operator()(const ProgramCall& call) {
    last = call;
    if (fails_with) return *fails_with;
    const WallTime ends{clock_.wall_now().since_epoch + std::chrono::hours(1)};
    return R"({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
              "status": {"token": "t)" +
           std::to_string(++count) + R"(", "expirationTimestamp": ")" + format_rfc3339(ends) + R"("}})";
  }

  int count = 0;
  ProgramCall last;
  std::optional<Error> fails_with;

 private:
  const ManualClock& clock_;
};

class PluginCredentialsTest : public testing::Test {
 protected:
  ManualClock clock_{Timestamp{}, kStart};
  Fetching fetching_{clock_};
  RunProgram run_ = [this](const ProgramCall& call) { return fetching_(call); };
  PluginCredentials credentials_{plugin(), fetch_credential(plugin(), run_).value(), clock_, run_};
};

TEST_F(PluginCredentialsTest, ThePluginIsRunWithItsWordsAndVariables) {
  EXPECT_THAT(fetching_.last.words, testing::ElementsAre("login", "--for", "training"));
  EXPECT_EQ(fetching_.last.variables.at("PROFILE"), "research");
}

TEST_F(PluginCredentialsTest, ATokenIsUsedUntilShortlyBeforeItsEnd) {
  EXPECT_EQ(*credentials_.token(), "t1");
  clock_.advance(std::chrono::minutes(59));
  EXPECT_EQ(*credentials_.token(), "t1");
  clock_.advance(std::chrono::seconds(50));
  EXPECT_EQ(*credentials_.token(), "t2");
  EXPECT_EQ(fetching_.count, 2);
}

TEST_F(PluginCredentialsTest, ATokenThatIsRefusedIsFetchedAgainOnce) {
  credentials_.mark_refused("t1");
  EXPECT_EQ(*credentials_.token(), "t2");
  credentials_.mark_refused("t1");  // of a call that was under way
  EXPECT_EQ(*credentials_.token(), "t2");
}

TEST_F(PluginCredentialsTest, AFailureIsToldAndTriedAgainByTheNextCall) {
  credentials_.mark_refused("t1");
  fetching_.fails_with = Error(ErrorKind::kUnavailable, "'login' ended with exit code 3");
  EXPECT_THAT(credentials_.token().error().message(), HasSubstr("exit code 3"));
  fetching_.fails_with.reset();
  EXPECT_EQ(*credentials_.token(), "t2");
}

TEST_F(PluginCredentialsTest, AProgramThatIsNotThereIsNamedWithTheHint) {
  fetching_.fails_with = Error(ErrorKind::kNotFound, "starting 'login': No such file or directory");
  const auto failed = fetch_credential(plugin(), run_);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(failed.error().message(), HasSubstr("the kubeconfig says: take login from its page"));
}

TEST(RunProgram, GivesWhatWasPrinted) {
  const auto printed =
      run_program({.words = {"sh", "-c", "cat; echo \"$A $B\""}, .variables = {{"A", "one"}, {"B", "two"}}});
  ASSERT_TRUE(printed) << printed.error().message();
  EXPECT_EQ(*printed, "one two\n") << "and it reads nothing";
}

TEST(RunProgram, SaysHowItFailed) {
  EXPECT_EQ(run_program({.words = {"no-such-program-of-ratoon"}}).error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(run_program({.words = {"sh", "-c", "exit 3"}}).error().message(), HasSubstr("exit code 3"));
  EXPECT_THAT(run_program({.words = {"sh", "-c", "kill -9 $$"}}).error().message(), HasSubstr("signal 9"));
}

TEST(RunProgram, KillsWithItsChildrenWhatDoesNotEnd) {
  for (const char* words : {"sleep 1000000 & wait", "exec >&-; sleep 1000000"}) {
    const auto late = run_program({.words = {"sh", "-c", words}, .timeout = std::chrono::milliseconds(200)});
    ASSERT_FALSE(late) << words;
    EXPECT_EQ(late.error().kind(), ErrorKind::kTimeout) << late.error().message();
  }
}

TEST(RunProgram, KillsWhatPrintsWithoutEnd) {
  const auto endless = run_program({.words = {"yes"}, .timeout = std::chrono::hours(1)});
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().kind(), ErrorKind::kTimeout);
}

class KubeconfigFile : public testing::Test {
 protected:
  KubeconfigFile() { std::filesystem::create_directories(folder_ / "bin"); }

  std::string write(const std::string& exec) {
    const auto file = folder_ / "config";
    std::ofstream(file) << "current-context: a\n"
                           "contexts: [{name: a, context: {cluster: c, user: u}}]\n"
                           "clusters: [{name: c, cluster: {server: 'https://h:6443'}}]\n"
                           "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
                        << exec << "}}}]\n";
    return file.string();
  }

  const test::TemporaryFolder folder_;
};

TEST_F(KubeconfigFile, APluginGivesTheTokenOrTheCertificate) {
  ProgramCall asked;
  const auto access = read_kubeconfig(
      write("command: bin/login, interactiveMode: Never"), "",
      [&](const ProgramCall& call) -> Result<std::string> {
        asked = call;
        return std::string(R"({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                   "status": {"token": "t", "clientCertificateData": "CERT", "clientKeyData": "KEY"}})");
      });
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(asked.words.front(), (folder_ / "bin/login").string()) << "relative to the kubeconfig";
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(access->certificate_pem, "CERT");
  EXPECT_EQ(access->private_key_pem, "KEY");
}

TEST_F(KubeconfigFile, AProgramOfThePathKeepsItsName) {
  ProgramCall asked;
  const auto access =
      read_kubeconfig(write("command: login"), "", [&](const ProgramCall& call) -> Result<std::string> {
        asked = call;
        return Error(ErrorKind::kUnavailable, "'login' ended with exit code 1");
      });
  EXPECT_EQ(asked.words.front(), "login");
  EXPECT_THAT(access.error().message(), HasSubstr("exit code 1"));
}

}  // namespace
}  // namespace ratoon::runtime::plugin_credentials_test
