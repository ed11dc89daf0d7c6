// Checkpoints whose ranks agree by themselves, as those of torch.distributed.checkpoint do: each rank writes
// a pack of parts, one rank commits, and ranks of any number read the parts that they need.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <ratoon/tensor_view.h>

#include "agent/src/checkpoint/commit/commit.h"
#include "agent/src/checkpoint/commit/lost_manifests.h"
#include "agent/src/checkpoint/commit/run_store.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/retention/retention.h"
#include "base/core/random_name.h"
#include "cli/checkpoint/open_packs.h"
#include "python/src/bindings.h"
#include "python/src/errors.h"
#include "python/src/tensors.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

namespace fs = std::filesystem;
using checkpoint::CheckpointId;
using checkpoint::PackRecord;
using checkpoint::RealDisk;
using checkpoint::RunStore;

// A part in memory: name, type, shape, its place, the whole shape, address, bytes. The caller keeps the
// memory.
using Part = std::tuple<std::string, std::string, TensorShape, TensorShape, TensorShape, std::uintptr_t,
                        std::uint64_t>;
// Of a pack: size_bytes, header_bytes, header_digest.
using WrittenRecord = std::tuple<std::uint64_t, std::uint64_t, std::string>;
// Attempt and step.
using Id = std::pair<std::uint64_t, std::uint64_t>;

CheckpointId checkpoint_id(const Id& id) {
  return {.attempt = Attempt(id.first), .step = Step(id.second)};
}

std::shared_ptr<RealDisk> open_existing(const fs::path& folder) {
  return {value_of(RealDisk::open_existing_folder(folder))};
}

// The newest attempt that left files, and the step of the newest checkpoint.
std::pair<std::uint64_t, std::optional<std::uint64_t>> newest_in(const fs::path& folder) {
  const nb::gil_scoped_release released;
  const std::shared_ptr<RealDisk> disk = value_of(RealDisk::open_folder(folder));
  const RunStore store = value_of(RunStore::open(disk, random_hex_name()));
  // Packs without a manifest are removed before the next save.
  if (value_of(checkpoint::has_packs_of_lost_manifests(*disk))) {
    fail({ErrorKind::kCorrupted,
          disk->shown(checkpoint::kPacks) +
              " has packs of checkpoints that were committed, but there is no "
              "manifest in " +
              disk->shown(checkpoint::kManifests) +
              ", as after a copy that was cut short: bring the manifests back, or move the packs away to "
              "begin anew"});
  }
  const auto inventory = value_of(store.inventory());
  std::optional<std::uint64_t> step;
  if (!inventory.complete.empty()) step = checkpoint::id_of(inventory.complete.front()).step.value();
  return {inventory.newest_attempt.value(), step};
}

void sweep(const fs::path& folder, const Id& before) {
  const nb::gil_scoped_release released;
  check(checkpoint::sweep_uncommitted(*open_existing(folder), checkpoint_id(before)));
}

WrittenRecord write_parts(const fs::path& folder, const Id& id, std::uint32_t rank,
                          const std::vector<Part>& parts) {
  std::vector<TensorView> views;
  for (const auto& [name, type, shape, begin, whole, address, bytes] : parts) {
    views.push_back({.name = name,
                     .type = type_named(type),
                     .shape = shape,
                     .bytes = {memory_at(address), bytes},
                     .box = TensorBox{.begin = begin, .whole_shape = whole}});
  }
  const nb::gil_scoped_release released;
  const auto disk = open_existing(folder);
  const auto record = value_of(
      checkpoint::write_unvoted_pack(*disk, checkpoint_id(id), Rank(rank), views, random_hex_name()));
  return {record.size_bytes, record.header_bytes, record.header_digest};
}

