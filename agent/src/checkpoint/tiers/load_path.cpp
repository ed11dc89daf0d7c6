#include "agent/src/checkpoint/tiers/load_path.h"

#include <utility>

#include "agent/src/checkpoint/commit/inventory.h"

namespace ratoon::checkpoint {
namespace {

Result<CheckpointId> newest_checkpoint_in(const Disk& disk) {
  const auto found = take_inventory(disk);
  if (!found) return found.error();
  if (!found->complete.empty()) return id_of(found->complete.front());
  const std::string manifests = disk.shown(kManifests);
  if (found->damaged.empty()) {
    return Error(ErrorKind::kNotFound,
                 "there is no checkpoint in " + manifests +
                     ": name the folder of a run (it is called like the run) or one of the run's manifests");
  }
  return Error(ErrorKind::kCorrupted, "there are " + std::to_string(found->damaged.size()) +
                                          " checkpoints in " + manifests +
                                          " and none is good; name another run or checkpoint");
}

}  // namespace

LoadLocation parse_load_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) {
    const auto id = parse_manifest_name(path.substr(slash + 1));
    const std::string_view folder = path.substr(0, slash);
    const std::string ending = std::string("/") + kManifests;
    if (id && folder.ends_with(ending))
      return {.uri = std::string(folder.substr(0, folder.size() - ending.size())), .id = id};
  }
  return {.uri = std::string(path)};
}

Result<LoadSource> open_load_path(std::string_view path, const StoreOptions& options,
                                  const FolderWrapper& folders) {
  const LoadLocation place = parse_load_path(path);
  auto store = objects::open_store(place.uri, options);
  if (!store) return store.error().with_context("opening the load path");
  LoadSource source{
      .disk = wrap_if_folder_store(std::make_shared<ObjectStoreDisk>(*std::move(store)), folders),
      .id = {},
      .manifest = {}};
  const auto id = place.id ? Result<CheckpointId>(*place.id) : newest_checkpoint_in(*source.disk);
  if (!id) return id.error().with_context("looking for weights in the load path");
  auto sealed = read_manifest(*source.disk, *id);
  if (!sealed) return sealed.error().with_context("reading the load path");
  source.id = *id;
  source.manifest = std::move(sealed->manifest);
  return source;
}

Result<LoadedTensors> load_tensors_of_rank(const LoadSource& source, Rank rank) {
  const auto& packs = source.manifest.packs;
  const PackRecord& record = packs[rank.value() % packs.size()];
  const auto pack = PackReader::open(*source.disk, pack_path(source.id, record.rank), record);
  if (!pack) return pack.error();
  return pack->read_all();
}

}  // namespace ratoon::checkpoint
