#include "agent/src/objects/store_uri.h"

#include <algorithm>

#include "agent/src/objects/object_key.h"
#include "agent/src/objects/percent.h"
#include "base/core/utf8.h"

namespace ratoon::objects {
namespace {

constexpr std::string_view kExpected =
    "; expected a folder, file:///folder, http(s)://host/path or s3://bucket/prefix";

Error invalid_uri_error(std::string_view text, std::string_view problem) {
  return {ErrorKind::kInvalid,
          "the store '" + std::string(text) + "': " + std::string(problem) + std::string(kExpected)};
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Returns true if the name follows S3's rules for bucket names, or its older rules, which are less strict.
bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '.' || c == '_';
         });
}

Result<StoreUri> parse_file(std::string_view text, std::string_view rest) {
  if (rest.starts_with("localhost/")) rest.remove_prefix(9);
  if (!rest.starts_with('/'))
    return invalid_uri_error(text, "the URI names another machine, or its path is not absolute");
  const auto path = percent_decode(rest);
  if (!path) return invalid_uri_error(text, "a '%' in the URI needs two hexadecimal digits, but not 00");
  StoreUri uri{.path = std::string(without_trailing_slashes(*path))};
  uri.shown = "file://" + uri.path;
  return uri;
}

Result<StoreUri> parse_s3(std::string_view text, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  StoreUri uri{.scheme = StoreScheme::kS3, .bucket = std::string(rest.substr(0, slash))};
  if (!is_bucket(uri.bucket)) return invalid_uri_error(text, "the URI does not name a bucket");
  std::string_view prefix = slash < rest.size() ? rest.substr(slash + 1) : "";
  if (prefix.ends_with('/')) prefix.remove_suffix(1);
  uri.path = std::string(prefix);
  uri.shown = "s3://" + uri.bucket + (prefix.empty() ? "" : "/") + uri.path;
  if (!prefix.empty()) {
    if (auto checked = check_key(prefix, "s3://" + uri.bucket); !checked) return checked.error();
  }
  return uri;
}

Result<StoreUri> parse_http(std::string_view text) {
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string_view plain = text.substr(0, question);
  const std::size_t host = plain.find("//") + 2;
  if (plain.substr(host, plain.find('/', host) - host).find('@') != std::string_view::npos) {
    return invalid_uri_error(std::string(plain.substr(0, host)) + "...",
                             "the URI has a user or password, but Ratoon uses neither: remove it");
  }
  if (plain.size() == host) return invalid_uri_error(plain, "the URI does not name a host");
  StoreUri uri{.scheme = StoreScheme::kHttp, .path = std::string(without_trailing_slashes(plain))};
  if (question < text.size()) uri.query = text.substr(question + 1);
  uri.shown = uri.path;
  return uri;
}

// If a text looks more like a URI with missing characters, such as "s3:/bucket", than like a folder, returns
// the missing characters.
std::string find_missing_part(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(":/"), text.size());
  const std::string scheme = to_lower_case(text.substr(0, end));
  if (scheme != "s3" && scheme != "http" && scheme != "https" && scheme != "file") return "";
  const std::string_view rest = text.substr(end);
  if (rest.starts_with(':')) return rest.starts_with("://") ? "" : "//";
  return rest.starts_with("//") ? ":" : "";
}

}  // namespace

Result<StoreUri> parse_store_uri(std::string_view text) {
  if (text.empty()) return invalid_uri_error(text, "the URI is empty");
  if (text.find('\0') != std::string_view::npos)
    return invalid_uri_error("", "the URI has a zero byte in it");
  if (text.starts_with("file://")) return parse_file(text, text.substr(7));
  if (text.starts_with("s3://")) return parse_s3(text, text.substr(5));
  if (text.starts_with("http://") || text.starts_with("https://")) return parse_http(text);
  if (const std::string lacking = find_missing_part(text); !lacking.empty())
    return invalid_uri_error(text, "the text looks like a URI without its '" + lacking +
                                       "' (if it is the name of a folder, write ./" + std::string(text) +
                                       ")");
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos && text.find('/') == scheme + 1) {
    return invalid_uri_error(std::string(text.substr(0, scheme)) + "://...",
                             "the URI has a scheme that is not known");
  }
  const std::string path(without_trailing_slashes(text));
  return StoreUri{.path = path, .shown = path};
}

}  // namespace ratoon::objects
