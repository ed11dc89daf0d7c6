#include <cstdlib>
#include <span>
#include <string>

#include "agent/src/checkpoint/interop/pickle/pickle_reader.h"
#include "agent/src/checkpoint/interop/pt_reader.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/checkpoint/interop/zip/zip_writer.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using Bytes = std::span<const std::byte>;
using namespace checkpoint;  // NOLINT

constexpr std::uint64_t kCopiedBytesMax = std::uint64_t{4} << 20;

void require_file_sentence(const Error& error) {
  require(error.kind() == ErrorKind::kCorrupted || error.kind() == ErrorKind::kInvalid);
  require(!error.message().empty() && error.message().size() < 8192);
}

class TextSink final : public ByteSink {
 public:
  Result<void> append(Bytes bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

  std::string text;
};

// Accepted data can be written, and read again as the same.
void check_file(const PtFile& file) {
  std::vector<TensorSource> sources;
  std::uint64_t left_bytes = kCopiedBytesMax;
  for (const PtTensor& tensor : file.tensors) {
    if (tensor.stored.size_bytes() > left_bytes) return;
    left_bytes -= tensor.stored.size_bytes();
    sources.push_back({.name = tensor.name,
                       .type = tensor.stored.type(),
                       .shape = tensor.stored.shape(),
                       .write = [&tensor](ByteSink& sink) { return tensor.stored.write(sink); }});
  }
  TextSink sink, again;
  require(write_pt(sources, sink).has_value());
  const auto read = read_pt(std::as_bytes(std::span(sink.text)));
  require(read.has_value() && read->tensors.size() == file.tensors.size() && read->scalars.empty());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const StoredTensor& stored = read->tensors[i].stored;
    require(stored.is_contiguous() && stored.shape() == file.tensors[i].stored.shape());
    sources[i].write = [&stored](ByteSink& into) { return stored.write(into); };
  }
  require(write_pt(sources, again).has_value() && again.text == sink.text);
}

std::string archive_of(std::string_view pickle) {
  TextSink sink;
  ZipWriter zip(sink, "a");
  require(zip.add("data.pkl", pickle).has_value() && zip.add("data/0", std::string(64, 'd')).has_value() &&
          zip.add("data/1", "").has_value() && zip.finish().has_value());
  return std::move(sink.text);
}

void check_pt(std::string_view bytes) {
  const std::string copy(bytes);  // its own memory, so that a byte too far is seen
  const auto file = read_pt(std::as_bytes(std::span(copy)), {.checksums_may_be_missing = true});
  if (!file) return require_file_sentence(file.error());
  check_file(*file);
}

}  // namespace

void pt_file(std::string_view bytes) {
  check_pt(bytes);
  check_pt(archive_of(bytes));
}

void safetensors_file(std::string_view bytes) {
  const std::string copy(bytes);
  const auto views = read_safetensors(std::as_bytes(std::span(copy)));
  if (!views) return require_file_sentence(views.error());
  std::vector<TensorSource> sources;
  for (const TensorView& view : *views) {
    const auto source = source_of(view);
    require(source.has_value());
    sources.push_back(*source);
  }
  TextSink sink;
  require(write_safetensors(sources, sink).has_value());
  const auto again = read_safetensors(std::as_bytes(std::span(sink.text)));
  require(again.has_value() && again->size() == views->size());
}

}  // namespace ratoon::fuzz
