// Helpers for the tests of a cache: a folder of one's own, and objects whose bytes show their names.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/src/objects/cache/object_cache.h"
#include "tests/support/temporary_folder.h"

namespace ratoon::objects::test {

// For a file that is compiled after one which includes this.
using ratoon::test::read_text;
using ratoon::test::TemporaryFolder;
using ratoon::test::write_text;

inline std::string read_all(const CachedFile& file) {
  std::string bytes(file.size_bytes(), '\0');
  EXPECT_EQ(::pread(file.fd(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

inline Result<void> no_verdict(std::span<const std::byte>) {
  return {};
}

class ObjectCacheTest : public testing::Test {
 protected:
  std::unique_ptr<ObjectCache> open(std::uint64_t bytes_max = 0,
                                    Duration lock_wait_max = std::chrono::milliseconds(200)) {
    return ObjectCache::open(
               {.folder = folder_ / "cache", .bytes_max = bytes_max, .lock_wait_max = lock_wait_max})
        .value();
  }
  // Made of the object's own name, so that a mix-up becomes visible.
  CacheRequest request(const std::string& name, std::size_t size = 10) {
    return {.key = {"s3://bucket/" + name},
            .size_bytes = size,
            .fill =
                [this, name, size](FileSink& file, const std::stop_token&) {
                  ++fills_;
                  return file.write(bytes_of(name, size));
                },
            .verify = no_verdict};
  }
  static std::string bytes_of(const std::string& name, std::size_t size) {
    std::string bytes;
    while (bytes.size() < size) bytes += name;
    return bytes.substr(0, size);
  }
  std::filesystem::path path_of(const std::string& name) {
    return folder_ / "cache" / object_name({"s3://bucket/" + name});
  }
  bool is_cached(const std::string& name) { return std::filesystem::exists(path_of(name)); }
  // Of a cache's own files.
  std::size_t file_count() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache"))
      count += parse_cache_name(entry.path().filename().string()).has_value();
    return count;
  }
  // The times are far apart, because times of files advance by whole ticks.
  void set_last_use(const std::string& name, std::time_t at) {
    const timespec times[] = {{at, 0}, {at, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_of(name).c_str(), times, 0), 0);
  }

  ratoon::test::TemporaryFolder folder_;
  std::atomic<int> fills_{0};
};

}  // namespace ratoon::objects::test
