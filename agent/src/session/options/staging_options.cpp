#include "agent/src/session/options/staging_options.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "agent/src/session/options/location_options.h"
#include "base/core/available_memory.h"
#include "base/core/boot_id.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kStagingMib = 1ULL << 20;
constexpr std::uint64_t kFirstStateBytesMax = 1ULL << 30;

std::uint64_t budget_of(const Options& options) {
  if (options.staging_memory_mib != 0) return options.staging_memory_mib * kStagingMib;
  return automatic_budget(options, available_memory().value_or(~0ULL));
}

// Returns a name for staging files. A process that replaces this process gets the same name, and all other
// processes on the machine get other names. After a reboot the process gets another name, because staging
// files outside of memory may then be incomplete.
std::string staging_file_prefix(const Options& options) {
  const MemberOptions& member = options.member;
  const std::string place = home_location(options) + '\0' + member.job_namespace + '\0' + member.role + '\0' +
                            std::to_string(member.index) + '\0' + std::to_string(member.local_rank) + '\0' +
                            read_boot_id().value_or("");
  return "ratoon-" + to_hex(xxh3_128(std::as_bytes(std::span(place))));
}

}  // namespace

std::uint64_t automatic_budget(const Options& options, std::uint64_t free_bytes) {
  const std::uint64_t processes = std::max({1U, options.group.local_size, options.member.processes_per_node});
  return free_bytes / 2 / processes;
}

checkpoint::SaverOptions saver_options(const Options& options) {
  return {.slots_max = options.staging_slots,
          .budget_bytes = budget_of(options),
          .slots_folder = options.staging_folder,
          .slot_file_prefix = staging_file_prefix(options),
          .disk_timeout = std::chrono::seconds(options.disk_timeout_seconds)};
}

std::uint64_t first_state_bytes_max(const Options& options) {
  return std::min(kFirstStateBytesMax, budget_of(options) / (options.staging_slots + 1));
}

}  // namespace ratoon::session
