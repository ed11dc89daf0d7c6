#include "operator/kube/access/api_server_access.h"

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/kube/access/base64.h"

namespace ratoon::kube::api_server_access_test {
namespace {

using nlohmann::json;

json kubeconfig() {
  return json::parse(R"({"current-context": "a",
    "contexts": [{"name": "b", "context": {"cluster": "none", "user": "u"}},
                 {"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}],
    "clusters": [{"name": "c", "cluster": {
       "server": "https://h:6443/", "certificate-authority-data": "Q0E="}}],
    "users": [{"name": "u", "user": {"client-certificate": "cert.pem", "client-key-data": "S0VZ"}}]})");
}

Result<std::string> read(const std::string& path) {
  const std::map<std::string, std::string> files = {
      {"cert.pem", "CERT"},
      {std::string(kServiceAccountFolder) + "/ca.crt", "CA"},
      {std::string(kServiceAccountFolder) + "/namespace", "ops\n"}};
  const auto file = files.find(path);
  if (file == files.end()) return Error(ErrorKind::kNotFound, "no " + path);
  return file->second;
}

TEST(Kubeconfig, ReadsTheCurrentContext) {
  const auto access = decode_kubeconfig(kubeconfig(), "", read);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://h:6443");
  EXPECT_EQ(access->ca_pem, "CA");
  EXPECT_EQ(access->certificate_pem, "CERT");
  EXPECT_EQ(access->private_key_pem, "KEY");
  EXPECT_EQ(access->name_space, "team-a");
}

TEST(Kubeconfig, ReadsTheProxyAndTheExpectedNameOfTheServer) {
  json document = kubeconfig();
  json& cluster = document["clusters"][0]["cluster"];
  cluster["proxy-url"] = "http://proxy.example:3128";
  cluster["tls-server-name"] = "api.example";
  const auto access = decode_kubeconfig(document, "", read);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->proxy, "http://proxy.example:3128");
  EXPECT_EQ(access->server_name, "api.example");
}

TEST(Kubeconfig, RefusesWithASentence) {
  const auto refusal = [](const char* pointer, const json& value, const std::string& context = "") {
    json document = kubeconfig();
    document[json::json_pointer(pointer)] = value;
    const auto access = decode_kubeconfig(document, context, read);
    return access ? "" : access.error().message();
  };
  EXPECT_NE(refusal("/users/0/user/auth-provider", {{"name", "gcp"}}).find("with an 'exec' plugin"),
            std::string::npos);
  EXPECT_NE(refusal("/users/0/user/exec", {{"command", "login"}}).find("v1 or v1beta1"), std::string::npos);
  for (const char* field : {"username", "password"}) {
    const std::string pointer = std::string("/users/0/user/") + field;
    for (const json& value : {json("secret"), json(1234)})
      EXPECT_NE(refusal(pointer.c_str(), value).find("'" + std::string(field) + "'"), std::string::npos);
    EXPECT_EQ(refusal(pointer.c_str(), ""), "") << "as tools leave it";
  }
  EXPECT_NE(refusal("/users/0/user/as", "root").find("'as'"), std::string::npos);
  EXPECT_NE(refusal("/clusters/0/cluster/insecure-skip-tls-verify", true).find("insecure"),
            std::string::npos);
  EXPECT_NE(refusal("/clusters/0/cluster/proxy-url", "https://proxy").find("http:// or socks5://"),
            std::string::npos);
  EXPECT_NE(refusal("/clusters/0/cluster/server", "h:6443").find("found 'h:6443'"), std::string::npos);
  EXPECT_NE(refusal("/users/0/user/client-key-data", "").find("both are needed"), std::string::npos);
  EXPECT_NE(refusal("/users/0/user/client-certificate", "lost.pem").find("no lost.pem"), std::string::npos);
  EXPECT_NE(refusal("/clusters/0/cluster/certificate-authority-data", "?").find("not base64"),
            std::string::npos);
  EXPECT_NE(refusal("/current-context", "").find("no current-context"), std::string::npos);
  EXPECT_NE(refusal("/users/0/name", "x").find("names the user 'u'"), std::string::npos);
  EXPECT_NE(refusal("/x", 1, "b").find("names the cluster 'none'"), std::string::npos);
}

TEST(InCluster, ReadsTheServiceAccount) {
  const auto access = in_cluster_access("fd00::1", "443", read);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->name_space, "ops");
  EXPECT_EQ(access->token_file, std::string(kServiceAccountFolder) + "/token");
  EXPECT_FALSE(in_cluster_access("", "443", read));
  EXPECT_EQ(access->ca_file, std::string(kServiceAccountFolder) + "/ca.crt");
}

TEST(Base64, DecodesAndRefuses) {
  EXPECT_EQ(*decode_base64(""), "");
  EXPECT_EQ(*decode_base64("Zg=="), "f");
  EXPECT_EQ(*decode_base64("Zm8="), "fo");
  EXPECT_EQ(*decode_base64("Zm\n9v\r\nYmFy"), "foobar");
  EXPECT_EQ(*decode_base64("+/8="), "\xFB\xFF");
  for (const char* text : {"", "f", "fo", "foo", "\xFB\xFFx"})
    EXPECT_EQ(*decode_base64(encode_base64(text)), text);
  EXPECT_EQ(encode_base64("\xFB\xFF"), "+/8=");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Z===", "=", "Zg==Zg==x", "Zm9*", "Z=g="})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

}  // namespace
}  // namespace ratoon::kube::api_server_access_test
