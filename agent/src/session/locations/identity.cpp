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
  auto text = checkpoint::read_whole(home, checkpoint::kOwner, kOwnerFileBytesMax);
  if (!text && text.error().kind() == ErrorKind::kCorrupted) return std::string();
  if (!text) return text;
  std::string identity = without_line_end(*std::move(text));
  return is_identity(identity) ? identity : std::string();
}

// If no identity can be created in the folder, returns an empty text, so that identities are not compared.
// Later calls, which lock, list and save to the folder, report the folder's error. A timeout is returned at
// once, so that a hanging folder delays this process only once.
Result<std::string> or_none(const Error& why) {
  return why.kind() == ErrorKind::kTimeout ? Result<std::string>(why) : Result<std::string>(std::string());
}

Error unknown(const Error& why) {
  return {why.kind(), why.message() +
                          ": the identity of the run is unknown because this file cannot be read; start the "
                          "run again when the file can be read"};
}

Result<std::string> kept_in(checkpoint::Disk& home, const std::string& new_one, std::string_view writer) {
  auto there = read_owner(home);
  if (there) return there;
  // The identity's file may exist although it cannot be read. Ignoring the identity could make another job
  // count as this job.
  if (there.error().kind() != ErrorKind::kNotFound) return unknown(there.error());
  const auto saved = checkpoint::save_durably(home, checkpoint::kOwner, new_one + "\n", writer);
  if (saved) return new_one;
  if (saved.error().kind() != ErrorKind::kAlreadyExists) return or_none(saved.error());
  auto first = read_owner(home);  // another rank of the launch made it
  return first ? first : unknown(first.error());
}

Result<std::string> identity_in(checkpoint::Disk& home, bool is_alone,
                                const std::function<Result<std::uint64_t>()>& folder_mark,
                                std::string_view writer) {
  const auto mark = folder_mark();
  if (!mark) return or_none(mark.error());
  auto drawn = draw_identity(*mark);
  if (!drawn) return or_none(drawn.error());
  auto kept = kept_in(home, *drawn, writer);
  if (!kept || kept->empty() || !is_alone) return kept;
  return identity_there(*kept, *mark);
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

Result<std::string> identity_of(const Options& options, checkpoint::Disk& home,
                                const std::function<Result<std::uint64_t>()>& folder_mark,
                                std::string_view writer) {
  std::string uid = options.member.job_uid;
  std::ranges::replace_if(uid, [](unsigned char c) { return c <= 0x20 || c >= 0x7f; }, '?');
  if (!uid.empty() || !options.member.coordinator_url.empty()) return uid;
  if (is_home_in_store(options)) return identity_of_this_machine();
  return identity_in(home, options.group.size == 1, folder_mark, writer);
}

}  // namespace ratoon::session
