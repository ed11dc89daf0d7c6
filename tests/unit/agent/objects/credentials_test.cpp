// The places of credentials, in boto3's order. Servers are real, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/src/objects/credentials/chain.h"
#include "agent/src/objects/credentials/credential_cache.h"
#include "agent/src/objects/credentials/shared_config.h"
#include "agent/src/objects/credentials/static_sources.h"
#include "tests/support/other_user.h"
#include "tests/support/scripted_http.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/agent/objects/test_surroundings.h"

namespace ratoon::objects::credentials_test {
namespace {

using namespace std::chrono_literals;
using ratoon::test::reply;
using ratoon::test::ScriptedHttp;
using ratoon::test::ScriptedReply;
using ratoon::test::ScriptedRequest;
using testing::HasSubstr;
using testing::Not;

std::string served(const std::string& id, const std::string& expiration = "2026-03-01T13:00:00Z") {
  return R"({"Code":"Success","AccessKeyId":")" + id +
         R"(","SecretAccessKey":"S","Token":"T","Expiration":")" + expiration + R"("})";
}

std::string assumed(const std::string& id) {
  return "<R><Credentials><AccessKeyId>" + id +
         "</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
         "<Expiration>2026-03-01T13:00:00Z</Expiration></Credentials></R>";
}

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() {
    world_.environment = {{"HOME", folder_.path().string()}, {"AWS_EC2_METADATA_DISABLED", "True"}};
    std::filesystem::create_directory(folder_ / ".aws");
  }
  Result<std::optional<Credentials>> find() {
    return make_default_credential_chain(world_.dependencies(), options_)->fetch({});
  }
  std::string found_id() {
    const auto found = find();
    EXPECT_TRUE(found) << found.error().message();
    return found && *found ? (*found)->access_key_id : "none";
  }
  std::string failure() {
    const auto found = find();
    EXPECT_FALSE(found);
    return found ? "" : found.error().message();
  }
  void set(const std::string& name, const std::string& value) { world_.environment[name] = value; }
  void write_credentials(const std::string& text) {
    ratoon::test::write_text(folder_ / ".aws/credentials", text);
  }
  void write_config(const std::string& text) { ratoon::test::write_text(folder_ / ".aws/config", text); }

  ratoon::test::TemporaryFolder folder_;
  test::TestWorld world_;
  StoreOptions options_;
};

