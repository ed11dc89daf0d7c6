// A disk that holds only packs, records the reads of them, and may flip a bit in a read.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/src/checkpoint/disk/disk.h"
#include "agent/src/checkpoint/load/checkpoint_reader.h"
#include "tests/support/pack_files.h"

namespace ratoon::test {

class PacksDisk : public checkpoint::Disk {
 public:
  struct Read {
    std::string path;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  explicit PacksDisk(std::vector<PackFile> packs) : packs_(std::move(packs)) {}

  [[nodiscard]] std::vector<checkpoint::NamedPack> names() const {
    std::vector<checkpoint::NamedPack> names;
    for (const auto& pack : packs_) {
      const std::uint64_t header_bytes = pack.header.layout.header_bytes;
      names.push_back(
          {.path = pack.name,
           .record = {.rank = Rank(static_cast<std::uint32_t>(names.size())),
                      .size_bytes = pack.header.layout.file_bytes(),
                      .header_bytes = header_bytes,
                      .header_digest = to_hex(xxh3_128(bytes_of(pack.bytes).first(header_bytes)))}});
    }
    return names;
  }

  [[nodiscard]] std::vector<PackFile>& packs() { return packs_; }
  [[nodiscard]] std::vector<Read> reads() const { return reads_; }
  [[nodiscard]] std::uint64_t data_bytes_read() const {
    std::uint64_t bytes = 0;
    for (const auto& read : reads_) bytes += read.begin == 0 ? 0 : read.end - read.begin;
    return bytes;
  }
  // The given number of next reads of data have a flipped bit.
  void turn_bits(int reads) { to_turn_ = reads; }
  [[nodiscard]] int times_forgotten() const { return times_forgotten_; }

  [[nodiscard]] std::string shown(std::string_view path) const override { return "run/" + std::string(path); }
  [[nodiscard]] Result<std::unique_ptr<checkpoint::ReadFile>> open(const std::string& path) const override {
    const auto pack = std::ranges::find(packs_, path, &PackFile::name);
    if (pack == packs_.end()) return Error(ErrorKind::kNotFound, path + " is not there");
    return std::unique_ptr<checkpoint::ReadFile>(std::make_unique<File>(*this, *pack));
  }

  [[nodiscard]] Result<std::unique_ptr<checkpoint::WriteFile>> create(const std::string&) override {
    return refused();
  }
  [[nodiscard]] Result<void> rename_no_replace(const std::string&, const std::string&) override {
    return refused();
  }
  [[nodiscard]] Result<void> remove(const std::string&) override { return refused(); }
  [[nodiscard]] Result<void> remove_folder(const std::string&) override { return refused(); }
  [[nodiscard]] Result<void> make_folder(const std::string&) override { return refused(); }
  [[nodiscard]] Result<void> sync_folder(const std::string&) override { return refused(); }
  [[nodiscard]] Result<std::vector<checkpoint::DiskEntry>> list(const std::string&) const override {
    return refused();
  }

 private:
  class File : public checkpoint::ReadFile {
   public:
    File(const PacksDisk& disk, const PackFile& pack) : disk_(disk), pack_(pack) {}
    [[nodiscard]] Result<std::uint64_t> size() const override { return pack_.bytes.size(); }
    [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
      if (at + bytes.size() > pack_.bytes.size())
        return Error(ErrorKind::kCorrupted, "run/" + pack_.name + " is too short");
      if (!bytes.empty()) std::memcpy(bytes.data(), pack_.bytes.data() + at, bytes.size());
      if (at != 0 && disk_.to_turn_-- > 0) bytes[bytes.size() / 2] ^= std::byte{4};
      const std::scoped_lock lock(disk_.mutex_);
      disk_.reads_.push_back({pack_.name, at, at + bytes.size()});
      return {};
    }
    void drop_from_page_cache() const override { ++disk_.times_forgotten_; }

   private:
    const PacksDisk& disk_;
    const PackFile& pack_;
  };

  static Error refused() { return {ErrorKind::kPermissionDenied, "nothing is written here"}; }

  std::vector<PackFile> packs_;
  mutable std::mutex mutex_;
  mutable std::vector<Read> reads_;
  mutable std::atomic<int> to_turn_{0};
  mutable std::atomic<int> times_forgotten_{0};
};

}  // namespace ratoon::test
