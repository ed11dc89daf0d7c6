#include "cli/report/facts/read_samples.h"

#include <optional>
#include <span>

#include "agent/src/checkpoint/interop/byte_sink.h"
#include "base/contract/fields.h"
#include "cli/checkpoint/open_packs.h"
#include "cli/checkpoint/tensor_stream.h"

namespace ratoon::cli {
namespace {

constexpr std::uint64_t kStateBytesMax = 1U << 20;
constexpr int kSampleDepthMax = 8;
constexpr std::uint64_t kSampleCountMax = (1ULL << 63) - 1;
constexpr std::size_t kDigestBytesMax = 16;

class TextSink final : public checkpoint::ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  std::string text;
};

// Decodes a sample stream's state (docs/reference/stream.md), or returns nothing if `text` is no such state.
std::optional<ConsumedSamples> decode(const std::string& name, const std::string& text) {
  const auto body = parse_json(text, kStateBytesMax, kSampleDepthMax);
  if (!body || !body->is_object() || !body->contains("sources")) return std::nullopt;
  std::optional<Error> complaint;
  Fields f(*body, "stream", complaint);
  ConsumedSamples samples{.stream = name,
                          .digest = f.text("digest", kDigestBytesMax),
                          .samples = f.whole("cursor", kSampleCountMax),
                          .batches = f.whole("batches", kSampleCountMax)};
  if (complaint) return std::nullopt;
  return samples;
}

}  // namespace

std::vector<ConsumedSamples> read_samples(const checkpoint::Disk& disk) {
  std::vector<ConsumedSamples> found;
  raise_limit_of_open_files();
  const auto opened = open_checkpoint(disk, {}, 0);
  if (!opened || opened->packs.empty()) return found;
  for (const auto& tensor : opened->packs.front().reader.header().layout.tensors) {
    const bool may_be_one = tensor.type == ElementType::kUint8 && tensor.shape.size() == 1 && !tensor.box &&
                            tensor.shape.front() <= static_cast<std::int64_t>(kStateBytesMax);
    if (!may_be_one) continue;
    const auto stream = TensorStream::make(opened->packs, {tensor.name}, true);
    if (!stream) continue;
    for (const auto& source : stream->sources({})) {
      TextSink text;
      if (source.name != tensor.name || !source.write(text)) continue;
      if (auto samples = decode(tensor.name, text.text)) found.push_back(*std::move(samples));
    }
  }
  return found;
}

}  // namespace ratoon::cli
