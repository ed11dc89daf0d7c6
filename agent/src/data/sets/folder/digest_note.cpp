#include "agent/src/data/sets/folder/digest_note.h"

#include <ratoon/atomic_file.h>

#include "agent/src/data/sets/mapped_file.h"

namespace ratoon::data {
namespace {

// The coarsest file systems: FAT stores modification times with a resolution of two seconds, and network file
// systems with one second.
constexpr std::int64_t kCoarsestClockNanoseconds = 2'000'000'000;

std::string beginning_of(const HashedBytes& what) {
  return "ratoon-digest 1\nbytes " + std::to_string(what.file_bytes) + "\nskipped " +
         std::to_string(what.skipped_bytes) + "\nmodified " + std::to_string(what.modified_nanoseconds) +
         "\nxxh3-128 ";
}

}  // namespace

std::string encode_digest_note(const HashedBytes& what, Hash128 hash) {
  return beginning_of(what) + to_hex(hash) + "\n";
}

std::optional<Hash128> read_digest_note(std::string_view text, const HashedBytes& what) {
  const std::string beginning = beginning_of(what);
  if (!text.starts_with(beginning) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(beginning.size());
  text.remove_suffix(1);
  const Result<Hash128> hash = parse_hash128(text);
  return hash ? std::optional(*hash) : std::nullopt;
}

std::filesystem::path digest_note_of(const std::filesystem::path& file) {
  return file.string() + ".ratoon-digest";
}

std::optional<Hash128> find_digest_note(const std::filesystem::path& file, const HashedBytes& what) {
  const auto note = MappedFile::open(digest_note_of(file));
  if (!note) return std::nullopt;
  const bool is_younger =
      note->modified_nanoseconds() >= what.modified_nanoseconds + kCoarsestClockNanoseconds;
  if (!is_younger) return std::nullopt;  // the file may have changed again within the clock's resolution
  const auto bytes = note->bytes();
  return read_digest_note({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, what);
}

void keep_digest_note(const std::filesystem::path& file, const HashedBytes& what, Hash128 hash) {
  static_cast<void>(save_file_atomically(digest_note_of(file), encode_digest_note(what, hash)));
}

}  // namespace ratoon::data
