#include "operator/kube/access/credential_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ratoon::kube::credential_plugin_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// As the tools of managed clouds write it.
json exec() {
  return json::parse(R"({"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws",
    "args": ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "training"],
    "env": [{"name": "AWS_PROFILE", "value": "research"}], "interactiveMode": "IfAvailable",
    "provideClusterInfo": false, "installHint": "see the documentation of aws"})");
}

CredentialPlugin decoded() {
  return decode_credential_plugin(exec(), json::object(), "").value();
}

std::string credential(const json& status, const char* version = "client.authentication.k8s.io/v1beta1",
                       const char* kind = "ExecCredential") {
  return json{{"apiVersion", version}, {"kind", kind}, {"status", status}}.dump();
}

TEST(CredentialPlugin, IsReadWhole) {
  const CredentialPlugin plugin = decoded();
  EXPECT_EQ(plugin.command, "aws");
  EXPECT_THAT(plugin.arguments,
              ElementsAre("--region", "eu-west-1", "eks", "get-token", "--cluster-name", "training"));
  EXPECT_EQ(plugin.variables.at("AWS_PROFILE"), "research");
  EXPECT_EQ(json::parse(plugin.variables.at("KUBERNETES_EXEC_INFO")),
            json::parse(R"({"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential",
                            "spec": {"interactive": false}})"));
  EXPECT_EQ(plugin.install_hint, "see the documentation of aws");
}

TEST(CredentialPlugin, LearnsTheClusterWhereItAsksForIt) {
  json asks = exec();
  asks["provideClusterInfo"] = true;
  const json cluster = {
      {"server", "https://h:6443"},
      {"tls-server-name", "api"},
      {"proxy-url", "http://proxy:3128"},
      {"extensions", {{{"name", "client.authentication.k8s.io/exec"}, {"extension", {{"audience", "a"}}}}}}};
  const auto plugin = decode_credential_plugin(asks, cluster, "CA\xff");
  ASSERT_TRUE(plugin) << plugin.error().message();
  EXPECT_EQ(json::parse(plugin->variables.at("KUBERNETES_EXEC_INFO"))["spec"]["cluster"],
            json::parse(R"({"server": "https://h:6443", "tls-server-name": "api",
                            "proxy-url": "http://proxy:3128",
                            "certificate-authority-data": "Q0H/", "config": {"audience": "a"}})"));
}

TEST(CredentialPlugin, RefusesWithASentence) {
  const auto refusal = [](const char* field, const json& value) {
    json wrong = exec();
    wrong[field] = value;
    const auto plugin = decode_credential_plugin(wrong, json::object(), "");
    return plugin ? "" : plugin.error().message();
  };
  EXPECT_THAT(refusal("command", ""), HasSubstr("names no command"));
  EXPECT_THAT(refusal("apiVersion", "client.authentication.k8s.io/v1alpha1"), HasSubstr("v1 or v1beta1"));
  EXPECT_THAT(refusal("interactiveMode", "Always"), HasSubstr("Ratoon gives it none"));
  EXPECT_THAT(refusal("args", json::array({1})), HasSubstr("quote it"));
}

TEST(PluginCredential, IsATokenACertificateOrBoth) {
  const auto token = decode_plugin_credential(
      decoded(), credential({{"token", "k8s-aws-v1.aGk"}, {"expirationTimestamp", "2026-11-21T11:38:21Z"}}));
  ASSERT_TRUE(token) << token.error().message();
  EXPECT_EQ(token->token, "k8s-aws-v1.aGk");
  EXPECT_EQ(token->expires_at, parse_rfc3339("2026-11-21T11:38:21Z"));
  const auto certificate = decode_plugin_credential(
      decoded(), credential({{"clientCertificateData", "CERT"}, {"clientKeyData", "KEY"}}));
  ASSERT_TRUE(certificate) << certificate.error().message();
  EXPECT_EQ(certificate->certificate_pem, "CERT");
  EXPECT_EQ(certificate->private_key_pem, "KEY");
  EXPECT_FALSE(certificate->expires_at);
}

TEST(PluginCredential, EndsAtThatMomentHoweverItIsWritten) {
  for (const char* same : {"2026-11-21T11:38:21.123456789Z", "2026-11-21T13:38:21+02:00",
                           "2026-11-21T06:08:21.5-05:30", "2026-11-21T11:38:21z"}) {
    const auto read =
        decode_plugin_credential(decoded(), credential({{"token", "t"}, {"expirationTimestamp", same}}));
    ASSERT_TRUE(read) << same << ": " << read.error().message();
    ASSERT_TRUE(read->expires_at) << same;
    EXPECT_EQ(std::chrono::floor<std::chrono::seconds>(read->expires_at->since_epoch),
              parse_rfc3339("2026-11-21T11:38:21Z")->since_epoch)
        << same;
  }
}

TEST(PluginCredential, MayHaveNoEndThatAClockReaches) {
  const auto read = decode_plugin_credential(
      decoded(), credential({{"token", "t"}, {"expirationTimestamp", "9999-12-31T23:59:59Z"}}));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->expires_at, WallTime{Duration::max()});
}

TEST(PluginCredential, RefusesWithASentence) {
  const auto refusal = [](const std::string& printed) {
    const auto read = decode_plugin_credential(decoded(), printed);
    return read ? "" : read.error().message();
  };
  EXPECT_THAT(refusal("Please log in"), HasSubstr("'aws' answered with no JSON"));
  EXPECT_THAT(refusal(credential({{"token", "t"}}, "client.authentication.k8s.io/v1")),
              HasSubstr("instead of ExecCredential of client.authentication.k8s.io/v1beta1"));
  EXPECT_THAT(refusal(credential({{"token", "t"}}, "client.authentication.k8s.io/v1beta1", "Pod")),
              HasSubstr("'Pod'"));
  EXPECT_THAT(refusal(credential(json::object())), HasSubstr("neither a token nor a client certificate"));
  EXPECT_THAT(refusal(credential({{"clientCertificateData", "CERT"}})), HasSubstr("both are needed"));
  EXPECT_THAT(refusal(credential({{"token", "t\r\nX-Remote-User: root"}})), HasSubstr("control characters"));
  EXPECT_THAT(refusal(credential({{"token", "t"}, {"expirationTimestamp", "soon"}})), HasSubstr("'soon'"));
}

}  // namespace
}  // namespace ratoon::kube::credential_plugin_test
