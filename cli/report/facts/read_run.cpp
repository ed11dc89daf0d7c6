#include "cli/report/facts/read_run.h"

#include <chrono>
#include <optional>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/disk/real/real_disk.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/history/history_file.h"
#include "base/contract/fields.h"
#include "cli/checkpoint/run_folder.h"
#include "cli/checkpoint/run_location.h"
#include "cli/checkpoint/survey.h"
#include "cli/report/facts/read_samples.h"

namespace ratoon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEventsBytesMax = 1ULL << 30;
constexpr std::size_t kStatusBytesMax = 64U << 20;
constexpr int kStatusDepthMax = 64;
constexpr std::string_view kFileScheme = "file://";

bool path_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_saved_into(const fs::path& folder) {
  return path_exists(folder / checkpoint::kManifests) || path_exists(folder / checkpoint::kHistory);
}

struct RunFolders {
  fs::path run;         // folder of `ratoon run`; empty if it was not used
  fs::path saves;       // empty if nothing was saved in a folder
  std::string store{};  // address of the object store into which the run saves; empty for a folder
};

std::optional<RunFolders> find_run_folders(const fs::path& folder) {
  if (path_exists(folder / "events.jsonl") || path_exists(folder / "status.json")) {
    RunFolders places{.run = folder, .saves = {}};
    std::error_code code;
    for (fs::directory_iterator at(folder / "checkpoints", code), end; !code && at != end; at.increment(code))
      if (is_saved_into(at->path())) places.saves = at->path();
    std::string said = save_location_of_run(folder);
    if (said.starts_with(kFileScheme)) said.erase(0, kFileScheme.size());
    if (said.find("://") != std::string::npos)
      places.store = said;
    else if (!said.empty() && is_saved_into(said))
      places.saves = said;
    return places;
  }
  if (!is_saved_into(folder)) return std::nullopt;
  const fs::path above = fs::absolute(folder).lexically_normal().parent_path().parent_path();
  const bool is_of_run = path_exists(above / "events.jsonl") && path_exists(above / "status.json");
  return RunFolders{.run = is_of_run ? above : fs::path(), .saves = folder};
}

std::optional<WallTime> written_at(const fs::path& path) {
  std::error_code code;
  const auto written = fs::last_write_time(path, code);
  if (code) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  return WallTime{std::chrono::duration_cast<Duration>(since)};
}

std::string finish_reason_of(const FoundCheckpoint& found) {
  const bool is_end = found.manifest && found.manifest->run && found.manifest->run->early_end;
  return is_end ? found.manifest->run->early_end->reason : std::string();
}

StoredCheckpoint to_stored_checkpoint(const FoundCheckpoint& found, const fs::path& saves) {
  return {.step = found.id.step.value(),
          .attempt = found.id.attempt.value(),
          .state = std::string(name_of(found.standing)),
          .why = found.why,
          .ranks = found.manifest ? found.manifest->packs.size() : 0,
          .size_bytes = found.size_bytes,
          .saved_at = saves.empty() ? std::nullopt : written_at(saves / checkpoint::manifest_path(found.id)),
          .digest = found.digest,
          .pin_reason = found.pin_reason,
          .tiers = {saves.empty() ? "store" : "folder"},
          .finish_reason = finish_reason_of(found)};
}

// Searches for copies of checkpoints only in stores that are folders, because a report uses no network.
void read_stores(const std::vector<std::string>& stores, const fs::path& saves, RunFacts& facts) {
  for (const std::string& store : stores) {
    const bool is_folder = store.starts_with(kFileScheme) || store.starts_with('/');
    if (!is_folder) {
      facts.complaints.push_back("Copies in " + store + " were not read: a report uses no network.");
      continue;
    }
    const fs::path folder =
        fs::path(store.starts_with('/') ? store : store.substr(kFileScheme.size())) / saves.filename();
    for (StoredCheckpoint& one : facts.checkpoints) {
      const checkpoint::CheckpointId id{.attempt = Attempt(one.attempt), .step = Step(one.step)};
      if (path_exists(folder / checkpoint::manifest_path(id))) one.tiers.push_back(store);
    }
  }
}

