#include "agent/src/data/stream_state.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"
#include "base/contract/fields.h"

namespace ratoon::data {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormat = 1;
constexpr const char* kOrder = "feistel-1";
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kTextBytesMax = 64 * 1024;
constexpr int kDepthMax = 4;
constexpr std::size_t kDigestDigits = 16;
constexpr std::size_t kSourceBytesMax = 4096;

[[noreturn]] void refuse(const std::string& why) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), "the state of the sample stream " + why);
}

std::string to_hex(std::uint64_t value) {
  std::array<char, kDigestDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::uint64_t read_digest(Fields& f) {
  const std::string text = f.text("digest", kDigestDigits);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_hex = problem == std::errc() && end == text.data() + text.size();
  if (!is_hex || text.size() != kDigestDigits) f.complain("digest", "16 hexadecimal digits");
  return value;
}

StreamState decode(std::string_view text) {
  const Result<json> body = parse_json(text, kTextBytesMax, kDepthMax);
  if (!body) refuse("cannot be read: " + body.error().message());
  std::optional<Error> complaint;
  Fields f(*body, "stream", complaint);
  if (f.whole("format", kAny) != kFormat) f.complain("format", "1: a newer Ratoon wrote this, use that one");
  if (f.text("order", 64) != kOrder) f.complain("order", "feistel-1, the only one that this Ratoon computes");
  StreamState state;
  state.cursor = f.whole("cursor", kAny);
  state.digest = read_digest(f);
  const json& segments = f.list("segments", 1);
  if (segments.size() != 1) f.complain("segments", "one: a newer Ratoon wrote this, use that one");
  for (const auto& item : segments) {
    Fields segment = f.child(item, "segments[]");
    if (segment.whole("start", kAny) != 0) segment.complain("start", "0, for the first segment");
    state.options = {.samples = segment.whole("samples", kAny),
                     .global_batch = segment.whole("global_batch", kAny),
                     .seed = segment.whole("seed", kAny),
                     .source = segment.optional_text("source", kSourceBytesMax)};
  }
  if (complaint) refuse("cannot be read: " + complaint->message());
  return state;
}

template <class T>
void compare(const char* what, const T& saved, const T& now, const char* mend) {
  if (saved == now) return;
  std::string values;
  if constexpr (std::is_same_v<T, std::string>) {
    values = "'" + saved + "', and the program has '" + now + "'";
  } else {
    values = std::to_string(saved) + ", and the program has " + std::to_string(now);
  }
  refuse(std::string("does not fit: in the checkpoint ") + what + " is " + values + ". " + mend);
}

}  // namespace

std::string encode_stream_state(const StreamState& state) {
  json segment = {{"start", 0},
                  {"samples", state.options.samples},
                  {"global_batch", state.options.global_batch},
                  {"seed", state.options.seed},
                  {"source", state.options.source}};
  return json{{"format", kFormat},
              {"order", kOrder},
              {"cursor", state.cursor},
              {"digest", to_hex(state.digest)},
              {"segments", json::array({std::move(segment)})}}
      .dump();
}

StreamState read_stream_state(std::string_view text, const StreamOptions& expected) {
  StreamState state = decode(text);
  constexpr const char* kMend = "Train with what the run began with, or begin a run of another name";
  compare("the source", state.options.source, expected.source, kMend);
  compare("the number of samples", state.options.samples, expected.samples, kMend);
  compare("the seed", state.options.seed, expected.seed, kMend);
  compare("the global batch", state.options.global_batch, expected.global_batch, kMend);
  return state;
}

}  // namespace ratoon::data
