#include "agent/src/objects/credentials/static_sources.h"

#include <utility>

namespace ratoon::objects {
namespace {

class EnvironmentSource final : public CredentialSource {
 public:
  explicit EnvironmentSource(Environment environment) : environment_(std::move(environment)) {}

  Result<std::optional<Credentials>> fetch(const std::stop_token&) override {
    const auto id = environment_("AWS_ACCESS_KEY_ID");
    const auto secret = environment_("AWS_SECRET_ACCESS_KEY");
    if (!id) return std::optional<Credentials>();
    if (!secret) {
      return Error(ErrorKind::kInvalid,
                   "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not: set both, or neither");
    }
    auto token = environment_("AWS_SESSION_TOKEN");
    if (!token) token = environment_("AWS_SECURITY_TOKEN");
    std::optional<WallTime> expires_at;
    if (const auto expiration = environment_("AWS_CREDENTIAL_EXPIRATION")) {
      expires_at = parse_rfc3339(*expiration);
      if (!expires_at) {
        return Error(ErrorKind::kInvalid, "AWS_CREDENTIAL_EXPIRATION is '" + *expiration +
                                              "'; expected a time such as 2026-01-02T03:04:05Z");
      }
    }
    return std::optional(Credentials{*id, *secret, token.value_or(""), expires_at, "the environment"});
  }

  std::string missing_reason() const override { return "AWS_ACCESS_KEY_ID is not set"; }

 private:
  const Environment environment_;
};

class ProfileSource final : public CredentialSource {
 public:
  ProfileSource(Environment environment, StoreOptions options)
      : environment_(std::move(environment)), options_(std::move(options)) {}

  Result<std::optional<Credentials>> fetch(const std::stop_token&) override {
    auto shared = read_shared_config(environment_, options_);
    if (!shared) return shared.error();
    where_ = "the profile '" + shared->profile_name + "' has no keys in " + shared->credentials_path +
             " and " + shared->config_path;
    if (!shared->profile) return std::optional<Credentials>();
    return profile_keys(*shared->profile, *shared);
  }

  std::string missing_reason() const override { return where_; }

 private:
  const Environment environment_;
  const StoreOptions options_;
  std::string where_;
};

Result<std::optional<Credentials>> static_keys_in(const Settings& settings, const std::string& profile,
                                                  const std::string& path) {
  const auto get = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  const std::string id = get("aws_access_key_id");
  const std::string secret = get("aws_secret_access_key");
  const std::string where = "the profile '" + profile + "' in " + path;
  if (id.empty() && secret.empty()) return std::optional<Credentials>();
  if (id.empty() || secret.empty()) {
    return Error(ErrorKind::kInvalid,
                 where + " has " + (id.empty() ? "no aws_access_key_id" : "an aws_access_key_id") + " and " +
                     (secret.empty() ? "no" : "an") + " aws_secret_access_key: both are needed");
  }
  std::string token = get("aws_session_token");
  if (token.empty()) token = get("aws_security_token");
  return std::optional(Credentials{id, secret, token, std::nullopt, where});
}

}  // namespace

std::unique_ptr<CredentialSource> environment_source(Environment environment) {
  return std::make_unique<EnvironmentSource>(std::move(environment));
}

std::unique_ptr<CredentialSource> profile_source(Environment environment, StoreOptions options) {
  return std::make_unique<ProfileSource>(std::move(environment), std::move(options));
}

Result<std::optional<Credentials>> profile_keys(const Profile& profile, const SharedConfig& shared) {
  const auto refused = [&](const std::string& what) {
    return Error(ErrorKind::kInvalid, "the profile '" + profile.name + "' takes its credentials from " +
                                          what +
                                          ", which Ratoon does not support: export them with `aws configure "
                                          "export-credentials`, or name another profile");
  };
  // The checks are in the order of boto3. boto3 prefers browser sign-in (SSO) to keys, and runs a program
  // (credential_process) only if the credentials file has no keys.
  if (!profile.get("sso_session").empty() || !profile.get("sso_start_url").empty())
    return refused("a sign-in (sso)");
  auto keys = static_keys_in(profile.credentials, profile.name, shared.credentials_path);
  if (!keys || *keys) return keys;
  if (!profile.get("credential_process").empty()) return refused("a program (credential_process)");
  return static_keys_in(profile.config, profile.name, shared.config_path);
}

}  // namespace ratoon::objects
