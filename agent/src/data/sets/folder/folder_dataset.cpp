#include <cerrno>
#include <limits>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/failure.h>
#include <ratoon/folder_dataset.h>

#include "agent/src/data/sets/columns.h"
#include "agent/src/data/sets/folder/content_digest.h"
#include "agent/src/data/sets/folder/file_hash.h"
#include "agent/src/data/sets/folder/folder_walk.h"
#include "agent/src/data/sets/refuse.h"
#include "base/core/read_file.h"

namespace ratoon {
namespace {

struct OpenFile {
  UniqueFd fd;
  std::size_t bytes = 0;
};

Result<OpenFile> open_regular(const std::filesystem::path& path) {
  const std::string doing = "opening " + path.string();
  OpenFile file{.fd = open_for_reading(path)};
  struct stat status{};
  if (!file.fd.is_open() || ::fstat(file.fd.get(), &status) != 0) return system_error(errno, doing);
  if (!S_ISREG(status.st_mode)) return Error(ErrorKind::kInvalid, doing + ": it is no regular file");
  file.bytes = static_cast<std::size_t>(status.st_size);
  return file;
}

void read_whole(const OpenFile& file, std::span<std::byte> into, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::read(file.fd.get(), into.data() + done, into.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) data::throw_dataset_failure(system_error(errno, "reading " + path.string()));
    if (count == 0) {
      data::throw_dataset_failure(
          {ErrorKind::kConflict, "the file " + path.string() + " has " + std::to_string(done) +
                                     " bytes, but had " + std::to_string(into.size()) +
                                     " when it was opened. Write data to a new file, and rename it"});
    }
    done += static_cast<std::size_t>(count);
  }
}

// Returns nothing for a link without a target: such a link counts as a sample, but reading it is an error.
std::optional<std::uint64_t> size_of_file(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return static_cast<std::uint64_t>(status.st_size);
  const int error = errno;
  if ((error == ENOENT || error == ELOOP) && ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    return std::nullopt;
  data::throw_dataset_failure(system_error(error, "looking at " + path.string()));
}

void add_file_content(data::ContentDigest& digest, const std::filesystem::path& path, FolderDigest which) {
  constexpr std::uint64_t kSizeOfNowhere = std::numeric_limits<std::uint64_t>::max();
  if (which == FolderDigest::kNames) return;
  const auto size = size_of_file(path);
  if (which == FolderDigest::kNamesAndSizes || !size) return digest.add(size.value_or(kSizeOfNowhere));
  const auto file = data::hash_file(path);
  if (!file) data::throw_dataset_failure(file.error());
  digest.add(file->bytes);
  digest.add(file->hash);
}

const char* digest_kind_of(FolderDigest digest) {
  switch (digest) {
    case FolderDigest::kNames:
      return "folder-names-1";
    case FolderDigest::kNamesAndSizes:
      return "folder-sizes-1";
    case FolderDigest::kContents:
      break;
  }
  return "folder-contents-1";
}

}  // namespace

struct FolderDataset::Files : data::FolderFiles {};

FolderDataset::FolderDataset(std::filesystem::path root, FolderOptions options)
    : root_(std::move(root)), options_(std::move(options)) {
  if (options_.columns.empty() != (options_.decode == nullptr)) {
    throw std::invalid_argument("a FolderDataset needs both columns and decode, or neither");
  }
  if (options_.columns.empty()) options_.columns = {{.name = "bytes"}};
  options_.columns.push_back({.name = "label", .type = ElementType::kInt64, .shape = {{}}});
  data::check_columns(options_.columns);
  auto files = data::walk_folder(
      root_, {.extensions = options_.extensions, .allows_empty_classes = options_.allows_empty_classes});
  if (!files) data::throw_open_failure(root_, files.error());
  files_ = std::make_unique<const Files>(Files{*std::move(files)});
}

FolderDataset::~FolderDataset() = default;

std::shared_ptr<FolderDataset> FolderDataset::open(std::filesystem::path root, FolderOptions options) {
  return std::make_shared<FolderDataset>(std::move(root), std::move(options));
}

const std::vector<std::string>& FolderDataset::classes() const {
  return files_->classes();
}

std::uint64_t FolderDataset::size() const {
  return files_->size();
}

std::string FolderDataset::file_of(std::uint64_t id) const {
  data::check_id(id, size());
  return files_->path(id);
}

std::int64_t FolderDataset::label_of(std::uint64_t id) const {
  data::check_id(id, size());
  return files_->class_index(id);
}

std::string FolderDataset::digest() const {
  const std::lock_guard lock(mutex_);
  if (!digest_.empty()) return digest_;
  data::ContentDigest digest(digest_kind_of(options_.digest));
  digest.add(std::uint64_t{classes().size()});
  for (std::size_t c = 0; c < classes().size(); ++c) {
    digest.add(classes()[c]);
    digest.add(files_->first_file_of_class(c + 1) - files_->first_file_of_class(c));
  }
  for (std::uint64_t id = 0; id < size(); ++id) {
    const std::string name = files_->path(id);
    digest.add(name);
    add_file_content(digest, root_ / name, options_.digest);
  }
  digest_ = digest.text();
  return digest_;
}

// Adds the file's name to errors, because the number of a sample does not tell a user which file is
// damaged.
void FolderDataset::decode(std::span<const std::byte> bytes, const std::filesystem::path& path,
                           Sample& into) const {
  try {
    options_.decode(bytes, into);
  } catch (const Failure& failure) {
    std::throw_with_nested(Failure(failure.exit_code, "decoding " + path.string() + ": " + failure.what()));
  } catch (const std::exception& error) {
    std::throw_with_nested(std::runtime_error("decoding " + path.string() + ": " + error.what()));
  }
  if (into.size() + 1 == options_.columns.size()) return;
  throw std::logic_error("decode() added " + std::to_string(into.size()) + " fields for " + path.string() +
                         ", but the FolderDataset declares " + std::to_string(options_.columns.size() - 1) +
                         " columns beside the label");
}

void FolderDataset::read(std::uint64_t id, Sample& into) const {
  data::check_id(id, size());
  const std::filesystem::path path = root_ / files_->path(id);
  const auto file = open_regular(path);
  if (!file) data::throw_dataset_failure(file.error());
  into.begin(id);
  if (options_.decode == nullptr) {
    const std::uint64_t length = file->bytes;
    read_whole(*file, into.add(ElementType::kBytes, {&length, 1}), path);
  } else {
    const std::span<std::byte> bytes = into.scratch(file->bytes);
    read_whole(*file, bytes, path);
    decode(bytes, path, into);
  }
  const std::int64_t label = files_->class_index(id);
  std::memcpy(into.add(ElementType::kInt64, {}).data(), &label, sizeof label);
}

}  // namespace ratoon
