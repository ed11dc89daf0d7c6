#include "agent/src/objects/s3/protocol/sigv4.h"

#include <algorithm>
#include <map>

#include "agent/src/objects/percent.h"
#include "agent/src/objects/s3/protocol/sha256.h"

namespace ratoon::objects {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Removes spaces at both ends of a header value, and replaces each run of spaces inside by one space.
std::string trimmed(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c != ' ' && c != '\t') {
      result += c;
    } else if (!result.empty() && !result.ends_with(' ')) {
      result += ' ';
    }
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

// Sorts headers by name. The values of headers with equal names are joined, in their order in the request.
std::map<std::string, std::string> canonical_headers(const NameValues& headers) {
  std::map<std::string, std::string> canonical;
  for (const auto& [name, value] : headers) {
    const auto [it, is_first] = canonical.emplace(to_lower(name), trimmed(value));
    if (!is_first) it->second.append(",").append(trimmed(value));
  }
  return canonical;
}

std::string signed_header_names(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names.append(names.empty() ? "" : ";").append(name);
  return names;
}

std::string credential_scope(const SigningScope& scope) {
  return amz_date(scope.time).substr(0, 8) + '/' + scope.region + '/' + scope.service + "/aws4_request";
}

}  // namespace

std::string canonical_query(const NameValues& query) {
  NameValues escaped;
  for (const auto& [name, value] : query)
    escaped.emplace_back(percent_encode(name, false), percent_encode(value, false));
  std::sort(escaped.begin(), escaped.end());
  std::string text;
  for (const auto& [name, value] : escaped) {
    if (!text.empty()) text += '&';
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

std::string amz_date(WallTime time) {
  std::string date;  // from "2013-05-24T00:00:00.000Z"
  for (const char c : format_rfc3339(time).substr(0, 19)) {
    if (c != '-' && c != ':') date += c;
  }
  return date + 'Z';
}

std::string canonical_request(const RequestToSign& request) {
  const auto headers = canonical_headers(request.headers);
  std::string text = request.method + '\n' + percent_encode(request.path, true) + '\n' +
                     canonical_query(request.query) + '\n';
  for (const auto& [name, value] : headers) text.append(name).append(":").append(value).append("\n");
  return text + '\n' + signed_header_names(headers) + '\n' + request.payload_sha256;
}

std::string string_to_sign(const SigningScope& scope, std::string_view canonical_request) {
  return std::string(kAlgorithm) + '\n' + amz_date(scope.time) + '\n' + credential_scope(scope) + '\n' +
         to_hex(sha256(canonical_request));
}

std::string signature(std::string_view secret_access_key, const SigningScope& scope,
                      std::string_view string_to_sign) {
  Sha256 key = hmac_sha256("AWS4" + std::string(secret_access_key), amz_date(scope.time).substr(0, 8));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service), std::string_view("aws4_request")}) {
    key = hmac_sha256(raw(key), part);
  }
  return to_hex(hmac_sha256(raw(key), string_to_sign));
}

std::string authorization(const RequestToSign& request, const SigningScope& scope,
                          const Credentials& credentials) {
  const std::string to_sign = string_to_sign(scope, canonical_request(request));
  return std::string(kAlgorithm) + " Credential=" + credentials.access_key_id + '/' +
         credential_scope(scope) +
         ", SignedHeaders=" + signed_header_names(canonical_headers(request.headers)) +
         ", Signature=" + signature(credentials.secret_access_key, scope, to_sign);
}

NameValues sign(RequestToSign request, const SigningScope& scope, const Credentials& credentials) {
  NameValues added = {{"x-amz-date", amz_date(scope.time)}, {"x-amz-content-sha256", request.payload_sha256}};
  if (!credentials.session_token.empty())
    added.emplace_back("x-amz-security-token", credentials.session_token);
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  added.emplace_back("Authorization", authorization(request, scope, credentials));
  return added;
}

}  // namespace ratoon::objects
