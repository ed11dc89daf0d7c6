#include "agent/src/checkpoint/interop/pt_writer.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "agent/src/checkpoint/interop/pickle/pickle_writer.h"
#include "agent/src/checkpoint/interop/quoted.h"
#include "agent/src/checkpoint/interop/zip/zip_writer.h"
#include "base/core/xxh3.h"

namespace ratoon::checkpoint {
namespace {

Result<void> write_tensor(const TensorSource& tensor, std::size_t storage, ZipWriter& zip) {
  const auto size_bytes = size_bytes_of(tensor.type, tensor.shape);
  if (!size_bytes) return size_bytes.error();
  if (auto begun = zip.begin("data/" + std::to_string(storage), *size_bytes); !begun) return begun;
  if (auto written = tensor.write(zip); !written) return written;
  return zip.end();
}

// Returns the archive's id: 40 digits that depend on the names and contents of the tensors. PyTorch computes
// another id, which depends on the hash functions and hash tables of the C++ standard library.
std::string serialization_id(std::string_view pickle, const ZipWriter& zip) {
  std::array<char, 41> digits{};
  std::snprintf(digits.data(), digits.size(), "%020" PRIu64 "%020" PRIu64,
                xxh3_64(std::as_bytes(std::span(pickle))),
                xxh3_64(std::as_bytes(std::span(zip.checksums()))));
  return std::string(digits.data(), digits.size() - 1);
}

}  // namespace

Result<void> write_pt(std::span<const TensorSource> tensors, ByteSink& sink, const PtWriteOptions& options) {
  if (auto checked = check_names(tensors); !checked) return checked;
  const auto pickle = pickle_of(tensors);
  if (!pickle) return pickle.error();

  ZipWriter zip(sink, options.archive);
  using Record = std::pair<std::string_view, std::string_view>;
  for (const auto& [name, bytes] : {Record{"data.pkl", *pickle}, Record{".format_version", "1"},
                                    Record{".storage_alignment", "64"}, Record{"byteorder", "little"}})
    if (auto added = zip.add(name, bytes); !added) return added;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (auto written = write_tensor(tensors[i], i, zip); !written)
      return written.error().with_context("writing tensor " + quoted(tensors[i].name));
  if (auto added = zip.add("version", "3\n"); !added) return added;
  if (auto added = zip.add(".data/serialization_id", serialization_id(*pickle, zip)); !added) return added;
  return zip.finish();
}

}  // namespace ratoon::checkpoint
