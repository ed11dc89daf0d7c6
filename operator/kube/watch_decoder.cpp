#include "operator/kube/watch_decoder.h"

#include <array>
#include <utility>

#include "base/contract/parse_json.h"
#include "base/core/utf8.h"
#include "operator/kube/lenient_json.h"

namespace ratoon::kube {
namespace {

constexpr int kDepthMax = 128;

constexpr std::array<std::pair<std::string_view, WatchEventKind>, 5> kKinds = {{
    {"ADDED", WatchEventKind::kAdded},
    {"MODIFIED", WatchEventKind::kModified},
    {"DELETED", WatchEventKind::kDeleted},
    {"BOOKMARK", WatchEventKind::kBookmark},
    {"ERROR", WatchEventKind::kError},
}};

WatchEvent make_broken_event(std::string complaint) {
  return {.kind = WatchEventKind::kBroken, .complaint = std::move(complaint)};
}

}  // namespace

WatchEvent WatchDecoder::decode(std::string_view line) const {
  auto parsed = parse_json_without_list(kManagedFieldsKey, line, line_bytes_max_, kDepthMax);
  if (!parsed) return make_broken_event("a watch event is " + parsed.error().message());
  const std::string type = string_field(*parsed, "type");
  for (const auto& [name, kind] : kKinds) {
    if (type != name) continue;
    if (!child(*parsed, "object").is_object())
      return make_broken_event("a watch event of type " + type + " has no object");
    return {.kind = kind, .object = std::move((*parsed)["object"])};
  }
  return make_broken_event("a watch event is of type '" + cut_text(type, 40) + "', which is not known");
}

void WatchDecoder::feed(std::string_view bytes, const std::function<void(WatchEvent)>& take) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (!is_skipping_line_ && incomplete_line_.size() + piece.size() > line_bytes_max_) {
      is_skipping_line_ = true;
      incomplete_line_ = {};  // gives the memory back
      take(make_broken_event("a watch event is longer than " + std::to_string(line_bytes_max_) + " bytes"));
    }
    if (!is_skipping_line_) incomplete_line_ += piece;
    if (end == std::string_view::npos) return;
    if (!std::exchange(is_skipping_line_, false) &&
        incomplete_line_.find_first_not_of(" \r\t") != std::string::npos)
      take(decode(incomplete_line_));
    incomplete_line_.clear();
  }
}

}  // namespace ratoon::kube
