#include "agent/src/objects/credentials/sts.h"

#include <set>
#include <utility>

#include "agent/src/objects/credentials/http_credential_sources.h"
#include "agent/src/objects/credentials/static_sources.h"
#include "agent/src/objects/remote/retry_loop.h"
#include "agent/src/objects/s3/protocol/s3_address.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/protocol/sha256.h"
#include "agent/src/objects/s3/protocol/sigv4.h"
#include "base/core/read_file.h"
#include "base/http/url.h"

namespace ratoon::objects {
namespace {

using FetchResult = Result<std::optional<Credentials>>;

constexpr RequestTimeouts kStsTimeouts{.retry = {.attempts_max = 4, .total = std::chrono::seconds(30)},
                                       .silence = std::chrono::seconds(10)};

struct StsClient {
  HttpDependencies dependencies;
  StoreOptions options;

  // Requests the temporary credentials of a role from STS (the token service of AWS). If `signer` is null,
  // the request is not signed, because a token in the request proves the identity.
  Result<Credentials> assume_role(const SharedConfig& shared, const NameValues& fields,
                                  const Credentials* signer, const std::string& source,
                                  const std::stop_token& stop) const;
};

std::string session_name(const std::string& given, const HttpDependencies& dependencies) {
  if (!given.empty()) return given;
  return "ratoon-" + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(
                                        dependencies.clock->wall_now().since_epoch)
                                        .count());
}

Result<Credentials> StsClient::assume_role(const SharedConfig& shared, const NameValues& fields,
                                           const Credentials* signer, const std::string& source,
                                           const std::stop_token& stop) const {
  std::string region = region_of(dependencies.environment, shared, options);
  if (region.empty()) region = "us-east-1";
  const auto url = http::parse_url(sts_url(endpoint_of("sts", dependencies.environment, shared), region));
  if (!url) return url.error().with_context("finding the token service of " + source);
  const std::string address = (url->is_https ? "https://" : "http://") + url->host_header + url->target;
  const std::string body = canonical_query(fields);
  const auto make = [&]() -> Result<http::Request> {
    http::Request request{.method = "POST",
                          .url = address,
                          .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                          .body = body};
    if (signer == nullptr) return request;
    const RequestToSign unsigned_request{
        .method = "POST",
        .path = url->target,
        .headers = {{"Host", url->host_header}, {"Content-Type", "application/x-www-form-urlencoded"}},
        .payload_sha256 = to_hex(sha256(body))};
    for (auto& [name, value] :
         sign(unsigned_request, {region, "sts", dependencies.clock->wall_now()}, *signer))
      request.headers.add(name, value);
    return request;
  };
  const auto judge = [&](const http::Response& answer) -> std::optional<RemoteRefusal> {
    if (answer.status == 200) return std::nullopt;
    const S3Refusal refusal = decode_refusal(answer.body);
    return RemoteRefusal{
        .error = Error(error_kind_of_status(answer.status) == ErrorKind::kUnavailable
                           ? ErrorKind::kUnavailable
                           : ErrorKind::kPermissionDenied,
                       "POST " + url->shown + " was answered with " + std::to_string(answer.status) + ' ' +
                           refusal.code + ": " + refusal.message),
        // Retry the request after IDPCommunicationError, because STS itself calls identity providers, which
        // may fail for a moment.
        .is_retryable = is_retryable(answer.status, refusal.code) || refusal.code == "IDPCommunicationError"};
  };
  RetryLoop attempts(dependencies, kStsTimeouts, "getting credentials from " + source, stop);
  const auto answer = exchange(dependencies, {make, judge}, attempts);
  if (!answer) return answer.error();
  auto credentials = decode_assumed_role(answer->body);
  if (!credentials) return credentials.error().with_context("getting credentials from " + source);
  credentials->source = source;
  return credentials;
}

class WebIdentitySource final : public CredentialSource {
 public:
  explicit WebIdentitySource(StsClient sts) : sts_(std::move(sts)) {}

  FetchResult fetch(const std::stop_token& stop) override {
    const auto shared = read_shared_config(sts_.dependencies.environment, sts_.options);
    if (!shared) return shared.error();
    const std::string file = setting(*shared, "AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
    if (file.empty()) return std::optional<Credentials>();
    const std::string role = setting(*shared, "AWS_ROLE_ARN", "role_arn");
    if (role.empty()) {
      return Error(ErrorKind::kInvalid,
                   "there is a web identity token (" + file +
                       "), but no role for it: set AWS_ROLE_ARN, or the profile's role_arn");
    }
    // The token's file is replaced before the token expires, so it is read for each request.
    auto token = read_file(file);
    if (!token) return token.error().with_context("reading the web identity token");
    while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
    const std::string name =
        session_name(setting(*shared, "AWS_ROLE_SESSION_NAME", "role_session_name"), sts_.dependencies);
    auto credentials =
        sts_.assume_role(*shared,
                         {{"Action", "AssumeRoleWithWebIdentity"},
                          {"Version", "2011-06-15"},
                          {"RoleArn", role},
                          {"RoleSessionName", name},
                          {"WebIdentityToken", *token}},
                         nullptr, "the role " + role + " by web identity (" + file + ")", stop);
    if (!credentials) return credentials.error();
    return std::optional(*std::move(credentials));
  }

  std::string missing_reason() const override { return "AWS_WEB_IDENTITY_TOKEN_FILE is not set"; }

 private:
  [[nodiscard]] std::string setting(const SharedConfig& shared, const char* variable,
                                    const char* name) const {
    // If the program names a profile, use the profile's role and ignore a role in the environment. The keys
    // of such a profile are also preferred to keys in the environment.
    if (sts_.options.profile.empty()) {
      if (auto value = sts_.dependencies.environment(variable)) return *value;
    }
    return shared.get(name);
  }

  const StsClient sts_;
};

class ProfileRoleSource final : public CredentialSource {
 public:
  explicit ProfileRoleSource(StsClient sts) : sts_(std::move(sts)) {}

