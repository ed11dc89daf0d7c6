#include "operator/local/control_message.h"

#include "base/contract/fields.h"

namespace ratoon::local {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int kDepthMax = 4;
constexpr std::size_t kTargetBytesMax = 512;
constexpr std::size_t kSentenceBytesMax = 4096;
constexpr const char* kKill = "kill";
constexpr const char* kReclaim = "reclaim";

std::string dump(json document) {
  document["version"] = kVersion;
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> parse(std::string_view text) {
  auto document = parse_json(text, kControlBytesMax, kDepthMax);
  if (document && !document->is_object()) return Error(ErrorKind::kInvalid, "expected a JSON object");
  return document;
}

}  // namespace

std::string encode(const ControlRequest& request) {
  const bool is_kill = request.kind == ControlRequest::Kind::kKill;
  json document = {{"command", is_kill ? kKill : kReclaim}, {"target", request.target}};
  if (request.notice_seconds) document["notice_seconds"] = *request.notice_seconds;
  return dump(std::move(document));
}

std::string encode(const ControlReply& reply) {
  return dump({{"done", reply.is_done}, {"message", reply.message}});
}

Result<ControlRequest> decode_control_request(std::string_view text) {
  const auto document = parse(text);
  if (!document) return document.error();
  std::optional<Error> complaint;
  Fields fields(*document, "", complaint);
  if (fields.whole("version", 1000) != kVersion) fields.complain("version", "1");
  const std::string command = fields.text("command", 64);
  if (command != kKill && command != kReclaim) fields.complain("command", "kill or reclaim");
  ControlRequest request{
      .kind = command == kKill ? ControlRequest::Kind::kKill : ControlRequest::Kind::kReclaim,
      .target = fields.text("target", kTargetBytesMax),
      .notice_seconds = {}};
  if (fields.find("notice_seconds") != nullptr) request.notice_seconds = fields.seconds("notice_seconds");
  if (complaint) return *complaint;
  return request;
}

Result<ControlReply> decode_control_reply(std::string_view text) {
  const auto document = parse(text);
  if (!document) return document.error();
  std::optional<Error> complaint;
  Fields fields(*document, "", complaint);
  ControlReply reply{.is_done = fields.flag("done"), .message = fields.text("message", kSentenceBytesMax)};
  if (complaint) return *complaint;
  return reply;
}

}  // namespace ratoon::local
