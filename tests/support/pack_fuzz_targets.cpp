// Headers of packs and of foreign safetensors files.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/pack/cover.h"
#include "agent/src/checkpoint/pack/header/header.h"
#include "agent/src/checkpoint/pack/read_plan.h"
#include "tests/support/fuzz_targets.h"

namespace ratoon::fuzz {
namespace {

using namespace checkpoint;  // NOLINT

void require_sound(const PackLayout& layout, std::uint64_t header_bytes) {
  std::uint64_t end = 0;
  for (const auto& tensor : layout.tensors) {
    require(tensor.begin == end && count_bytes(tensor.type, tensor.shape) == tensor.end - tensor.begin);
    require(!tensor.box || box_holds(*tensor.box, tensor.shape));
    end = tensor.end;
  }
  require(layout.data_bytes == end && layout.header_bytes == header_bytes);
}

void require_pack_sentence(const Error& error) {
  require(error.kind() == ErrorKind::kCorrupted || error.kind() == ErrorKind::kInvalid);
  require(!error.message().empty() && error.message().size() < 4096);
}

// An accepted header can be written again, and its tensors can be found.
void check_ours(const PackHeader& pack) {
  std::vector<TensorSpec> specs;
  std::vector<TensorSpec> wanted;
  for (const auto& tensor : pack.layout.tensors) {
    specs.push_back({tensor.name, tensor.type, tensor.shape, tensor.box});
    wanted.push_back({tensor.name, tensor.type, tensor.box ? tensor.box->whole_shape : tensor.shape});
  }
  if (const auto again = plan_pack(specs, pack.layout.owner)) {
    const std::string text = encode_header(*again, pack.block_crcs, pack.hashes);
    require(decode_header(text, again->file_bytes())->layout == *again);
  }
  const auto index = PartIndex::build({{"pack", &pack.layout, pack.hashes}});
  require(index.has_value());
  const bool is_covered = check_cover(*index).has_value();
  const auto plan = plan_reads(*index, wanted, 0);
  require(plan.has_value() == is_covered);
  for (std::size_t i = 0; plan && i < plan->packs.size(); ++i) {
    for (const auto& extent : plan->packs[i].extents) require(extent.end <= pack.layout.data_bytes);
  }
}

void check(std::string_view header, std::uint64_t file_bytes) {
  const auto ours = decode_header(header, file_bytes);
  if (ours) {
    require_sound(ours->layout, header.size());
    require(ours->block_crcs.size() == ours->layout.block_count());
    require(ours->hashes.size() == ours->layout.tensors.size());
    check_ours(*ours);
  } else {
    require_pack_sentence(ours.error());
  }
  const auto foreign = decode_foreign_header(header, file_bytes);
  require(foreign.has_value() || !ours.has_value());
  if (foreign)
    require_sound(*foreign, header.size());
  else
    require_pack_sentence(foreign.error());
}

// The greatest number after a comma or a bracket: the last tensor may end there.
std::uint64_t greatest_number(std::string_view text) {
  std::uint64_t greatest = 0;
  std::uint64_t number = 0;
  for (const char c : text) {
    number = c >= '0' && c <= '9'
                 ? std::min<std::uint64_t>(number * 10 + static_cast<std::uint64_t>(c - '0'), 1ULL << 45)
                 : 0;
    greatest = std::max(greatest, number);
  }
  return greatest;
}

}  // namespace

void pack_header(std::string_view bytes) {
  check(bytes, bytes.size());
  const auto header_bytes = header_bytes_of(bytes, bytes.size());
  if (!header_bytes) return require_pack_sentence(header_bytes.error());
  const std::string_view header = bytes.substr(0, *header_bytes);
  check(header, bytes.size());
  const std::size_t offsets = header.rfind("data_offsets");
  if (offsets != std::string_view::npos)
    check(header, header.size() + greatest_number(header.substr(offsets)));
}

}  // namespace ratoon::fuzz
