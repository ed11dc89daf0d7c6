// A file that is written under a temporary name and then renamed: save_file_atomically() in single steps, for
// callers that for instance limit the time of each step.
//
//   auto file = UnfinishedFile::create("out/metrics.json");
//   file->write(bytes);                             // any number of times
//   file->publish();                                // now it is there, whole, and survives a power cut
//
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include <ratoon/atomic_file.h>
#include <ratoon/result.h>

#include "base/core/temporary_file.h"

namespace ratoon {

class UnfinishedFile {
 public:
  [[nodiscard]] static Result<UnfinishedFile> create(const std::filesystem::path& path,
                                                     const AtomicFileOptions& options = {});
  UnfinishedFile(UnfinishedFile&& other) noexcept
      : temporary_(std::exchange(other.temporary_, TemporaryFile())),
        path_(std::move(other.path_)),
        replaces_(other.replaces_) {}
  UnfinishedFile& operator=(UnfinishedFile&&) = delete;
  ~UnfinishedFile();  // removes the file if it was not published

  [[nodiscard]] int fd() const { return temporary_.fd.get(); }
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes);
  // Call publish() last. After an error the path has the whole old file or the whole new file.
  [[nodiscard]] Result<void> publish();

 private:
  UnfinishedFile(TemporaryFile temporary, std::filesystem::path path, bool replaces)
      : temporary_(std::move(temporary)), path_(std::move(path)), replaces_(replaces) {}
  [[nodiscard]] Result<void> rename_to_target();

  TemporaryFile temporary_;  // its path is empty once it was renamed or moved from
  std::filesystem::path path_;
  bool replaces_;
};

}  // namespace ratoon
