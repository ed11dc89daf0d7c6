// Helpers for tests of foreign files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/interop/byte_sink.h"
#include "agent/src/checkpoint/interop/pt_reader.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/interop/zip/zip_writer.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::checkpoint::test {

// Declared in a header whose source file is compiled after it.
using ratoon::test::read_text;
using ratoon::test::TemporaryFolder;
using ratoon::test::write_text;

inline const std::string kGolden = "tests/unit/agent/checkpoint/interop/golden/";

class TextSink final : public ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

  std::string text;
};

inline std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string golden(const std::string& name) {
  return ratoon::test::read_text(kGolden + name);
}

inline std::string contents(const StoredTensor& tensor) {
  TextSink sink;
  return tensor.write(sink) ? std::move(sink.text) : "not written";
}

// Passes its bytes in two pieces, as larger sources do.
inline TensorSource source(const std::string& name, ElementType type, TensorShape shape, std::string bytes) {
  const auto write = [bytes](ByteSink& sink) -> Result<void> {
    const auto whole = bytes_in(bytes);
    if (auto appended = sink.append(whole.first(whole.size() / 2)); !appended) return appended;
    return sink.append(whole.subspan(whole.size() / 2));
  };
  return {.name = name, .type = type, .shape = std::move(shape), .write = write};
}

// A file of torch.save's form with this pickle and these further records.
inline std::string archive_of(std::string_view pickle,
                              const std::vector<std::pair<std::string, std::string>>& records = {}) {
  TextSink sink;
  ZipWriter zip(sink, "a");
  static_cast<void>(zip.add("data.pkl", pickle));
  for (const auto& [name, bytes] : records) static_cast<void>(zip.add(name, bytes));
  static_cast<void>(zip.finish());
  return std::move(sink.text);
}

}  // namespace ratoon::checkpoint::test
