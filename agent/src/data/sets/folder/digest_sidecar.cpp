#include "agent/src/data/sets/folder/digest_sidecar.h"

#include <ratoon/atomic_file.h>

#include "agent/src/data/sets/mapped_file.h"

namespace ratoon::data {
namespace {

// Of all file systems, FAT has the coarsest resolution of modification times: two seconds. Network file
// systems store modification times with a resolution of one second.
constexpr std::int64_t kFileTimeResolutionNanoseconds = 2'000'000'000;

std::string sidecar_text_prefix(const HashedFileRange& what) {
  return "ratoon-digest 1\nbytes " + std::to_string(what.file_bytes) + "\nskipped " +
         std::to_string(what.skipped_bytes) + "\nmodified " + std::to_string(what.modified_nanoseconds) +
         "\nxxh3-128 ";
}

}  // namespace

std::string encode_digest_sidecar(const HashedFileRange& what, Hash128 hash) {
  return sidecar_text_prefix(what) + to_hex(hash) + "\n";
}

std::optional<Hash128> parse_digest_sidecar(std::string_view text, const HashedFileRange& what) {
  const std::string beginning = sidecar_text_prefix(what);
  if (!text.starts_with(beginning) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(beginning.size());
  text.remove_suffix(1);
  const Result<Hash128> hash = parse_hash128(text);
  return hash ? std::optional(*hash) : std::nullopt;
}

std::filesystem::path digest_sidecar_path(const std::filesystem::path& file) {
  return file.string() + ".ratoon-digest";
}

std::optional<Hash128> find_digest_sidecar(const std::filesystem::path& file, const HashedFileRange& what) {
  const auto note = MappedFile::open(digest_sidecar_path(file));
  if (!note) return std::nullopt;
  const bool is_younger =
      note->modified_nanoseconds() >= what.modified_nanoseconds + kFileTimeResolutionNanoseconds;
  if (!is_younger) return std::nullopt;  // the file may have changed again within the clock's resolution
  const auto bytes = note->bytes();
  return parse_digest_sidecar({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, what);
}

void save_digest_sidecar(const std::filesystem::path& file, const HashedFileRange& what, Hash128 hash) {
  static_cast<void>(save_file_atomically(digest_sidecar_path(file), encode_digest_sidecar(what, hash)));
}

}  // namespace ratoon::data
