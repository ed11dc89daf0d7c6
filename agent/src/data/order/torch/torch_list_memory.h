// IndexListMemory holds the image of a list, in anonymous pages or in the mapped pages of a file.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <vector>

#include <ratoon/torch_random.h>

#include "agent/src/data/order/torch/index_list_layout.h"
#include "base/core/threads/mutex.h"
#include "base/core/unique_fd.h"

namespace ratoon::data {

class IndexListMemory : public IndexList::Owner {
 public:
  // Allocates writable, zeroed pages. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<IndexListMemory> allocate(const IndexListLayout& image);
  // Maps a file into memory, and checks that it has the header of `image`. The checksum of a block of numbers
  // is verified when the block is first used.
  [[nodiscard]] static Result<std::shared_ptr<IndexListMemory>> map_file(const std::filesystem::path& path,
                                                                         const IndexListLayout& image);

  // The new object owns the mapped `pages` and unmaps them in its destructor.
  IndexListMemory(const IndexListLayout& image, std::span<std::byte> pages, std::filesystem::path path,
                  UniqueFd file);
  ~IndexListMemory() override;
  IndexListMemory(const IndexListMemory&) = delete;
  IndexListMemory& operator=(const IndexListMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
  [[nodiscard]] const IndexListLayout& image() const { return layout_; }
  [[nodiscard]] bool is_file_mapping() const { return !path_.empty(); }

  // Verifies the checksum of the block that contains index `place` of the list. Removes a damaged file, so
  // that the next start creates it again.
  void check(std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t place_of(std::uint64_t number) const override;

 private:
  [[nodiscard]] std::shared_ptr<IndexListMemory> invert() const;

  IndexListLayout layout_;
  std::span<std::byte> bytes_;
  UniqueFd file_;               // holds a shared lock on the mapped file, so that no process removes the file
  std::filesystem::path path_;  // empty: anonymous pages
  mutable std::vector<std::atomic<bool>> is_checked_;  // per block; two threads may both check one
  mutable Mutex mutex_;
  // Created at the first call of place_of().
  mutable std::shared_ptr<IndexListMemory> inverse_ RATOON_GUARDED_BY(mutex_);
};

// Returns the list of numbers that `memory` holds.
[[nodiscard]] IndexList index_list_of(std::shared_ptr<IndexListMemory> memory);

}  // namespace ratoon::data
