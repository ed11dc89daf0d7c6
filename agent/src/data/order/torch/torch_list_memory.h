// ListMemory holds the image of a list, in anonymous pages or in the mapped pages of a file.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include <ratoon/torch_random.h>

#include "agent/src/data/order/torch/list_image.h"

namespace ratoon::data {

class ListMemory : public IndexList::Owner {
 public:
  // Allocates writable, zeroed pages. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<ListMemory> allocate(const ListImage& image);
  // Maps a file into memory, and checks that it has the header of `image`. The checksum of a block of numbers
  // is verified when the block is first used.
  [[nodiscard]] static Result<std::shared_ptr<ListMemory>> map_file(const std::filesystem::path& path,
                                                                    const ListImage& image);

  // The new object owns the mapped `pages` and unmaps them in its destructor.
  ListMemory(const ListImage& image, std::span<std::byte> pages, std::filesystem::path path);
  ~ListMemory() override;
  ListMemory(const ListMemory&) = delete;
  ListMemory& operator=(const ListMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
  [[nodiscard]] const ListImage& image() const { return image_; }
  [[nodiscard]] bool is_file() const { return !path_.empty(); }

  // Verifies the checksum of the block that contains index `place` of the list. Removes a damaged file, so
  // that the next start creates it again.
  void check(std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t place_of(std::uint64_t number) const override;

 private:
  [[nodiscard]] std::shared_ptr<ListMemory> invert() const;

  ListImage image_;
  std::span<std::byte> bytes_;
  std::filesystem::path path_;                         // empty: anonymous pages
  mutable std::vector<std::atomic<bool>> is_checked_;  // per block; two threads may both check one
  mutable std::mutex mutex_;
  mutable std::shared_ptr<ListMemory> inverse_;  // created at the first call of place_of(); guarded by mutex_
};

// Returns the list of numbers that `memory` holds.
[[nodiscard]] IndexList list_in(std::shared_ptr<ListMemory> memory);

}  // namespace ratoon::data