TEST_F(CredentialsTest, NothingAnywhereSaysWhereItLooked) {
  CredentialCache credential_cache(make_default_credential_chain(world_.dependencies(), options_),
                                   world_.clock);
  const auto none = credential_cache.current({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kPermissionDenied);
  for (const std::string place :
       {"AWS_ACCESS_KEY_ID is not set", "'default' has no role_arn", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "'default' has no keys in", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_DISABLED"})
    EXPECT_THAT(none.error().message(), HasSubstr(place));
}

TEST_F(CredentialsTest, TheEnvironmentComesFirst) {
  write_credentials(
      "[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n[team]\naws_access_key_id=TEAM\naws_"
      "secret_access_key=S\n");
  EXPECT_EQ(found_id(), "FILE");
  set("AWS_ACCESS_KEY_ID", "ENV");
  EXPECT_THAT(failure(), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  set("AWS_SECRET_ACCESS_KEY", "S");
  set("AWS_SESSION_TOKEN", "T");
  EXPECT_EQ(find().value().value(), (Credentials{"ENV", "S", "T", std::nullopt, "the environment"}));
  set("AWS_PROFILE", "team");
  EXPECT_EQ(found_id(), "ENV") << "as in boto3, also with AWS_PROFILE";
  options_.profile = "team";
  EXPECT_EQ(found_id(), "TEAM") << "but not where the program names a profile";
}

// As `aws configure export-credentials` writes it.
TEST_F(CredentialsTest, TheEnvironmentsTimeMayHaveAnyOffset) {
  set("AWS_ACCESS_KEY_ID", "ENV");
  set("AWS_SECRET_ACCESS_KEY", "S");
  for (const char* time :
       {"2026-05-01T10:00:00Z", "2026-05-01T10:00:00+00:00", "2026-05-01T12:00:00+02:00"}) {
    set("AWS_CREDENTIAL_EXPIRATION", time);
    EXPECT_EQ(find().value()->expires_at, parse_rfc3339("2026-05-01T10:00:00Z")) << time;
  }
  set("AWS_CREDENTIAL_EXPIRATION", "tomorrow");
  EXPECT_THAT(failure(), HasSubstr("AWS_CREDENTIAL_EXPIRATION is 'tomorrow'"));
}

TEST_F(CredentialsTest, WhereTheyWereFoundOnceTheyAreRenewed) {
  write_credentials("[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n");
  const auto chain = make_default_credential_chain(world_.dependencies(), options_);
  EXPECT_EQ(chain->fetch({}).value()->access_key_id, "FILE");
  set("AWS_ACCESS_KEY_ID", "ENV");
  set("AWS_SECRET_ACCESS_KEY", "S");
  EXPECT_EQ(chain->fetch({}).value()->access_key_id, "FILE") << "no other identity in the midst of a run";
}

TEST_F(CredentialsTest, ProfilesOfBothFiles) {
  write_credentials("[default]\naws_access_key_id=A\naws_secret_access_key=S\naws_session_token=T\n");
  write_config(
      "[profile team]\naws_access_key_id=TEAM\naws_secret_access_key=S\n[profile half]\naws_access_key_id=H\n"
      "[profile sso]\nsso_session=x\n[profile program]\ncredential_process=/bin/true\n");
  EXPECT_EQ(find().value()->source, "the profile 'default' in " + (folder_ / ".aws/credentials").string());
  set("AWS_PROFILE", "team");
  EXPECT_EQ(found_id(), "TEAM");
  set("AWS_PROFILE", "half");
  EXPECT_THAT(failure(), HasSubstr("both are needed"));
  set("AWS_PROFILE", "sso");
  EXPECT_THAT(failure(), HasSubstr("a sign-in (sso)"));
  set("AWS_PROFILE", "program");
  EXPECT_THAT(failure(), HasSubstr("a program (credential_process)"));
  set("AWS_PROFILE", "nobody");
  EXPECT_THAT(failure(), HasSubstr("the profile 'nobody' is neither in"));
  set("AWS_PROFILE", "team");
  set("AWS_CONFIG_FILE", (folder_ / "other").string());
  ratoon::test::write_text(folder_ / "other",
                           "[profile team]\naws_access_key_id=OTHER\naws_secret_access_key=S\n");
  EXPECT_EQ(found_id(), "OTHER");
  set("AWS_SHARED_CREDENTIALS_FILE", "~/mine");
  ratoon::test::write_text(folder_ / "mine", "[team]\naws_access_key_id=MINE\naws_secret_access_key=S\n");
  EXPECT_EQ(found_id(), "MINE") << "the credentials file counts before the other";
  EXPECT_THAT(find().value()->source, HasSubstr((folder_ / "mine").string()));
}

TEST_F(CredentialsTest, FilesThatMayNotBeReadAreEmptyAsForBoto) {
  write_credentials("[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n");
  set("AWS_ACCESS_KEY_ID", "ENV");
  set("AWS_SECRET_ACCESS_KEY", "S");
  std::filesystem::permissions(folder_ / ".aws/credentials", std::filesystem::perms(0));
  const ratoon::test::OtherUser other;
  const auto shared = read_shared_config(world_.dependencies().environment, options_);
  ASSERT_TRUE(shared) << shared.error().message();
  EXPECT_TRUE(shared->credentials.empty());
  EXPECT_EQ(found_id(), "ENV");
}

TEST_F(CredentialsTest, WebIdentity) {
  ScriptedHttp sts([](const ScriptedRequest&, int number) {
    if (number == 1) return reply(503, "busy");
    return reply(200, assumed("ASIAWEB"));
  });
  ratoon::test::write_text(folder_ / "token", "header.body+/=\n");
  write_credentials("[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n");
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "token").string());
  EXPECT_THAT(failure(), HasSubstr("set AWS_ROLE_ARN"));
  set("AWS_ROLE_ARN", "arn:aws:iam::1:role/train");
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)->access_key_id, "ASIAWEB") << "before the files";
  EXPECT_THAT((*found)->source, HasSubstr("the role arn:aws:iam::1:role/train by web identity"));
  const ScriptedRequest request = sts.requests().at(1);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/");
  EXPECT_EQ(request.header("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(request.header("authorization"), "") << "the token is the proof";
  EXPECT_EQ(request.body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ftrain&"
            "RoleSessionName=ratoon-1772366400&Version=2011-06-15&WebIdentityToken=header.body%2B%2F%3D");
}

TEST_F(CredentialsTest, WebIdentityThatIsRefusedIsAnErrorAndNoSilentOtherIdentity) {
  ScriptedHttp sts([](const ScriptedRequest&, int) {
    return reply(400,
                 "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>Token "
                 "expired</Message></Error></ErrorResponse>");
  });
  ratoon::test::write_text(folder_ / "token", "t");
  write_credentials("[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n");
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "token").string());
  set("AWS_ROLE_ARN", "arn:role");
  EXPECT_THAT(failure(), HasSubstr("ExpiredTokenException: Token expired"));
  EXPECT_EQ(sts.requests().size(), 1u) << "asking again cannot help";
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "missing").string());
  EXPECT_THAT(failure(), HasSubstr("reading the web identity token"));
}

