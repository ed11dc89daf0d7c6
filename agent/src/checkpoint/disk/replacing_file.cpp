#include "agent/src/checkpoint/disk/replacing_file.h"

#include <string>
#include <utility>

#include "agent/src/checkpoint/disk/disk_with_timeout.h"
#include "base/core/unfinished_file.h"

namespace ratoon::checkpoint {
namespace {

class ReplacingFile final : public WriteFile {
 public:
  explicit ReplacingFile(UnfinishedFile file) : file_(std::move(file)) {}

  Result<void> reserve(std::uint64_t) override { return {}; }
  Result<void> write(std::uint64_t at, std::span<const std::byte> bytes) override {
    if (at != written_)
      return Error(ErrorKind::kInvalid,
                   "a file that replaces another must be written from its beginning to its end");
    written_ += bytes.size();
    return file_.write(bytes);
  }
  Result<void> sync() override { return {}; }  // close() syncs
  Result<void> close() override { return file_.publish(); }

 private:
  UnfinishedFile file_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<std::unique_ptr<WriteFile>> replace_with_timeout(const std::filesystem::path& path,
                                                        std::shared_ptr<CallsWithTimeout> calls) {
  auto file = (*calls)("creating " + path.string(), [path]() -> Result<std::unique_ptr<WriteFile>> {
    auto unfinished = UnfinishedFile::create(path);
    if (!unfinished) return unfinished.error();
    return std::unique_ptr<WriteFile>(std::make_unique<ReplacingFile>(*std::move(unfinished)));
  });
  if (!file) return file;
  return add_timeout(*std::move(file), std::move(calls), path.string());
}

}  // namespace ratoon::checkpoint