// The ranks have sent what write_parts() returned, so that no receipts are needed.
std::string commit(const fs::path& folder, const Id& id, const std::vector<WrittenRecord>& packs) {
  std::vector<PackRecord> records;
  for (const auto& [size_bytes, header_bytes, header_digest] : packs) {
    records.push_back({.rank = Rank(static_cast<std::uint32_t>(records.size())),
                       .size_bytes = size_bytes,
                       .header_bytes = header_bytes,
                       .header_digest = header_digest});
  }
  const nb::gil_scoped_release released;
  const auto disk = open_existing(folder);
  const auto count = static_cast<std::uint32_t>(records.size());
  const auto committed =
      value_of(checkpoint::try_commit(*disk, checkpoint_id(id), count, random_hex_name(), {}, records));
  if (!committed) {
    fail({ErrorKind::kConflict, disk->shown(checkpoint::manifest_path(checkpoint_id(id))) +
                                    " was removed by another program during the save: one program at a "
                                    "time saves under a run name"});
  }
  return committed->digest;
}

void retire(const fs::path& folder, std::uint64_t keep_last, std::uint64_t attempt) {
  const nb::gil_scoped_release released;
  const RunStore store = value_of(RunStore::open(open_existing(folder), random_hex_name()));
  check(store.retire_old({.last = keep_last}, Attempt(attempt)));
}

std::vector<cli::OpenPack> packs_of(const RealDisk& disk, const CheckpointId& id) {
  const auto sealed = value_of(checkpoint::read_manifest(disk, id));
  return value_of(cli::open_packs(disk, id, sealed.manifest));
}

nb::list read_parts(const fs::path& folder, const Id& id) {
  std::vector<cli::OpenPack> packs;
  {
    const nb::gil_scoped_release released;
    packs = packs_of(*open_existing(folder), checkpoint_id(id));
  }
  nb::list parts;
  for (const cli::OpenPack& pack : packs) {
    for (const auto& tensor : pack.reader.header().layout.tensors) {
      const TensorBox whole{.begin = TensorShape(tensor.shape.size()), .whole_shape = tensor.shape};
      const TensorBox& box = tensor.box ? *tensor.box : whole;
      parts.append(nb::make_tuple(tensor.name, std::string(name_of(tensor.type)), tensor.shape, box.begin,
                                  box.whole_shape));
    }
  }
  return parts;
}

// Fills the memory of the parts. Every byte is compared with its checksum first.
void load_parts(const fs::path& folder, const Id& id, const std::vector<Part>& parts, std::uint32_t rank,
                std::uint32_t readers) {
  std::vector<checkpoint::TensorSpec> wanted;
  std::vector<std::span<std::byte>> into;
  for (const auto& [name, type, shape, begin, whole, address, bytes] : parts) {
    wanted.push_back({.name = name,
                      .type = type_named(type),
                      .shape = shape,
                      .box = TensorBox{.begin = begin, .whole_shape = whole}});
    into.emplace_back(memory_at(address), bytes);
  }
  const nb::gil_scoped_release released;
  const auto disk = open_existing(folder);
  const CheckpointId chosen = checkpoint_id(id);
  const auto sealed = value_of(checkpoint::read_manifest(*disk, chosen));
  std::vector<checkpoint::NamedPack> packs;
  for (const PackRecord& record : sealed.manifest.packs)
    packs.push_back({.path = checkpoint::pack_path(chosen, record.rank), .record = record});
  auto reader =
      value_of(checkpoint::CheckpointReader::open(disk, std::move(packs), Rank(rank), {.readers = readers}));
  static_cast<void>(value_of(reader.load(wanted, into)));
}

}  // namespace

void bind_checkpoint_parts(nb::module_& module) {
  module.def("newest_in", newest_in, "folder"_a,
             nb::sig("def newest_in(folder: os.PathLike | str) -> tuple[int, int | None]"));
  module.def("sweep", sweep, "folder"_a, "before"_a);
  module.def("write_parts", write_parts, "folder"_a, "id"_a, "rank"_a, "parts"_a);
  module.def("commit", commit, "folder"_a, "id"_a, "packs"_a);
  module.def("retire", retire, "folder"_a, "keep_last"_a, "attempt"_a);
  module.def("read_parts", read_parts, "folder"_a, "id"_a,
             nb::sig("def read_parts(folder: os.PathLike | str, id: tuple[int, int]) -> list[tuple[str, str, "
                     "list[int], list[int], list[int]]]"));
  module.def("load_parts", load_parts, "folder"_a, "id"_a, "parts"_a, "rank"_a, "readers"_a);
}

}  // namespace ratoon::python
