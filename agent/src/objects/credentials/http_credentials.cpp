#include "agent/src/objects/credentials/http_credentials.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

namespace ratoon::objects {
namespace {

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<Credentials> decode_http_credentials(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return Error(ErrorKind::kCorrupted, "the answer is not a JSON object");
  if (const std::string code = text_of(object, "Code"); !code.empty() && code != "Success") {
    return Error(ErrorKind::kPermissionDenied,
                 "the answer says " + code.substr(0, 100) + ": " + text_of(object, "Message").substr(0, 300));
  }
  const auto expiration = parse_rfc3339(text_of(object, "Expiration"));
  Credentials credentials{.access_key_id = text_of(object, "AccessKeyId"),
                          .secret_access_key = text_of(object, "SecretAccessKey"),
                          .session_token = text_of(object, "Token"),
                          .expires_at = expiration};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty() || !expiration) {
    return Error(ErrorKind::kCorrupted,
                 "the answer lacks AccessKeyId, SecretAccessKey or a readable Expiration");
  }
  return credentials;
}

bool is_trusted_container_url(std::string_view url) {
  if (url.starts_with("https://")) return true;
  if (!url.starts_with("http://")) return false;
  url.remove_prefix(7);
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.find('@') != std::string_view::npos) return false;
  const std::size_t bracket = url.find(']');
  const std::string_view host = url.starts_with('[')
                                    ? url.substr(0, bracket == std::string_view::npos ? 0 : bracket + 1)
                                    : url.substr(0, url.find(':'));
  constexpr std::array<std::string_view, 6> kTrusted = {"127.0.0.1",     "localhost",      "[::1]",
                                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  return std::find(kTrusted.begin(), kTrusted.end(), host) != kTrusted.end();
}

}  // namespace ratoon::objects
