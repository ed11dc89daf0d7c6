#include "agent/src/session/locations/claimed_locations.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <unistd.h>

#include "agent/src/checkpoint/tiers/claim.h"
#include "agent/src/session/options/location_options.h"
#include "base/core/boot_id.h"
#include "base/core/folder_inode_hash.h"
#include "base/core/random_name.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

using checkpoint::Disk;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

constexpr std::size_t kBootIdDigits = 8;
// One process of each of the first four members (pods) keeps the job's claims alive, because four members are
// rarely lost at once.
constexpr std::uint32_t kClaimKeepingMembers = 4;

}  // namespace

std::string host_name_with_boot_id(const std::string& name, const std::string& boot) {
  if (boot.empty()) return name;
  return name + "+" + to_hex(xxh3_128(std::as_bytes(std::span(boot)))).substr(0, kBootIdDigits);
}

std::vector<std::shared_ptr<Disk>> locations_to_claim(const checkpoint::Tiers& tiers,
                                                      const Options& options) {
  std::vector<std::shared_ptr<Disk>> disks;
  const bool is_alone = options.member.coordinator_url.empty();
  const bool has_lock = is_alone && tiers.home().store == nullptr;
  for (std::size_t i = has_lock ? 1 : 0; i < tiers.all().size(); ++i) disks.push_back(tiers.all()[i].disk);
  return disks;
}

bool keeps_claims_alive(const Options& options) {
  if (options.member.coordinator_url.empty()) return options.group.rank < kClaimKeepingMembers;
  return options.member.index < kClaimKeepingMembers && options.member.local_rank == 0;
}

Result<checkpoint::Owner> owner_on_this_host(const Options& options, const std::string& identity) {
  const auto boot = read_boot_id();
  if (!boot) return boot.error();
  return owner_of(options, host_name_with_boot_id(host_name(), *boot), identity, random_hex_name());
}

Result<std::uint64_t> read_home_folder_hash(const Options& options, checkpoint::CallsWithTimeout& calls) {
  return calls("looking at " + home_location(options),
               [folder = run_folder(options)] { return Result<std::uint64_t>(folder_inode_hash(folder)); });
}

std::uint64_t staging_mark(std::uint64_t mark_of_folder, std::uint64_t term) {
  if (term == checkpoint::kUnknownTerm) return mark_of_folder;
  const std::array<std::uint64_t, 2> both{mark_of_folder, term};
  return xxh3_128(std::as_bytes(std::span(both))).low;
}

CleaningRule cleaning_rule(const checkpoint::Tiers& tiers, const Options& options,
                           const checkpoint::Owner& owner, TermReader term_of) {
  return
      [claimed = locations_to_claim(tiers, options), owner, term_of = std::move(term_of)](const Disk& place) {
        const bool is_claimed =
            std::ranges::any_of(claimed, [&](const auto& disk) { return disk.get() == &place; });
        return !is_claimed || checkpoint::may_clean_up(place, owner, term_of(place));
      };
}

}  // namespace ratoon::session
