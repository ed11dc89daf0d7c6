#include "operator/local/control/control_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/contract/fields.h"
#include "base/core/utf8.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int kMessageDepthMax = 4;
constexpr std::size_t kTargetBytesMax = 512;
constexpr std::size_t kMessageTextBytesMax = 4096;
// A message of this length fits into kControlBytesMax, even if each of its bytes is escaped as two bytes.
constexpr std::size_t kReplyMessageBytesMax = 4000;

using Kind = ControlRequest::Kind;
constexpr std::array<std::pair<std::string_view, Kind>, 4> kCommands = {{{"kill", Kind::kKill},
                                                                         {"reclaim", Kind::kReclaim},
                                                                         {"suspend", Kind::kSuspend},
                                                                         {"resume", Kind::kResume}}};

std::string dump(json document) {
  document["version"] = kVersion;
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse(std::string_view text) {
  auto document = parse_json(text, kControlBytesMax, kMessageDepthMax);
  if (document && !document->is_object()) return Error(ErrorKind::kInvalid, "expected a JSON object");
  return document;
}

}  // namespace

std::string encode(const ControlRequest& request) {
  const auto command = std::ranges::find(kCommands, request.kind, [](const auto& c) { return c.second; });
  json document = {{"command", command->first}};
  if (!request.target.empty()) document["target"] = request.target;
  if (request.notice_seconds) document["notice_seconds"] = *request.notice_seconds;
  return dump(std::move(document));
}

std::string encode(const ControlReply& reply) {
  return dump(
      {{"done", reply.is_done}, {"message", cut_text(printable(reply.message), kReplyMessageBytesMax)}});
}

Result<ControlRequest> decode_control_request(std::string_view text) {
  const auto document = parse(text);
  if (!document) return document.error();
  std::optional<Error> complaint;
  Fields fields(*document, "", complaint);
  if (fields.whole("version", 1000) != kVersion) fields.complain("version", "1");
  const std::string word = fields.text("command", 64);
  const auto command = std::ranges::find(kCommands, word, [](const auto& c) { return c.first; });
  if (command == kCommands.end()) {
    fields.complain("command", "kill, reclaim, suspend or resume");
    return *complaint;
  }
  ControlRequest request{.kind = command->second};
  const bool has_target = request.kind == Kind::kKill || request.kind == Kind::kReclaim;
  if (has_target) request.target = fields.text("target", kTargetBytesMax);
  if (fields.find("notice_seconds") != nullptr) request.notice_seconds = fields.seconds("notice_seconds");
  if (complaint) return *complaint;
  return request;
}

Result<ControlReply> decode_control_reply(std::string_view text) {
  const auto document = parse(text);
  if (!document) return document.error();
  std::optional<Error> complaint;
  Fields fields(*document, "", complaint);
  ControlReply reply{.is_done = fields.flag("done"),
                     .message = fields.optional_text("message", kMessageTextBytesMax)};
  if (complaint) return *complaint;
  return reply;
}

}  // namespace ratoon::local
