// pack_probe COMMAND FILE
//
//   write FILE   the pack of tests/support/sample_pack.h
//   show FILE    what is in a pack, verified, as JSON in the form of golden/check.py
//
// An error is one line on standard output, with exit code 1.
#include <cstdio>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/header/safetensors_types.h"
#include "tests/support/sample_pack.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace ratoon;  // NOLINT
using nlohmann::json;

Result<json> show(const test::PackFile& pack) {
  const auto& layout = pack.header.layout;
  json found = json::object();
  for (std::size_t i = 0; i < layout.tensors.size(); ++i) {
    const auto& tensor = layout.tensors[i];
    const auto bytes = pack.data().subspan(tensor.begin, tensor.end - tensor.begin);
    if (xxh3_128(bytes) != pack.header.hashes[i])
      return Error(ErrorKind::kCorrupted, checkpoint::in_quotes(tensor.name) + " is not what was saved");
    found[tensor.name] = {{"dtype", checkpoint::safetensors_name(tensor.type)},
                          {"shape", tensor.shape},
                          {"box", tensor.box ? checkpoint::to_text(*tensor.box) : ""},
                          {"xxh3", to_hex(pack.header.hashes[i])}};
  }
  const checkpoint::Extent all{.begin = 0, .end = layout.data_bytes, .block_count = layout.block_count()};
  if (auto verified = verify_extent(pack.header, all, pack.data()); !verified) return verified.error();
  return found;
}

int fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: pack_probe write|show FILE");
  const std::string path = argv[2];
  if (std::string(argv[1]) == "write") {
    std::ofstream(path, std::ios::binary) << test::sample_pack().bytes;
    return 0;
  }
  test::PackFile pack{.name = path, .header = {}, .bytes = test::read_text(path)};
  auto header = test::read_header(pack);
  if (!header) return fail(header.error().message());
  pack.header = std::move(*header);
  const auto found = show(pack);
  if (!found) return fail(found.error().message());
  std::printf("%s\n", found->dump().c_str());
  return 0;
}
