#include <algorithm>
#include <filesystem>
#include <set>

#include <ratoon/failure.h>
#include <ratoon/load.h>

#include "agent/src/checkpoint/commit/inventory.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "agent/src/checkpoint/pack/boxes.h"
#include "agent/src/checkpoint/tiers/load_path.h"
#include "agent/src/objects/object_store.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/load_file.h"
#include "agent/src/session/state/tracked_objects.h"
#include "base/contract/exit_code.h"

namespace ratoon {

using session::fail;

namespace {

using checkpoint::CheckpointId;
using checkpoint::ObjectStoreDisk;

// The checkpoints are listed at most kListingsMax times. They are listed again if the run, which may still be
// training, removes the chosen checkpoint during the read.
constexpr int kListingsMax = 100;

ExitCode exit_code_of_load(const Error& error) {
  const ErrorKind kind = error.kind();
  const bool is_asked_wrongly = kind == ErrorKind::kInvalid || kind == ErrorKind::kNotFound;
  if (kind == ErrorKind::kCorrupted) return ExitCode::kCheckpointsBad;
  return is_asked_wrongly ? ExitCode::kConfiguration : ExitCode::kStorage;
}

[[noreturn]] void fail_load(const Error& error, const LoadFrom& from) {
  fail(exit_code_of_load(error), "weights cannot be loaded from " + from.place + ": " + error.message());
}

// Reads one checkpoint. Throws a Failure for an error of the program. Returns an error if the disk fails or
// data is damaged.
class CheckpointLoad {
 public:
  CheckpointLoad(const LoadFrom& from, const std::vector<LoadTarget>& targets,
                 std::shared_ptr<ObjectStoreDisk> disk)
      : from_(from), disk_(std::move(disk)) {
    for (const LoadTarget& target : targets) {
      const auto save = [](StateWriter&) {};
      objects_.add(target.name, save, target.load, session::ObjectKind::kWeights);
    }
  }

  [[nodiscard]] Result<void> load(const CheckpointId& id) const {
    const auto sealed = checkpoint::read_manifest(*disk_, id);
    if (!sealed) return sealed.error();
    std::vector<checkpoint::NamedPack> packs;
    for (const auto& record : sealed->manifest.packs)
      packs.push_back({.path = checkpoint::pack_path(id, record.rank), .record = record});
    auto reader = checkpoint::CheckpointReader::open(disk_, std::move(packs), Rank(from_.rank),
                                                     {.bytes_at_once = checkpoint::kExtentBytesMax});
    if (!reader) return reader.error();
    return objects_.restore_weights(*reader, shown(id));
  }

  [[nodiscard]] std::string shown(const CheckpointId& id) const {
    return disk_->shown(checkpoint::manifest_path(id));
  }
  // Returns whether the run itself has removed the checkpoint, as an old one, since the checkpoints were
  // listed.
  [[nodiscard]] bool is_retired(const CheckpointId& id) const {
    const auto sealed = checkpoint::read_manifest(*disk_, id);
    return !sealed && sealed.error().kind() == ErrorKind::kNotFound;
  }

