#include "agent/src/objects/s3/protocol/s3_replies.h"

#include <algorithm>
#include <charconv>

#include "agent/src/objects/percent.h"
#include "agent/src/objects/s3/protocol/xml.h"

namespace ratoon::objects {
namespace {

// Makes a text from the store safe for an error message: one line of limited length.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, 500)) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return line;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Names in a list of objects are escaped as in the query of a URL, where '+' means a space.
std::optional<std::string> unescape_name(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), '+', ' ');
  return percent_decode(name);
}

Error invalid_list_error(std::string_view what) {
  return {ErrorKind::kCorrupted, "the store's reply: " + std::string(what)};
}

}  // namespace

S3Refusal decode_refusal(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document) return {};
  const XmlElement* error = document->find("Error");
  if (error == nullptr) return {};
  return {.code = one_line(error->text_of("Code")),
          .message = one_line(error->text_of("Message")),
          .region = one_line(error->text_of("Region")),
          .server_time = one_line(error->text_of("ServerTime"))};
}

Result<ObjectPage> decode_list(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document) return document.error();
  if (document->name != "ListBucketResult")
    return invalid_list_error("the list is no ListBucketResult but " + one_line(document->name));
  const bool is_escaped = document->text_of("EncodingType") == "url";
  ObjectPage page;
  for (const XmlElement& entry : document->children) {
    if (entry.name != "Contents") continue;
    const auto size = parse_size(entry.text_of("Size"));
    auto key = is_escaped ? unescape_name(entry.text_of("Key")) : std::string(entry.text_of("Key"));
    if (!key || key->empty() || !size)
      return invalid_list_error("the list has an entry without a name or a size");
    page.objects.push_back(
        {.key = std::move(*key), .size_bytes = *size, .etag = std::string(entry.text_of("ETag"))});
  }
  page.next = document->text_of("NextContinuationToken");
  if (document->text_of("IsTruncated") == "true" && page.next.empty())
    return invalid_list_error("the list is truncated and does not name its next page");
  if (document->text_of("IsTruncated") != "true") page.next.clear();
  return page;
}

Result<std::string> decode_upload_id(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document) return document.error();
  std::string id(document->text_of("UploadId"));
  if (document->name != "InitiateMultipartUploadResult" || id.empty())
    return Error(ErrorKind::kCorrupted, "the store's reply has no UploadId");
  return id;
}

std::string decode_completed_crc32c(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document || document->name != "CompleteMultipartUploadResult") return {};
  return one_line(document->text_of("ChecksumCRC32C"));
}

Result<OpenUploadPage> decode_open_uploads(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document) return document.error();
  if (document->name != "ListMultipartUploadsResult")
    return invalid_list_error("the list is no ListMultipartUploadsResult but " + one_line(document->name));
  const bool is_escaped = document->text_of("EncodingType") == "url";
  const auto plain = [&](std::string_view text) {
    return is_escaped ? unescape_name(text) : std::optional(std::string(text));
  };
  OpenUploadPage page;
  for (const XmlElement& entry : document->children) {
    if (entry.name != "Upload") continue;
    auto key = plain(entry.text_of("Key"));
    std::string id(entry.text_of("UploadId"));
    const auto initiated = parse_rfc3339(entry.text_of("Initiated"));
    if (!key || key->empty() || id.empty() || !initiated)
      return invalid_list_error("the list has an upload without a Key, an UploadId or a readable time");
    page.uploads.push_back({.key = std::move(*key), .id = std::move(id), .initiated = *initiated});
  }
  if (document->text_of("IsTruncated") != "true") return page;
  auto next = plain(document->text_of("NextKeyMarker"));
  if (!next || next->empty())
    return invalid_list_error("the list is truncated and does not name its next page");
  page.next_key = std::move(*next);
  page.next_id = document->text_of("NextUploadIdMarker");
  return page;
}

Result<Credentials> decode_assumed_role(std::string_view body) {
  const auto document = parse_xml(body);
  if (!document) return document.error();
  const XmlElement* found = document->find("Credentials");
  if (found == nullptr) return Error(ErrorKind::kCorrupted, "the reply has no Credentials in it");
  const auto expiration = parse_rfc3339(found->text_of("Expiration"));
  Credentials credentials{.access_key_id = std::string(found->text_of("AccessKeyId")),
                          .secret_access_key = std::string(found->text_of("SecretAccessKey")),
                          .session_token = std::string(found->text_of("SessionToken")),
                          .expires_at = expiration};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty() || !expiration) {
    return Error(ErrorKind::kCorrupted,
                 "the reply's Credentials lack AccessKeyId, SecretAccessKey or a readable Expiration");
  }
  return credentials;
}

}  // namespace ratoon::objects
