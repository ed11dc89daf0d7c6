// Memory that holds the image of a list: pages of our own, or those of a file.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include <ratoon/torch_random.h>

#include "agent/src/data/order/list_image.h"

namespace ratoon::data {

class ListMemory : public IndexList::Owner {
 public:
  // Writable pages, zero so far. Throws std::bad_alloc.
  [[nodiscard]] static std::shared_ptr<ListMemory> allocate(const ListImage& image);
  // A file whose header is that of the image. Its numbers are checked block by block, as they are used.
  [[nodiscard]] static Result<std::shared_ptr<ListMemory>> map_file(const std::filesystem::path& path,
                                                                    const ListImage& image);

  // Takes over pages that were mapped.
  ListMemory(const ListImage& image, std::span<std::byte> pages, std::filesystem::path path);
  ~ListMemory() override;
  ListMemory(const ListMemory&) = delete;
  ListMemory& operator=(const ListMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
  [[nodiscard]] const ListImage& image() const { return image_; }
  [[nodiscard]] bool is_file() const { return !path_.empty(); }

  // A damaged file is removed: the next start makes it again.
  void check(std::uint64_t place) const override;
  [[nodiscard]] std::uint64_t place_of(std::uint64_t number) const override;

 private:
  [[nodiscard]] std::shared_ptr<ListMemory> invert() const;

  ListImage image_;
  std::span<std::byte> bytes_;
  std::filesystem::path path_;                         // empty: pages of our own
  mutable std::vector<std::atomic<bool>> is_checked_;  // a block each; two threads may both check one
  mutable std::mutex mutex_;
  mutable std::shared_ptr<ListMemory> inverse_;  // once somebody asked for a place; guarded by mutex_
};

// The list in that memory.
[[nodiscard]] IndexList list_in(std::shared_ptr<ListMemory> memory);

}  // namespace ratoon::data
