#include "agent/src/session/state/pretrained_state.h"

#include <string>
#include <string_view>
#include <utility>

#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "agent/src/checkpoint/tiers/load_path.h"
#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/state/seed_of.h"
#include "base/contract/exit_code.h"

namespace ratoon::session {
namespace {

[[noreturn]] void fail_load(const Error& error, const std::string& where) {
  const bool is_asked_wrongly = error.kind() == ErrorKind::kInvalid || error.kind() == ErrorKind::kNotFound;
  fail(is_asked_wrongly ? ExitCode::kConfiguration : ExitCode::kStorage,
       "the state to begin with (--load-from " + where + ") cannot be loaded: " + error.message());
}

// Returns an error that may pass if a file of an open checkpoint is gone: the other run, which may still
// train, has removed the checkpoint as old, and the next start chooses a newer one.
Error explain_removal(const Error& error) {
  if (error.kind() != ErrorKind::kNotFound) return error;
  return {ErrorKind::kUnavailable,
          error.message() + "; has the other run removed this checkpoint meanwhile?"};
}

}  // namespace

Result<LoadParts> read_load_parts(const Options& options) {
  if (options.load_parts == "weights") return LoadParts::kWeights;
  if (options.load_parts == "state") return LoadParts::kState;
  if (options.load_parts == "all") return LoadParts::kAll;
  return Error(ErrorKind::kInvalid,
               "--load-parts must be weights, state or all, found '" + options.load_parts + "'");
}

PretrainedState load_initial_state(const Options& options, const Assignment& assignment,
                                   const TrackedObjects& tracked,
                                   const std::shared_ptr<checkpoint::CallsWithTimeout>& calls) {
  const LoadParts parts = read_load_parts(options).value();
  const std::string& where = options.load_from;
  const auto patiently = [&calls](std::shared_ptr<checkpoint::Disk> folder) {
    return checkpoint::add_timeout(std::move(folder), calls);
  };
  const auto source = checkpoint::open_load_path(where, options.store_options, patiently);
  if (!source) fail_load(source.error(), where);
  const std::string shown = source->disk->shown(checkpoint::manifest_path(source->id));
  // With several ranks, the user must name one checkpoint. The run of --load-from may still save, so ranks
  // could otherwise choose different newest checkpoints.
  if (assignment.world_size > 1 && !checkpoint::parse_load_path(where).id) {
    fail(ExitCode::kConfiguration, "--load-from '" + where +
                                       "' names a run, and the ranks could choose different checkpoints of "
                                       "it: name one of its manifests, for example " +
                                       shown);
  }
  std::vector<checkpoint::NamedPack> packs;
  for (const auto& record : source->manifest.packs)
    packs.push_back({.path = checkpoint::pack_path(source->id, record.rank), .record = record});
  auto reader = checkpoint::CheckpointReader::open(source->disk, std::move(packs), assignment.rank,
                                                   {.bytes_at_once = checkpoint::kExtentBytesMax});
  if (!reader) fail_load(explain_removal(reader.error()), where);
  // On a rank that the run of --load-from did not have, random number generators get new seeds (seed_of.h),
  // from this run's seed and the step at which this run begins.
  const Step begins = parts == LoadParts::kAll ? source->id.step : Step(0);
  const auto new_seed = [&](std::string_view name) {
    return seed_of(options.seed.value_or(0), begins, assignment.rank, name);
  };
  const auto loaded = parts == LoadParts::kWeights
                          ? tracked.restore_weights(*reader, shown)
                          : tracked.restore(*reader, shown, new_seed, parts, assignment.world_size);
  if (!loaded) fail_load(explain_removal(loaded.error()), where);
  auto run = source->manifest.run;
  if (run) {
    run->history_attempt = run->history_bytes = 0;
    run->early_end.reset();
    run->keep.clear();
    run->requests = {};
  }
  return {.parts = parts, .from = shown, .step = source->id.step, .run = std::move(run)};
}

}  // namespace ratoon::session
