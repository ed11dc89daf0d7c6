#include "agent/src/objects/s3/open_uploads.h"

#include <utility>

#include "agent/src/objects/s3/protocol/s3_replies.h"
#include "agent/src/objects/s3/s3_part_uploader.h"

namespace ratoon::objects {

S3Call make_abort_call(const std::string& key, const std::string& upload_id) {
  return {.method = "DELETE", .key = key, .query = {{"uploadId", upload_id}}};
}

Result<std::uint64_t> abort_open_uploads(S3Client& client, const std::string& prefix, const std::string& uri,
                                         Duration older_than, const std::stop_token& stop) {
  const std::string what = "looking for uploads that were left at " + uri;
  std::uint64_t count = 0;
  OpenUploadPage page;
  do {
    S3Call call{.query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}}};
    if (!page.next_key.empty()) call.query.emplace_back("key-marker", page.next_key);
    if (!page.next_id.empty()) call.query.emplace_back("upload-id-marker", page.next_id);
    const auto answer = client.call(call, what, {.stop = stop});
    if (!answer) return answer.error();
    auto decoded = decode_open_uploads(answer->body);
    if (!decoded) return decoded.error().with_context(what);
    const bool is_same = decoded->next_key == page.next_key && decoded->next_id == page.next_id;
    if (is_same && !decoded->next_key.empty())
      return Error(ErrorKind::kCorrupted,
                   what + ": the list does not end, because a page names itself as the next page");
    page = *std::move(decoded);
    // Compute the age of an upload with the store's clock, because the store sets the time at which the
    // upload began. Times in the store's replies have a resolution of one second.
    const WallTime now =
        parse_http_date(answer->headers.get("Date")).value_or(client.dependencies().clock->wall_now());
    const Duration age_min = older_than - std::chrono::seconds(1);
    for (const OpenUpload& upload : page.uploads) {
      if (!upload.key.starts_with(prefix))
        return Error(ErrorKind::kCorrupted,
                     what + ": the list gave '" + upload.key + "', which is outside of the prefix");
      if (now.since_epoch - upload.initiated.since_epoch < age_min) continue;
      const auto aborted =
          client.call(make_abort_call(upload.key, upload.id), "aborting an upload left at " + uri,
                      {.stop = stop, .accepts = says_upload_missing});
      if (!aborted) return aborted.error();
      if (aborted->status != 404) ++count;
    }
  } while (!page.next_key.empty());
  return count;
}

}  // namespace ratoon::objects
