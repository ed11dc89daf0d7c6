#include "agent/src/session/options/check_options.h"

#include <algorithm>
#include <string>

#include "agent/src/data/order/stream/recipe.h"
#include "agent/src/session/engine/phase_watch.h"
#include "agent/src/session/locations/rollback_plan.h"
#include "agent/src/session/options/check_group.h"
#include "agent/src/session/options/location_options.h"
#include "agent/src/session/shutdown/notice_setup.h"
#include "agent/src/session/state/pretrained_state.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kStagingSlotsMax = 16;
constexpr std::uint64_t kMibMax = 1ULL << 40;
constexpr std::uint64_t kTimeoutSecondsMax = 86'400;

}  // namespace

Result<void> check_options(const Options& o) {
  if (o.save_folder.empty()) {
    return Error(ErrorKind::kInvalid,
                 "no folder to save to: pass --save-folder FOLDER or set RATOON_SAVE_FOLDER");
  }
  if (o.run_name.empty())
    return Error(ErrorKind::kInvalid, "no name for the run: pass --run-name NAME or set RATOON_RUN_NAME");
  const bool is_plain =
      std::ranges::none_of(o.run_name, [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; });
  if (!is_plain || o.run_name.front() == '.') {
    return Error(ErrorKind::kInvalid,
                 "--run-name is '" + o.run_name +
                     "': expected the name of a folder, without '/' and control characters, and not "
                     "beginning with '.'; --save-folder names the folder above it");
  }
  if (auto valid = check_locations(o); !valid) return valid;
  if (!o.autoresume && !o.member.coordinator_url.empty()) {
    return Error(ErrorKind::kInvalid,
                 "--autoresume cannot be false if a coordinator restarts members, as `ratoon run` and the "
                 "operator do: leave it out; to begin anew, use `ratoon run --fresh`, or set overwrite: true "
                 "in the job's checkpointPolicy");
  }
  if (auto valid = check_group(o); !valid) return valid;
  if (auto parts = read_load_parts(o); !parts) return parts.error();
  if (auto valid = check_rollback(o); !valid) return valid;
  if (o.global_batch && (*o.global_batch == 0 || *o.global_batch > data::kGlobalBatchMax)) {
    return Error(ErrorKind::kInvalid, "--global-batch must be 1 to " + std::to_string(data::kGlobalBatchMax) +
                                          " samples, found " + std::to_string(*o.global_batch));
  }
  if (auto valid = check_notices(o.notice); !valid) return valid;
  if (auto limits = read_hang_limits(o); !limits) return limits.error();
  if (o.hang.leave_seconds == 0 || o.hang.leave_seconds > kTimeoutSecondsMax) {
    return Error(ErrorKind::kInvalid,
                 "--leave-within must be 1 to " + std::to_string(kTimeoutSecondsMax) + " seconds");
  }
  if (o.staging_slots > kStagingSlotsMax)
    return Error(ErrorKind::kInvalid, "--staging-slots must be at most " + std::to_string(kStagingSlotsMax));
  if (o.staging_memory_mib > kMibMax)
    return Error(ErrorKind::kInvalid, "--staging-memory-mib must be at most " + std::to_string(kMibMax));
  if (o.disk_timeout_seconds == 0 || o.disk_timeout_seconds > kTimeoutSecondsMax) {
    return Error(ErrorKind::kInvalid,
                 "--disk-timeout must be 1 to " + std::to_string(kTimeoutSecondsMax) + " seconds");
  }
  return {};
}

}  // namespace ratoon::session
