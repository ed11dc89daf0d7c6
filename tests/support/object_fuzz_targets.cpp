// The decoders of replies of stores and token services, and of settings files.
#include <cstdlib>
#include <string>

#include "agent/src/objects/cache/cache_name.h"
#include "agent/src/objects/credentials/http_credentials.h"
#include "agent/src/objects/credentials/shared_files.h"
#include "agent/src/objects/object_key.h"
#include "agent/src/objects/percent.h"
#include "agent/src/objects/remote/content_range.h"
#include "agent/src/objects/remote/location.h"
#include "agent/src/objects/remote/retry.h"
#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/store_uri.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

// A message of ours is one line, for any bytes.
void require_reply_sentence(const Error& error) {
  require(!error.message().empty() && error.message().size() < 4096);
}

bool leads_elsewhere(std::string_view key) {
  const std::string framed = '/' + std::string(key) + '/';
  return key.starts_with('/') || framed.find("/../") != std::string::npos ||
         framed.find("/./") != std::string::npos || framed.find("//") != std::string::npos;
}

void check_replies(std::string_view bytes) {
  using namespace objects;
  const S3Refusal refusal = decode_refusal(bytes);
  for (const std::string& text : {refusal.code, refusal.message, refusal.region, refusal.server_time})
    require(text.find('\n') == std::string::npos && text.size() <= 500);
  if (const auto page = decode_list(bytes)) {
    for (const auto& object : page->objects) require(!object.key.empty());
  } else {
    require(page.error().kind() == ErrorKind::kCorrupted);
    require_reply_sentence(page.error());
  }
  if (const auto id = decode_upload_id(bytes)) require(!id->empty());
  require(decode_completed_crc32c(bytes).size() <= 500);
  if (const auto open = decode_open_uploads(bytes)) {
    for (const auto& upload : open->uploads) require(!upload.key.empty() && !upload.id.empty());
  } else {
    require_reply_sentence(open.error());
  }
  const auto role = decode_assumed_role(bytes);
  require(role ? role->expires_at.has_value() : role.error().kind() == ErrorKind::kCorrupted);
  const auto served = decode_http_credentials(bytes);
  if (served) require(!served->access_key_id.empty() && served->expires_at.has_value());
}

void check_names(std::string_view bytes) {
  using namespace objects;
  if (check_key(bytes, "s3://bucket"))
    require(!bytes.empty() && !leads_elsewhere(bytes) && bytes.size() <= 1024);
  const std::string name = object_name({std::string(bytes), std::string(bytes)});
  require(name.find('/') == std::string::npos && name.size() < 200 &&
          parse_cache_name(name) == CacheNameKind::kObject);
  require(parse_cache_name(part_name(name)) == CacheNameKind::kPart);
  if (bytes.find('\0') == std::string_view::npos)
    require(percent_decode(percent_encode(bytes, true)) == bytes);
  const auto uri = parse_store_uri(bytes);
  if (!uri) return;
  require(uri->scheme != StoreScheme::kS3 || uri->path.empty() || !leads_elsewhere(uri->path));
  if (!uri->query.empty()) require(uri->shown.find('?') == std::string::npos);
}

}  // namespace

void objects(std::string_view bytes) {
  check_replies(bytes);
  check_names(bytes);
  const auto sections = ratoon::objects::parse_shared_file(bytes, "the file");
  if (!sections) require_reply_sentence(sections.error());
  if (const auto range = ratoon::objects::parse_content_range(bytes)) require(range->begin < range->end);
  static_cast<void>(ratoon::objects::parse_retry_after(bytes, WallTime{}));
  if (const auto target = ratoon::objects::resolve_redirect("https://host/a", bytes))
    require(target->starts_with("https://"));
  static_cast<void>(ratoon::objects::is_trusted_container_url(bytes));
}

}  // namespace ratoon::fuzz