// `saves` is the path of the disk's folder, or empty for an object store.
void read_checkpoints(const checkpoint::Disk& disk, const fs::path& saves, RunFacts& facts) {
  const auto survey = take_survey(disk);
  if (!survey) facts.complaints.push_back("Checkpoints cannot be read: " + survey.error().message());
  if (survey)
    for (const auto& found : survey->checkpoints)
      facts.checkpoints.push_back(to_stored_checkpoint(found, saves));
  if (survey) facts.best = find_kept_best(*survey);
  if (survey)
    for (const auto& one : survey->uncommitted) facts.uncommitted.insert(one.id.attempt.value());
  facts.samples = read_samples(disk);

  std::vector<AttemptFile> files;
  const auto attempts = history::list_attempts(disk);
  if (!attempts) facts.complaints.push_back("The history cannot be read: " + attempts.error().message());
  for (const Attempt attempt : attempts ? *attempts : std::vector<Attempt>()) {
    auto text = history::read_file(disk, attempt);
    if (text)
      files.push_back({.attempt = attempt.value(), .text = *std::move(text)});
    else
      facts.complaints.push_back("A part of the history cannot be read: " + text.error().message());
  }
  facts.history = read_attempt_history(files);
}

void read_saves(const fs::path& saves, RunFacts& facts) {
  const auto disk = checkpoint::RealDisk::open_existing_folder(saves);
  if (!disk) return facts.complaints.push_back("Checkpoints cannot be read: " + disk.error().message());
  read_checkpoints(**disk, saves, facts);
}

// Reads the job's status into `facts`. Returns the checkpoint stores that the job names.
std::vector<std::string> read_status(const checkpoint::Disk& disk, RunFacts& facts) {
  const auto text = checkpoint::read_whole_file(disk, "status.json", kStatusBytesMax);
  if (!text) {
    facts.complaints.push_back("The status cannot be read: " + text.error().message());
    return {};
  }
  auto document = parse_json(*text, kStatusBytesMax, kStatusDepthMax);
  const bool is_object = document && document->is_object() && document->contains("job");
  const auto job = is_object
                       ? api::decode_training_job((*document)["job"])
                       : Result<api::TrainingJob>(Error(ErrorKind::kInvalid, "there is no job in the file"));
  if (!job) {
    facts.complaints.push_back("The status cannot be read: " + job.error().message());
    return {};
  }
  facts.name = job->meta.name;
  facts.status = job->status;
  return job->spec.checkpoint_policy.stores;
}

void read_events(const checkpoint::Disk& disk, RunFacts& facts) {
  const auto text = checkpoint::read_whole_file(disk, "events.jsonl", kEventsBytesMax);
  if (text) facts.events = decode_events(*text);
  if (!text && text.error().kind() != ErrorKind::kNotFound)
    facts.complaints.push_back("The events cannot be read: " + text.error().message());
}

}  // namespace

Result<RunFacts> read_run(const fs::path& folder) {
  const auto places = find_run_folders(folder);
  if (!places) {
    // Returns the same error as `ratoon checkpoint`; this error lists the run folders below `folder`.
    const auto disk = open_run_folder(folder);
    return disk ? Error(ErrorKind::kNotFound, folder.string() + " holds no run") : disk.error();
  }
  RunFacts facts{.name = folder.filename().string(), .folder = folder.string()};
  std::vector<std::string> stores;
  if (!places->run.empty()) {
    const auto disk = checkpoint::RealDisk::open_existing_folder(places->run);
    if (!disk) return disk.error();
    stores = read_status(**disk, facts);
    read_events(**disk, facts);
  }
  if (facts.name.empty())
    facts.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  if (!places->store.empty()) {
    facts.complaints.push_back("The run saves into " + places->store +
                               ", which was not read: a report of a folder uses no network. For a report of "
                               "the checkpoints: ratoon report " +
                               places->store);
  }
  if (!places->saves.empty()) read_saves(places->saves, facts);
  read_stores(stores, places->saves, facts);
  return facts;
}

Result<RunFacts> read_run_in_store(const std::string& uri) {
  const auto location = RunLocation::open(uri);
  if (!location) return location.error();
  RunFacts facts{.name = uri.substr(uri.rfind('/') + 1), .folder = uri};
  read_checkpoints(location->disk(), {}, facts);
  return facts;
}

}  // namespace ratoon::cli
