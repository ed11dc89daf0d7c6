#include "agent/src/objects/cache/cache_usage.h"

#include <cstddef>
#include <span>
#include <string>

#include <unistd.h>

#include "base/core/boot_id.h"
#include "base/core/xxh3.h"

namespace ratoon::objects {
namespace {

constexpr std::uint64_t kMagic = 0x31746e756f636361;  // "account1"

struct UsageRecord {
  std::uint64_t magic = kMagic;
  std::uint64_t boot = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t check = 0;  // hash of the fields before it

  friend bool operator==(const UsageRecord&, const UsageRecord&) = default;
};

// Returns nothing if the machine has no boot id. Without a boot id, no usage record is kept.
std::optional<std::uint64_t> current_boot_hash() {
  const auto id = read_boot_id();
  if (!id || id->empty()) return std::nullopt;
  return xxh3_128(std::as_bytes(std::span(*id))).low;
}

std::optional<UsageRecord> make_usage_record(std::uint64_t used_bytes) {
  static const std::optional<std::uint64_t> boot = current_boot_hash();
  if (!boot) return std::nullopt;
  UsageRecord record{.boot = *boot, .used_bytes = used_bytes};
  record.check = xxh3_128(std::as_bytes(std::span(&record, 1)).first(offsetof(UsageRecord, check))).low;
  return record;
}

}  // namespace

std::optional<std::uint64_t> read_usage_record(int lock_fd) {
  UsageRecord found;
  if (::pread(lock_fd, &found, sizeof found, 0) != sizeof found) return std::nullopt;
  if (make_usage_record(found.used_bytes) != std::optional(found)) return std::nullopt;
  return found.used_bytes;
}

void write_usage_record(int lock_fd, std::uint64_t used_bytes) {
  const auto record = make_usage_record(used_bytes);
  if (!record || ::pwrite(lock_fd, &*record, sizeof *record, 0) != sizeof *record)
    remove_usage_record(lock_fd);
}

void remove_usage_record(int lock_fd) {
  // Ignore an error of truncating: if the file system accepts no writes, no process can add files to the
  // cache either.
  if (::ftruncate(lock_fd, 0) != 0) return;
}

}  // namespace ratoon::objects
