#include "agent/src/checkpoint/disk/disk_with_timeout.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace ratoon::checkpoint {
namespace {

class WriteFileWithTimeout : public WriteFile {
 public:
  WriteFileWithTimeout(std::shared_ptr<WriteFile> file, std::shared_ptr<CallsWithTimeout> calls,
                       std::string shown)
      : file_(std::move(file)), calls_(std::move(calls)), shown_(std::move(shown)) {}
  // Closing the file may hang, so the destructor closes it with a timeout.
  ~WriteFileWithTimeout() override {
    if (has_hung_) return;
    static_cast<void>((*calls_)("closing " + shown_, [file = std::move(file_)]() mutable -> Result<void> {
      file.reset();
      return {};
    }));
  }
  WriteFileWithTimeout(const WriteFileWithTimeout&) = delete;
  WriteFileWithTimeout& operator=(const WriteFileWithTimeout&) = delete;

  Result<void> reserve(std::uint64_t bytes) override {
    return call("making room for", [file = file_, bytes] { return file->reserve(bytes); });
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    return call("writing", [file = file_, at, own = std::vector<std::byte>(bytes.begin(), bytes.end())] {
      return file->write(at, own);
    });
  }
  Result<void> sync() override {
    return call("syncing", [file = file_] { return file->sync(); });
  }
  Result<void> close() override {
    return call("closing", [file = file_] { return file->close(); });
  }

 private:
  template <class Call>
  Result<void> call(const char* doing, Call make_call) {
    if (has_hung_) return *has_hung_;
    Result<void> result = (*calls_)(std::string(doing) + " " + shown_, std::move(make_call));
    if (!result && result.error().kind() == ErrorKind::kTimeout) has_hung_ = result.error();
    return result;
  }

  std::shared_ptr<WriteFile> file_;
  const std::shared_ptr<CallsWithTimeout> calls_;
  const std::string shown_;
  std::optional<Error> has_hung_;  // the call that hangs still uses the file
};

class ReadFileWithTimeout : public ReadFile {
 public:
  ReadFileWithTimeout(std::shared_ptr<const ReadFile> file, std::shared_ptr<CallsWithTimeout> calls,
                      std::string shown)
      : file_(std::move(file)), calls_(std::move(calls)), shown_(std::move(shown)) {}

  Result<std::uint64_t> size() const override {
    return call<Result<std::uint64_t>>([file = file_] { return file->size(); });
  }
  Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const override {
    if (!has_hung_ && file_->read_from_page_cache(at, bytes)) return {};
    // The read fills a separate buffer: a read that hangs may still write bytes after the timeout, when the
    // caller already uses its own memory for something else.
    const ReadBuffer room = ReadBuffer::of(bytes.size());
    auto read = call<Result<void>>(
        [file = file_, at, room, count = bytes.size()] { return file->read(at, room.bytes().first(count)); });
    if (read) std::ranges::copy(room.bytes().first(bytes.size()), bytes.begin());
    return read;
  }
  bool read_from_page_cache(std::uint64_t at, std::span<std::byte> bytes) const override {
    return !has_hung_ && file_->read_from_page_cache(at, bytes);
  }
  Result<void> read_directly(std::uint64_t at, const ReadBuffer& room, std::uint64_t count) const override {
    return call<Result<void>>(
        [file = file_, at, room, count] { return file->read_directly(at, room, count); });
  }
  void drop_from_page_cache() const override {
    static_cast<void>(call<Result<void>>([file = file_]() -> Result<void> {
      file->drop_from_page_cache();
      return {};
    }));
  }
  void start_read_ahead(std::uint64_t at, std::uint64_t bytes) const override {
    static_cast<void>(call<Result<void>>([file = file_, at, bytes]() -> Result<void> {
      file->start_read_ahead(at, bytes);
      return {};
    }));
  }

 private:
  // Refuses a call on a file while a thread still hangs in an earlier call on it: only one thread at a time
  // may use a file.
  template <class R, class Call>
  R call(Call make_call) const {
    if (has_hung_) return *has_hung_;
    R result = (*calls_)("reading " + shown_, std::move(make_call));
    if (!result && result.error().kind() == ErrorKind::kTimeout) has_hung_ = result.error();
    return result;
  }

  const std::shared_ptr<const ReadFile> file_;
  const std::shared_ptr<CallsWithTimeout> calls_;
  const std::string shown_;
  mutable std::optional<Error> has_hung_;
};

class DiskWithTimeout : public Disk {
 public:
  DiskWithTimeout(std::shared_ptr<Disk> disk, std::shared_ptr<CallsWithTimeout> calls)
      : disk_(std::move(disk)), calls_(std::move(calls)) {}

  std::string shown(std::string_view path) const override { return disk_->shown(path); }
  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    auto file = call("creating", path, [disk = disk_, path] { return disk->create(path); });
    if (!file) return file;
    return add_timeout(*std::move(file), calls_, shown(path));
  }
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) const override {
    auto file = call("opening", path, [disk = disk_, path] { return disk->open(path); });
    if (!file) return file;
    return std::unique_ptr<ReadFile>(std::make_unique<ReadFileWithTimeout>(
        std::shared_ptr<const ReadFile>(*std::move(file)), calls_, shown(path)));
  }
  Result<void> rename_no_replace(const std::string& from, const std::string& to) override {
    return call("renaming to", to, [disk = disk_, from, to] { return disk->rename_no_replace(from, to); });
  }
  Result<void> remove(const std::string& path) override {
    return call("removing", path, [disk = disk_, path] { return disk->remove(path); });
  }
  Result<void> remove_folder(const std::string& path) override {
    return call("removing", path, [disk = disk_, path] { return disk->remove_folder(path); });
  }
  Result<void> make_folder(const std::string& path) override {
    return call("creating folder", path, [disk = disk_, path] { return disk->make_folder(path); });
  }
  Result<void> sync_folder(const std::string& path) override {
    return call("syncing folder", path, [disk = disk_, path] { return disk->sync_folder(path); });
  }
  Result<std::vector<DiskEntry>> list(const std::string& path) const override {
    return call("listing", path, [disk = disk_, path] { return disk->list(path); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> call(const char* doing, const std::string& path, Call make_call) const {
    return (*calls_)(std::string(doing) + " " + disk_->shown(path), std::move(make_call));
  }

  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<CallsWithTimeout> calls_;
};

}  // namespace

std::unique_ptr<WriteFile> add_timeout(std::unique_ptr<WriteFile> file,
                                       std::shared_ptr<CallsWithTimeout> calls, std::string shown) {
  return std::make_unique<WriteFileWithTimeout>(std::move(file), std::move(calls), std::move(shown));
}

std::shared_ptr<Disk> add_timeout(std::shared_ptr<Disk> disk, std::shared_ptr<CallsWithTimeout> calls) {
  return std::make_shared<DiskWithTimeout>(std::move(disk), std::move(calls));
}

}  // namespace ratoon::checkpoint