TEST_F(CredentialsTest, AnIdentityProviderThatIsAwayIsAskedAgain) {
  ScriptedHttp sts([](const ScriptedRequest&, int number) {
    return number == 1 ? reply(400, "<E><Error><Code>IDPCommunicationError</Code></Error></E>")
                       : reply(200, assumed("ASIAWEB"));
  });
  ratoon::test::write_text(folder_ / "token", "t");
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_WEB_IDENTITY_TOKEN_FILE", (folder_ / "token").string());
  set("AWS_ROLE_ARN", "arn:role");
  EXPECT_EQ(found_id(), "ASIAWEB");
  ratoon::test::write_text(folder_ / "token", std::string(1024 * 1024 + 1, 't'));
  EXPECT_THAT(failure(), HasSubstr("has over 1048576 bytes"));
}

TEST_F(CredentialsTest, ARoleOfAProfile) {
  ScriptedHttp sts([](const ScriptedRequest&, int number) {
    return reply(200, assumed("ASIA" + std::to_string(number)));
  });
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_PROFILE", "train");
  write_config(
      "[profile "
      "train]\nrole_arn=arn:outer\nsource_profile=middle\nexternal_id=42\nrole_session_name=me\nregion=eu-"
      "west-1\n"
      "[profile middle]\nrole_arn=arn:inner\nsource_profile=base\n"
      "[profile loop]\nrole_arn=arn:x\nsource_profile=loop2\n[profile "
      "loop2]\nrole_arn=arn:y\nsource_profile=loop\n"
      "[profile env]\nrole_arn=arn:z\ncredential_source=Environment\n[profile neither]\nrole_arn=arn:x\n"
      "[profile code]\nrole_arn=arn:x\nsource_profile=base\nmfa_serial=1\n");
  write_credentials("[base]\naws_access_key_id=BASE\naws_secret_access_key=S\n");
  EXPECT_EQ(found_id(), "ASIA2");
  const auto requests = sts.requests();
  EXPECT_THAT(requests.at(0).body, HasSubstr("RoleArn=arn%3Ainner"));
  EXPECT_THAT(requests.at(0).header("authorization"),
              HasSubstr("Credential=BASE/20260301/eu-west-1/sts/aws4_request"));
  EXPECT_THAT(requests.at(1).header("authorization"), HasSubstr("Credential=ASIA1/"));
  EXPECT_EQ(requests.at(1).header("x-amz-security-token"), "T");
  EXPECT_EQ(requests.at(1).body,
            "Action=AssumeRole&ExternalId=42&RoleArn=arn%3Aouter&RoleSessionName=me&Version=2011-06-15");

  for (const auto& [profile, problem] : {std::pair("loop", "is its own source_profile"),
                                         {"neither", "needs either source_profile"},
                                         {"env", "finds no credentials in its credential_source"},
                                         {"code", "mfa_serial"}}) {
    set("AWS_PROFILE", profile);
    EXPECT_THAT(failure(), HasSubstr(problem));
  }
}

TEST_F(CredentialsTest, TheContainersEndpoint) {
  ScriptedHttp endpoint([](const ScriptedRequest&, int number) {
    return number == 1 ? reply(500, "") : reply(200, served("POD"));
  });
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint.url() + "/v1/credentials?x=geheim");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "plain");
  ratoon::test::write_text(folder_ / "pod-token", "from-file\n");
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", (folder_ / "pod-token").string());
  const auto found = find();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)->access_key_id, "POD");
  EXPECT_THAT((*found)->source, HasSubstr("/v1/credentials"));
  EXPECT_THAT((*found)->source, Not(HasSubstr("geheim")));
  EXPECT_EQ(endpoint.requests().at(1).header("authorization"), "from-file")
      << "the file is the one that is renewed";
  EXPECT_EQ(endpoint.requests().at(1).target, "/v1/credentials?x=geheim");

  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/steal");
  EXPECT_THAT(failure(), HasSubstr("expected https, or this machine"));
}

