#include "agent/src/data/order/torch/torch_lists.h"

#include <cerrno>
#include <map>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <ratoon/atomic_file.h>

#include "agent/src/data/order/torch/torch_list_memory.h"
#include "agent/src/data/order/torch/torch_randperm.h"
#include "agent/src/data/sets/refuse.h"
#include "base/core/never_destroyed.h"
#include "base/core/threads/mutex.h"
#include "base/core/unique_fd.h"

namespace ratoon {

IndexList::IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint32_t> numbers,
                     bool needs_checks)
    : owner_(std::move(owner)),
      numbers32_(numbers.data()),
      size_(numbers.size()),
      needs_checks_(needs_checks) {}

IndexList::IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint64_t> numbers,
                     bool needs_checks)
    : owner_(std::move(owner)),
      numbers64_(numbers.data()),
      size_(numbers.size()),
      needs_checks_(needs_checks) {}

namespace data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListFilesMax = 2;  // the file of the epoch, and the file of the previous one
constexpr const char* kLockFileName = "randperm.lock";

template <class Number>
std::span<Number> numbers_in(IndexListMemory& memory) {
  const auto bytes = memory.image().numbers_in(memory.bytes());
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

std::shared_ptr<IndexListMemory> compute_list(const IndexListKey& key, TorchGenerator& generator,
                                              TorchRelease release) {
  auto memory = IndexListMemory::allocate(IndexListLayout(key));
  if (memory->image().bytes_per_number() == 4) {
    fill_randperm(numbers_in<std::uint32_t>(*memory), generator, release);
  } else {
    fill_randperm(numbers_in<std::uint64_t>(*memory), generator, release);
  }
  return memory;
}

// Only the process that holds the lock writes files in `folder`. The kernel releases the lock when the
// process dies. Processes do not wait for the lock: a process without it computes the list in its own memory.
UniqueFd try_lock_folder(const fs::path& folder) {
  UniqueFd lock(::open((folder / kLockFileName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return lock;
}

// Returns the exclusive lock of a list that no process has mapped, else a UniqueFd that is not open. Without
// its file, a process on another machine could not read a page of a mapped list again. On NFS, only a file
// that is open for writing can be locked exclusively.
UniqueFd lock_unused_list(const fs::path& list) {
  UniqueFd file(::open(list.c_str(), O_RDWR | O_CLOEXEC));
  const bool is_used = file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_used ? UniqueFd() : std::move(file);
}

// Removes incomplete files of processes that died, and all lists except the newest kListFilesMax and those in
// use. The caller must hold the lock of the folder.
void remove_old_lists(const fs::path& folder) {
  std::multimap<fs::file_time_type, fs::path> lists;
  std::error_code code;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".randperm-")) fs::remove(at->path(), ignored);
    if (name.starts_with("randperm-")) lists.emplace(at->last_write_time(ignored), at->path());
  }
  for (; lists.size() > kListFilesMax; lists.erase(lists.begin())) {
    const UniqueFd lock = lock_unused_list(lists.begin()->second);
    if (lock.is_open()) fs::remove(lists.begin()->second, ignored);
  }
}

void save_list(const fs::path& path, IndexListMemory& memory) {
  memory.image().write_header_and_checksums(memory.bytes());
  if (save_file_atomically(path, memory.bytes())) remove_old_lists(path.parent_path());
}

std::shared_ptr<IndexListMemory> load_or_create_list(const IndexListKey& key, TorchRelease release,
                                                     const fs::path& folder) {
  std::error_code code;
  const fs::file_type type = fs::status(folder, code).type();
  const std::string name = "the folder for lists of samples, " + folder.string();
  if (type == fs::file_type::not_found)
    throw_open_failure(folder, {ErrorKind::kNotFound, name + ", does not exist. Create it or name another"});
  if (type == fs::file_type::none)
    throw_dataset_failure({ErrorKind::kIo, name + ", cannot be accessed: " + code.message()});
  if (type != fs::file_type::directory)
    throw_dataset_failure({ErrorKind::kInvalid, name + ", is not a folder. Name another one"});
  const fs::path path = folder / name_of(key);
  if (auto there = IndexListMemory::map_file(path, IndexListLayout(key))) return *there;
  const UniqueFd lock = try_lock_folder(folder);
  TorchGenerator generator(key.seed);
  auto memory = compute_list(key, generator, release);
  if (lock.is_open()) save_list(path, *memory);
  auto published = IndexListMemory::map_file(path, IndexListLayout(key));  // our file, or the lock holder's
  return published ? *published : memory;
}

// Holds the lists that this process uses, so that it computes or maps each list once.
class ListCache {
 public:
  IndexList get(const IndexListKey& key, TorchRelease release, const std::string& folder) {
    const MutexLock guard(mutex_);
    auto& slot = lists_[{key, folder}];
    auto memory = slot.lock();
    if (memory == nullptr) {
      TorchGenerator generator(key.seed);
      memory =
          folder.empty() ? compute_list(key, generator, release) : load_or_create_list(key, release, folder);
      slot = memory;
    }
    std::erase_if(lists_, [](const auto& item) { return item.second.expired(); });
    return index_list_of(memory);
  }

 private:
  // A thread holds mutex_ while it computes a list, so that other threads of the process wait for the list
  // and do not compute it again.
  Mutex mutex_;
  std::map<std::pair<IndexListKey, std::string>, std::weak_ptr<IndexListMemory>> lists_
      RATOON_GUARDED_BY(mutex_);
};

IndexListKey list_key_of(std::uint64_t size, std::uint64_t seed, TorchRelease release) {
  return {.size = size,
          .seed = static_cast<std::uint32_t>(seed),
          .uses_inside_out_shuffle = uses_inside_out_shuffle(size, release)};
}

}  // namespace

IndexList cached_torch_randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                                const std::string& folder) {
  static const NeverDestroyed<ListCache> shelf;
  return shelf->get(list_key_of(size, seed, release), release, folder);
}

}  // namespace data

namespace {

class FileCachedLists : public IndexLists {
 public:
  explicit FileCachedLists(std::string folder) : folder_(std::move(folder)) {}

  IndexList randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release) override {
    return data::cached_torch_randperm(size, seed, release, folder_);
  }

 private:
  std::string folder_;
};

}  // namespace

std::shared_ptr<IndexLists> kept_lists(const std::string& folder) {
  return std::make_shared<FileCachedLists>(folder);
}

IndexList torch_randperm(std::uint64_t size, TorchGenerator& generator, TorchRelease release) {
  return data::index_list_of(
      data::compute_list(data::list_key_of(size, generator.seed(), release), generator, release));
}

}  // namespace ratoon
