// interop_probe IN OUT
//
// Reads the tensors of a file of torch.save (.pt) or of safetensors (.safetensors), and writes them under the
// same names as either. An error is one line on standard output, with exit code 1.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "agent/src/checkpoint/interop/pt_reader.h"
#include "agent/src/checkpoint/interop/pt_writer.h"
#include "agent/src/checkpoint/interop/safetensors_file.h"
#include "agent/src/data/sets/mapped_file.h"

namespace {

using namespace ratoon;              // NOLINT
using namespace ratoon::checkpoint;  // NOLINT

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path) : out_(path, std::ios::binary | std::ios::trunc) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    out_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (out_.flush()) return {};
    return Error(ErrorKind::kIo, "the file cannot be written");
  }

 private:
  std::ofstream out_;
};

Result<std::vector<TensorSource>> read(const std::string& path, std::span<const std::byte> bytes,
                                       PtFile& file) {
  std::vector<TensorSource> sources;
  if (path.ends_with(".pt")) {
    auto read = read_pt(bytes);
    if (!read) return read.error();
    file = std::move(*read);
    for (const PtTensor& tensor : file.tensors)
      sources.push_back({.name = tensor.name,
                         .type = tensor.stored.type(),
                         .shape = tensor.stored.shape(),
                         .write = [&tensor](ByteSink& sink) { return tensor.stored.write(sink); }});
    return sources;
  }
  const auto views = read_safetensors(bytes);
  if (!views) return views.error();
  for (const TensorView& view : *views) {
    auto source = source_of(view);
    if (!source) return source.error();
    sources.push_back(std::move(*source));
  }
  return sources;
}

Result<void> copy(const std::string& from, const std::string& to) {
  const auto mapped = data::MappedFile::open(from);
  if (!mapped) return mapped.error();
  PtFile file;
  const auto sources = read(from, mapped->bytes(), file);
  if (!sources) return sources.error();
  FileSink sink(to);
  return to.ends_with(".pt") ? write_pt(*sources, sink) : write_safetensors(*sources, sink);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto copied = copy(argv[1], argv[2]);
  if (!copied) std::printf("%s\n", copied.error().message().c_str());
  return copied ? 0 : 1;
}
