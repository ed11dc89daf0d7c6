#include "base/contract/codec.h"

#include <cstdint>
#include <optional>

#include "base/contract/fields.h"
#include "base/contract/limits.h"
#include "base/contract/message_json.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 8;

}  // namespace

std::string member_name(const JobKey& job, const std::string& role, std::uint32_t index,
                        std::uint32_t incarnation) {
  return job.name + "-" + role + "-" + std::to_string(index) + "-i" + std::to_string(incarnation);
}

template <class T>
std::string encode(const T& message) {
  json out = contract::to_json(message);
  out["version"] = kContractVersion;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
Result<T> decode(std::string_view text) {
  Result<json> parsed = parse_json(text, kMessageBytesMax, kDepthMax);
  if (!parsed) return parsed.error();
  std::optional<Error> complaint;
  Fields fields(*parsed, "", complaint);
  const auto version = fields.whole("version", contract::kExactJsonIntegerMax);
  if (!complaint && (version < kOldestServedContractVersion || version > kContractVersion)) {
    complaint =
        Error(ErrorKind::kInvalid,
              "the message has version " + std::to_string(version) +
                  " of the contract between agent and operator, and this program reads versions " +
                  std::to_string(kOldestServedContractVersion) + " to " + std::to_string(kContractVersion) +
                  ": update the older of agent and operator; if both are old, update the operator first");
  }
  T message;
  contract::read(fields, message);
  if (complaint) return *complaint;
  return message;
}

#define RATOON_MESSAGE(T)                   \
  template std::string encode<T>(const T&); \
  template Result<T> decode<T>(std::string_view);
RATOON_MESSAGE(JoinRequest)
RATOON_MESSAGE(Assignment)
RATOON_MESSAGE(JoinReply)
RATOON_MESSAGE(Heartbeat)
RATOON_MESSAGE(OrdersRequest)
RATOON_MESSAGE(Orders)
RATOON_MESSAGE(Completed)
RATOON_MESSAGE(CompletionRecord)
RATOON_MESSAGE(Refusal)
#undef RATOON_MESSAGE

}  // namespace ratoon
