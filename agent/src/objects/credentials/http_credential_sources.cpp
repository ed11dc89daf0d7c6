#include "agent/src/objects/credentials/http_credential_sources.h"

#include <utility>

#include "agent/src/objects/credentials/http_credentials.h"
#include "agent/src/objects/remote/location.h"
#include "agent/src/objects/remote/retry_loop.h"
#include "base/core/read_file.h"

namespace ratoon::objects {
namespace {

using FetchResult = Result<std::optional<Credentials>>;

std::string without_trailing_newline(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// Returns the body of the reply, or an error if its status is not 200.
Result<std::string> fetch_reply_body(const HttpDependencies& dependencies, const RequestTimeouts& timeouts,
                                     const http::Request& request, const std::string& what,
                                     const std::stop_token& stop) {
  RetryLoop attempts(dependencies, timeouts, what, stop);
  const auto judge = [&](const http::Response& answer) -> std::optional<RemoteRefusal> {
    if (answer.status == 200) return std::nullopt;
    return RemoteRefusal{.error = Error(error_kind_of_status(answer.status),
                                        request.method + ' ' + url_without_query(request.url) +
                                            " was answered with status " + std::to_string(answer.status)),
                         .is_retryable = is_retryable(answer.status, "")};
  };
  auto answer = exchange(dependencies, {[&]() -> Result<http::Request> { return request; }, judge}, attempts);
  if (!answer) return answer.error();
  return std::move(answer->body);
}

class ContainerSource final : public CredentialSource {
 public:
  explicit ContainerSource(HttpDependencies dependencies) : dependencies_(std::move(dependencies)) {}

  FetchResult fetch(const std::stop_token& stop) override {
    const auto relative = dependencies_.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const auto full = dependencies_.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (!relative && !full) return std::optional<Credentials>();
    http::Request request{.url = relative ? "http://169.254.170.2" + *relative : *full};
    if (!is_trusted_container_url(request.url)) {
      return Error(ErrorKind::kInvalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI is " +
                                            url_without_query(request.url) +
                                            "; expected https, or this machine (127.0.0.1, localhost, [::1], "
                                            "169.254.170.2, 169.254.170.23, [fd00:ec2::23])");
    }
    auto token = authorization();
    if (!token) return token.error();
    if (!token->empty()) request.headers.set("Authorization", *token);
    const std::string source = "the container's endpoint " + url_without_query(request.url);
    const RequestTimeouts timeouts{.retry = {.attempts_max = 3, .total = std::chrono::seconds(15)},
                                   .connect = std::chrono::seconds(2),
                                   .silence = std::chrono::seconds(5)};
    const auto text =
        fetch_reply_body(dependencies_, timeouts, request, "getting credentials from " + source, stop);
    if (!text) return text.error();
    auto credentials = decode_http_credentials(*text);
    if (!credentials) return credentials.error().with_context("getting credentials from " + source);
    credentials->source = source;
    return std::optional(*std::move(credentials));
  }

  std::string missing_reason() const override { return "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set"; }

 private:
  Result<std::string> authorization() const {
    if (const auto file = dependencies_.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
      auto token = read_file(*file);
      if (!token) return token.error().with_context("reading AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      return without_trailing_newline(*std::move(token));
    }
    return dependencies_.environment("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
  }

  const HttpDependencies dependencies_;
};

class MetadataSource final : public CredentialSource {
 public:
  explicit MetadataSource(HttpDependencies dependencies) : dependencies_(std::move(dependencies)) {}

  FetchResult fetch(const std::stop_token& stop) override {
    if (is_disabled()) {
      missing_reason_ = "instance metadata is disabled (AWS_EC2_METADATA_DISABLED)";
      return std::optional<Credentials>();
    }
    const std::string endpoint = endpoint_url();
    // The timeouts are short, because outside of a cloud no metadata server answers.
    const RequestTimeouts timeouts{.retry = {.attempts_max = 2, .total = std::chrono::seconds(5)},
                                   .connect = std::chrono::seconds(1),
                                   .silence = std::chrono::seconds(1)};
    const std::string source = "instance metadata (" + endpoint + ")";
    const std::string what = "getting credentials from " + source;
    const auto token = fetch_reply_body(dependencies_, timeouts,
                                        {.method = "PUT",
                                         .url = endpoint + "/latest/api/token",
                                         .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}},
                                        what, stop);
    if (!token) return note_no_role(token.error());
    const auto get = [&](const std::string& path) {
      return fetch_reply_body(dependencies_, timeouts,
                              {.url = endpoint + path,
                               .headers = {{"X-aws-ec2-metadata-token", without_trailing_newline(*token)}}},
                              what, stop);
    };
    const std::string folder = "/latest/meta-data/iam/security-credentials/";
    const auto roles = get(folder);
    if (!roles)
      return roles.error().kind() == ErrorKind::kNotFound ? note_no_role(roles.error())
                                                          : FetchResult(roles.error());
    const std::string role = roles->substr(0, roles->find_first_of("\r\n"));
    const auto text = get(folder + role);
    if (!text) return text.error();
    auto credentials = decode_http_credentials(*text);
    if (!credentials) return credentials.error().with_context(what);
    credentials->source = "the role " + role + " from " + source;
    return std::optional(*std::move(credentials));
  }

  std::string missing_reason() const override { return missing_reason_; }

 private:
  bool is_disabled() const {
    std::string value = dependencies_.environment("AWS_EC2_METADATA_DISABLED").value_or("");
    for (char& c : value) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return value == "true";
  }
  std::string endpoint_url() const {
    if (auto endpoint = dependencies_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT")) {
      while (endpoint->ends_with('/')) endpoint->pop_back();
      return *endpoint;
    }
    const bool is_ipv6 =
        dependencies_.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").value_or("") == "IPv6";
    return is_ipv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  }
  FetchResult note_no_role(const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) return error;
    missing_reason_ = error.message();
    return std::optional<Credentials>();
  }

  const HttpDependencies dependencies_;
  std::string missing_reason_;
};

}  // namespace

std::unique_ptr<CredentialSource> container_source(HttpDependencies dependencies) {
  return std::make_unique<ContainerSource>(std::move(dependencies));
}

std::unique_ptr<CredentialSource> metadata_source(HttpDependencies dependencies) {
  return std::make_unique<MetadataSource>(std::move(dependencies));
}

}  // namespace ratoon::objects
