#include "agent/src/session/locations/identity.h"

#include <algorithm>
#include <span>

#include "agent/src/checkpoint/disk/durable.h"
#include "agent/src/checkpoint/format/file_names.h"
#include "agent/src/session/options/location_options.h"
#include "base/core/boot_id.h"
#include "base/core/folder_identity.h"
#include "base/core/xxh3.h"

namespace ratoon::session {
namespace {

constexpr std::uint64_t kOwnerFileBytesMax = 4096;

std::string without_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<std::string> read_owner(const checkpoint::Disk& home) {
  auto text = checkpoint::read_whole_file(home, checkpoint::kOwnerFile, kOwnerFileBytesMax);
  if (!text && text.error().kind() == ErrorKind::kCorrupted) return std::string();
  if (!text) return text;
  std::string identity = without_line_end(*std::move(text));
  return is_identity(identity) ? identity : std::string();
}

// If no identity can be created in the folder, returns an empty text, so that identities are not compared.
// Later calls, which lock, list and save to the folder, report the folder's error. A timeout is returned at
// once, so that a hanging folder delays this process only once.
Result<std::string> error_if_timeout(const Error& why) {
  return why.kind() == ErrorKind::kTimeout ? Result<std::string>(why) : Result<std::string>(std::string());
}

Error unknown_identity_error(const Error& why) {
  return {why.kind(), why.message() +
                          ": the identity of the run is unknown because this file cannot be read; start the "
                          "run again when the file can be read"};
}

Result<std::string> read_or_create_identity(checkpoint::Disk& home, const std::string& new_one,
                                            std::string_view writer) {
  auto there = read_owner(home);
  if (there) return there;
  // The identity's file may exist although it cannot be read. Ignoring the identity could make another job
  // count as this job.
  if (there.error().kind() != ErrorKind::kNotFound) return unknown_identity_error(there.error());
  const auto saved = checkpoint::save_durably(home, checkpoint::kOwnerFile, new_one + "\n", writer);
  if (saved) return new_one;
  if (saved.error().kind() != ErrorKind::kAlreadyExists) return error_if_timeout(saved.error());
  auto first = read_owner(home);  // another rank of the launch made it
  return first ? first : unknown_identity_error(first.error());
}

Result<std::string> find_home_identity(checkpoint::Disk& home, bool is_alone,
                                       const std::function<Result<std::uint64_t>()>& folder_inode_hash,
                                       std::string_view writer) {
  const auto mark = folder_inode_hash();
  if (!mark) return error_if_timeout(mark.error());
  auto drawn = make_random_identity(*mark);
  if (!drawn) return error_if_timeout(drawn.error());
  auto kept = read_or_create_identity(home, *drawn, writer);
  if (!kept || kept->empty() || !is_alone) return kept;
  return identity_of_folder(*kept, *mark);
}

Result<std::string> identity_of_this_machine() {
  const auto boot = read_boot_id();
  if (!boot) return boot.error();
  const auto network = read_network_namespace();
  if (!network) return network.error();
  const std::string text = *boot + " " + *network;
  return to_hex(xxh3_128(std::as_bytes(std::span(text))));
}

}  // namespace

Result<std::string> job_identity_of(const Options& options, checkpoint::Disk& home,
                                    const std::function<Result<std::uint64_t>()>& folder_inode_hash,
                                    std::string_view writer) {
  std::string uid = options.member.job_uid;
  std::ranges::replace_if(uid, [](unsigned char c) { return c <= 0x20 || c >= 0x7f; }, '?');
  if (!uid.empty() || !options.member.coordinator_url.empty()) return uid;
  if (is_home_in_store(options)) return identity_of_this_machine();
  return find_home_identity(home, options.group.size == 1, folder_inode_hash, writer);
}

}  // namespace ratoon::session