 private:
  const LoadFrom& from_;
  std::shared_ptr<ObjectStoreDisk> disk_;
  session::TrackedObjects objects_;
};

bool is_damage_error(const Error& error) {
  return error.kind() == ErrorKind::kCorrupted || error.kind() == ErrorKind::kNotFound ||
         error.kind() == ErrorKind::kIo;
}

// Chooses the newest checkpoint or, if the caller requests a step, the newest checkpoint of that step.
Result<CheckpointId> choose_checkpoint(const ObjectStoreDisk& disk, const LoadFrom& from,
                                       const std::set<CheckpointId>& passed_over) {
  const auto found = checkpoint::take_inventory(disk);
  if (!found) return found.error();
  for (const InventoryEntry& entry : found->complete) {
    const auto id = checkpoint::id_of(entry);
    if ((!from.step || entry.step.value() == *from.step) && !passed_over.contains(id)) return id;
  }
  const std::string where = disk.shown(checkpoint::kManifests);
  const std::string of_step = from.step ? " of step " + std::to_string(*from.step) : "";
  const auto is_wanted = [&](const InventoryEntry& entry) {
    return !from.step || entry.step.value() == *from.step;
  };
  if (!passed_over.empty() || std::ranges::any_of(found->damaged, is_wanted))
    return Error(ErrorKind::kCorrupted, "no checkpoint" + of_step + " in " + where + " is intact");
  if (found->complete.empty())
    return Error(ErrorKind::kNotFound, "there is no checkpoint in " + where +
                                           ": name the folder of a run, <save folder>/<run name>, or a file");
  return Error(ErrorKind::kNotFound, "there is no checkpoint" + of_step + " in " + where +
                                         ", the newest is of step " +
                                         std::to_string(found->complete.front().step.value()));
}

LoadedFrom load_newest(const LoadFrom& from, const CheckpointLoad& attempted, const ObjectStoreDisk& disk) {
  LoadedFrom loaded;
  std::set<CheckpointId> passed_over;
  for (int look = 0; look < kListingsMax; ++look) {
    const auto id = choose_checkpoint(disk, from, passed_over);
    if (!id && !loaded.passed_over.empty())
      fail(ExitCode::kCheckpointsBad, id.error().message() + ": " + loaded.passed_over.front());
    if (!id) fail_load(id.error(), from);
    const auto done = attempted.load(*id);
    if (done) {
      loaded.what = attempted.shown(*id);
      loaded.step = id->step.value();
      return loaded;
    }
    if (!is_damage_error(done.error())) fail_load(done.error(), from);
    if (attempted.is_retired(*id)) continue;
    passed_over.insert(*id);
    loaded.passed_over.push_back(done.error().message());
  }
  fail(ExitCode::kStorage, "the run in " + from.place +
                               " removes its checkpoints faster than they can be loaded: let the run keep "
                               "more checkpoints (--keep-last), or wait for its end");
}

}  // namespace

LoadedFrom load_targets(const LoadFrom& from, const std::vector<LoadTarget>& targets) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(from.place, ignored);
  const auto place = checkpoint::parse_load_path(from.place);
  if (is_file && !place.id) {
    if (from.step)
      fail(ExitCode::kConfiguration, from.place + " is one file and has no steps to choose from");
    return session::load_file(from.place, targets);
  }
  auto store = objects::open_store(place.uri, from.store_options);
  if (!store) fail_load(store.error(), from);
  const auto disk = std::make_shared<ObjectStoreDisk>(*std::move(store));
  const CheckpointLoad attempted(from, targets, disk);
  if (!place.id) return load_newest(from, attempted, *disk);
  if (const auto done = attempted.load(*place.id); !done) fail_load(done.error(), from);
  return {.what = attempted.shown(*place.id), .step = place.id->step.value()};
}

std::map<std::string, TensorValue> load_tensors(const LoadFrom& from, const std::vector<std::string>& names) {
  std::map<std::string, TensorValue> tensors;
  std::vector<LoadTarget> targets;
  for (const std::string& name : names) {
    const auto [place, is_new] = tensors.try_emplace(name);
    if (!is_new) continue;
    targets.push_back({name, [&value = place->second](StateReader& in) {
                         const auto form = in.find("");
                         if (!form)
                           in.refuse("there is no tensor of this name; `ratoon checkpoint show` lists them");
                         value.type = form->type;
                         value.shape = form->shape;
                         value.bytes.resize(checkpoint::count_bytes(form->type, form->shape).value_or(0));
                         in.tensor({.name = "", .type = form->type, .shape = form->shape}, value.bytes);
                       }});
  }
  static_cast<void>(load_targets(from, targets));
  return tensors;
}

}  // namespace ratoon