  FetchResult fetch(const std::stop_token& stop) override {
    const auto shared = read_shared_config(sts_.dependencies.environment, sts_.options);
    if (!shared) return shared.error();
    missing_reason_ = "the profile '" + shared->profile_name + "' has no role_arn";
    if (!shared->profile || !has_role(*shared->profile)) return std::optional<Credentials>();
    std::set<std::string> seen;
    auto credentials = assume(*shared, *shared->profile, seen, stop);
    if (!credentials) return credentials.error();
    return std::optional(*std::move(credentials));
  }

  std::string missing_reason() const override { return missing_reason_; }

 private:
  static bool has_role(const Profile& profile) {
    return !profile.get("role_arn").empty() && profile.get("web_identity_token_file").empty();
  }
  static Error bad(const Profile& profile, const std::string& problem) {
    return {ErrorKind::kInvalid, "the profile '" + profile.name + "': " + problem};
  }

  Result<Credentials> assume(const SharedConfig& shared, const Profile& profile, std::set<std::string>& seen,
                             const std::stop_token& stop) const {
    seen.insert(profile.name);
    if (!profile.get("mfa_serial").empty())
      return bad(
          profile,
          "the profile requires an MFA code (mfa_serial), which Ratoon cannot enter: use another profile");
    const auto signer = base_of(shared, profile, seen, stop);
    if (!signer) return signer.error();
    const std::string role = profile.get("role_arn");
    NameValues fields = {
        {"Action", "AssumeRole"},
        {"Version", "2011-06-15"},
        {"RoleArn", role},
        {"RoleSessionName", session_name(profile.get("role_session_name"), sts_.dependencies)}};
    if (std::string id = profile.get("external_id"); !id.empty()) fields.emplace_back("ExternalId", id);
    if (std::string life = profile.get("duration_seconds"); !life.empty())
      fields.emplace_back("DurationSeconds", life);
    return sts_.assume_role(shared, fields, &*signer,
                            "the role " + role + " of the profile '" + profile.name + "'", stop);
  }

  // Returns the credentials with which the request for the role is signed.
  Result<Credentials> base_of(const SharedConfig& shared, const Profile& profile, std::set<std::string>& seen,
                              const std::stop_token& stop) const {
    const std::string source_profile = profile.get("source_profile");
    const std::string place = profile.get("credential_source");
    if (source_profile.empty() == place.empty())
      return bad(profile, "the profile has a role_arn and needs either source_profile or credential_source");
    auto found = place.empty() ? of_profile(shared, profile, source_profile, seen, stop)
                               : of_place(profile, place, stop);
    if (!found) return found.error();
    if (!*found)
      return bad(profile,
                 "the profile finds no credentials in its " +
                     (place.empty() ? "source_profile " + source_profile : "credential_source " + place));
    return **std::move(found);
  }

  FetchResult of_profile(const SharedConfig& shared, const Profile& profile, const std::string& name,
                         std::set<std::string>& seen, const std::stop_token& stop) const {
    const auto source = find_profile(name, shared.credentials, shared.config);
    if (!source)
      return bad(profile, "the profile names the source_profile '" + name + "', which is in neither file");
    auto keys = profile_keys(*source, shared);
    if (!keys || *keys || !has_role(*source)) return keys;
    if (seen.contains(name))
      return bad(profile, "the profile is its own source_profile by way of '" + name + "'");
    auto credentials = assume(shared, *source, seen, stop);
    if (!credentials) return credentials.error();
    return std::optional(*std::move(credentials));
  }

  FetchResult of_place(const Profile& profile, const std::string& place, const std::stop_token& stop) const {
    if (place == "Environment") return environment_source(sts_.dependencies.environment)->fetch(stop);
    if (place == "EcsContainer") return container_source(sts_.dependencies)->fetch(stop);
    if (place == "Ec2InstanceMetadata") return metadata_source(sts_.dependencies)->fetch(stop);
    return bad(profile, "the profile has a credential_source '" + place +
                            "'; expected Environment, EcsContainer or Ec2InstanceMetadata");
  }

  const StsClient sts_;
  std::string missing_reason_;
};

}  // namespace

std::unique_ptr<CredentialSource> web_identity_source(const HttpDependencies& dependencies,
                                                      StoreOptions options) {
  return std::make_unique<WebIdentitySource>(StsClient{dependencies, std::move(options)});
}

std::unique_ptr<CredentialSource> profile_role_source(const HttpDependencies& dependencies,
                                                      StoreOptions options) {
  return std::make_unique<ProfileRoleSource>(StsClient{dependencies, std::move(options)});
}

}  // namespace ratoon::objects
