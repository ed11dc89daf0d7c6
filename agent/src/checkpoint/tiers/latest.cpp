#include "agent/src/checkpoint/tiers/latest.h"

#include <algorithm>
#include <system_error>

#include "agent/src/checkpoint/disk/durable.h"
#include "base/contract/fields.h"
#include "base/core/durable_folder.h"

namespace ratoon::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPointerDepthMax = 2;
constexpr std::string_view kParentFolder = "../";

// Returns the checkpoint (attempt and step) that the path of a pack contains, such as
// "../packs/a0003/s0000001200/r0002.safetensors".
std::optional<CheckpointId> checkpoint_in_target(const fs::path& target) {
  if (!target.has_parent_path()) return std::nullopt;
  const fs::path step_folder = target.parent_path();
  const auto step = parse_step_name(step_folder.filename().string());
  const auto attempt = parse_attempt_name(step_folder.parent_path().filename().string());
  if (!step || !attempt) return std::nullopt;
  return CheckpointId{.attempt = *attempt, .step = *step};
}

struct LatestPointer {
  CheckpointId id;
  std::string manifest;
  std::string pack;
};

std::optional<LatestPointer> read_pointer(std::string_view text) {
  const auto body = parse_json(text, kPointerBytesMax, kPointerDepthMax);
  if (!body) return std::nullopt;
  std::optional<Error> complaint;
  Fields f(*body, "pointer", complaint);
  LatestPointer pointer{
      .id = {.attempt = Attempt(f.whole("attempt", kAttemptMax)), .step = Step(f.whole("step", kNumberMax))},
      .manifest = f.optional_text("manifest", kPointerBytesMax),
      .pack = f.optional_text("pack", kPointerBytesMax)};
  if (complaint) return std::nullopt;
  return pointer;
}

// Returns nothing if the object does not contain the location of a checkpoint, or cannot be read. The
// caller then replaces the object: losing its old contents does no harm, because the pointer is only a
// hint.
std::optional<CheckpointId> checkpoint_in_pointer(const ObjectStoreDisk& store, const std::string& name) {
  const auto text = read_whole_file(store, name, kPointerBytesMax);
  const auto pointer = text ? read_pointer(*text) : std::nullopt;
  return pointer ? std::optional(pointer->id) : std::nullopt;
}

bool is_pack_of(const CheckpointId& id, const std::string& path) {
  const std::string folder = packs_folder(id) + "/";
  return path.starts_with(folder) && path.ends_with(".safetensors") &&
         is_name_of_rank_file(path.substr(folder.size()));
}

}  // namespace

Result<void> update_latest(ObjectStoreDisk& store, const std::string& name, const LatestCheckpoint& latest) {
  if (auto checked = check_path(name); !checked) return checked;
  const auto there = checkpoint_in_pointer(store, name);
  if (there && *there > latest.id) return {};
  const json pointer = {{"attempt", latest.id.attempt.value()},
                        {"step", latest.id.step.value()},
                        {"manifest", manifest_path(latest.id)},
                        {"digest", latest.digest},
                        {"pack", pack_path(latest.id, latest.rank)}};
  return store.put_replacing(name, pointer.dump(1) + "\n");
}

Result<void> update_latest(const fs::path& run_folder, const std::string& name,
                           const LatestCheckpoint& latest, std::string_view mark) {
  if (auto checked = check_path(name); !checked) return checked;
  const fs::path link = run_folder / name;
  std::error_code code;
  const fs::file_status there = fs::symlink_status(link, code);
  if (fs::exists(there) && !fs::is_symlink(there)) {
    return Error(ErrorKind::kAlreadyExists, link.string() +
                                                " must be a link to the newest checkpoint, but another file "
                                                "has this name: move it, or choose another name");
  }
  if (fs::is_symlink(there)) {
    const auto pointed = checkpoint_in_target(fs::read_symlink(link, code));
    if (pointed && *pointed > latest.id) return {};
  }
  if (auto created = create_folders(link.parent_path()); !created) return created.error();
  const fs::path target =
      (run_folder / pack_path(latest.id, latest.rank)).lexically_relative(link.parent_path());
  const fs::path temporary = run_folder / temporary_path(name, mark);
  fs::remove(temporary, code);  // an earlier call of this process may have left it
  fs::create_symlink(target, temporary, code);
  if (code) return system_error(code.value(), "linking " + temporary.string());
  fs::rename(temporary, link, code);
  if (code) return system_error(code.value(), "renaming " + temporary.string() + " to " + link.string());
  return sync_folder(link.parent_path());
}

std::optional<std::string> pack_in_link(const std::string& name, const fs::path& target) {
  std::string path = target.string();
  for (auto folders = std::ranges::count(name, '/'); folders > 0; --folders) {
    if (!path.starts_with(kParentFolder)) return std::nullopt;
    path.erase(0, kParentFolder.size());
  }
  const auto id = checkpoint_in_target(path);
  return id && is_pack_of(*id, path) ? std::optional(path) : std::nullopt;
}

std::optional<std::string> pack_in_pointer(std::string_view text) {
  const auto pointer = read_pointer(text);
  const bool is_ours =
      pointer && pointer->manifest == manifest_path(pointer->id) && is_pack_of(pointer->id, pointer->pack);
  return is_ours ? std::optional(pointer->pack) : std::nullopt;
}

}  // namespace ratoon::checkpoint