TEST_F(CredentialsTest, InstanceMetadataVersion2) {
  ScriptedHttp metadata([](const ScriptedRequest& request, int) {
    if (request.method == "PUT" && request.target == "/latest/api/token" &&
        request.header("x-aws-ec2-metadata-token-ttl-seconds") == "21600")
      return reply(200, "imds-token");
    if (request.header("x-aws-ec2-metadata-token") != "imds-token") return reply(401, "");
    if (request.target == "/latest/meta-data/iam/security-credentials/") return reply(200, "node-role\n");
    if (request.target == "/latest/meta-data/iam/security-credentials/node-role")
      return reply(200, served("NODE"));
    return reply(404, "");
  });
  world_.environment.erase("AWS_EC2_METADATA_DISABLED");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url() + "/");
  EXPECT_EQ(found_id(), "NODE");
  EXPECT_EQ(find().value()->source, "the role node-role from instance metadata (" + metadata.url() + ")");
}

TEST_F(CredentialsTest, AMachineWithoutARoleIsNoErrorAndOneThatRefusesIs) {
  int status = 404;
  ScriptedHttp metadata([&](const ScriptedRequest& request, int) {
    return request.method == "PUT" ? reply(200, "imds-token") : reply(status, "");
  });
  world_.environment.erase("AWS_EC2_METADATA_DISABLED");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url());
  EXPECT_EQ(found_id(), "none");
  status = 403;
  EXPECT_THAT(failure(), HasSubstr("was answered with status 403"));
}

TEST_F(CredentialsTest, NoMachineOfACloudIsNoError) {
  world_.environment.erase("AWS_EC2_METADATA_DISABLED");
  std::string nobody;
  {
    const ScriptedHttp closed([](const ScriptedRequest&, int) { return reply(200, ""); });
    nobody = closed.url();
  }
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", nobody);
  EXPECT_EQ(found_id(), "none");
}

TEST_F(CredentialsTest, RegionAndEndpoint) {
  write_config(
      "[default]\nregion=from-profile\nendpoint_url=http://profile\nservices=local\ns3=\n  "
      "addressing_style=virtual\n"
      "[services local]\ns3=\n  endpoint_url=http://services\n");
  set("S3_ENDPOINT_URL", "http://old");
  const auto config = [&] { return read_shared_config(world_.dependencies().environment, options_).value(); };
  const auto environment = world_.dependencies().environment;
  EXPECT_EQ(region_of(environment, config(), options_), "from-profile");
  EXPECT_EQ(endpoint_of("s3", environment, config()), "http://services");
  EXPECT_EQ(endpoint_of("sts", environment, config()), "http://profile");
  EXPECT_EQ(path_style_of(config(), options_), false);
  set("AWS_DEFAULT_REGION", "default-region");
  EXPECT_EQ(region_of(environment, config(), options_), "default-region");
  set("AWS_REGION", "region");
  EXPECT_EQ(region_of(environment, config(), options_), "region");
  options_.region = "option";
  EXPECT_EQ(region_of(environment, config(), options_), "option");
  set("AWS_ENDPOINT_URL", "http://all");
  EXPECT_EQ(endpoint_of("s3", environment, config()), "http://all");
  set("AWS_ENDPOINT_URL_S3", "http://s3");
  EXPECT_EQ(endpoint_of("s3", environment, config()), "http://s3");
  EXPECT_EQ(endpoint_of("sts", environment, config()), "http://all");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  EXPECT_EQ(endpoint_of("s3", environment, config()), "");
  options_.uses_path_style = true;
  EXPECT_EQ(path_style_of(config(), options_), true);
  write_config("");
  EXPECT_EQ(endpoint_of(
                "s3",
                [](const std::string& name) {
                  return name == "S3_ENDPOINT_URL" ? std::optional<std::string>("http://old") : std::nullopt;
                },
                config()),
            "http://old");
}

}  // namespace
}  // namespace ratoon::objects::credentials_test
