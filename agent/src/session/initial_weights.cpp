#include "agent/src/session/initial_weights.h"

#include <string>
#include <utility>

#include "agent/src/checkpoint/disk/patient_disk.h"
#include "agent/src/checkpoint/tiers/load_path.h"
#include "agent/src/session/fail.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

[[noreturn]] void fail_of(const Error& error, const std::string& where) {
  const bool is_asked_wrongly = error.kind() == ErrorKind::kInvalid || error.kind() == ErrorKind::kNotFound;
  fail(is_asked_wrongly ? ExitCode::kConfiguration : ExitCode::kStorage,
       "the weights to begin with (--load-from " + where + ") cannot be had: " + error.message());
}

}  // namespace

std::string load_initial_weights(const Options& options, const Assignment& assignment,
                                 const TrackedObjects& tracked,
                                 const std::shared_ptr<checkpoint::PatientCalls>& calls) {
  const std::string& where = options.load_from;
  const auto patiently = [&calls](std::shared_ptr<checkpoint::Disk> folder) {
    return checkpoint::make_patient(std::move(folder), calls);
  };
  const auto source = checkpoint::open_load_path(where, options.store_options, patiently);
  if (!source) fail_of(source.error(), where);
  const std::string shown = source->disk->shown(checkpoint::manifest_path(source->id));
  // Each rank looks for itself, and that run may save meanwhile.
  if (assignment.world_size > 1 && !checkpoint::parse_load_path(where).id) {
    fail(ExitCode::kConfiguration,
         "--load-from '" + where +
             "' names a run, of which each rank could take another checkpoint: name "
             "one manifest of it, now " +
             shown);
  }
  std::vector<checkpoint::NamedPack> packs;
  for (const auto& record : source->manifest.packs)
    packs.push_back({.path = checkpoint::pack_path(source->id, record.rank), .record = record});
  auto reader = checkpoint::CheckpointReader::open(source->disk, std::move(packs), assignment.rank,
                                                   {.bytes_at_once = checkpoint::kExtentBytesMax});
  if (!reader) fail_of(reader.error(), where);
  if (auto loaded = tracked.restore_weights(*reader, shown); !loaded) fail_of(loaded.error(), where);
  return shown;
}

}  // namespace ratoon::session
