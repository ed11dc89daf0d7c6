#include "agent/src/data/order/torch/torch_lists.h"

#include <cerrno>
#include <map>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>

#include <ratoon/atomic_file.h>

#include "agent/src/data/order/torch/torch_list_memory.h"
#include "agent/src/data/order/torch/torch_randperm.h"
#include "agent/src/data/sets/refuse.h"
#include "base/core/never_destroyed.h"
#include "base/core/unique_fd.h"

namespace ratoon {

IndexList::IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint32_t> numbers,
                     bool needs_checks)
    : owner_(std::move(owner)), narrow_(numbers.data()), size_(numbers.size()), needs_checks_(needs_checks) {}

IndexList::IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint64_t> numbers,
                     bool needs_checks)
    : owner_(std::move(owner)), wide_(numbers.data()), size_(numbers.size()), needs_checks_(needs_checks) {}

namespace data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesKept = 2;  // the file of the epoch, and the file of the previous one
constexpr const char* kLockName = "randperm.lock";

template <class Number>
std::span<Number> numbers_in(ListMemory& memory) {
  const auto bytes = memory.image().numbers_in(memory.bytes());
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

std::shared_ptr<ListMemory> compute(const ListKey& key, TorchGenerator& generator, TorchRelease release) {
  auto memory = ListMemory::allocate(ListImage(key));
  if (memory->image().width() == 4) {
    fill_randperm(numbers_in<std::uint32_t>(*memory), generator, release);
  } else {
    fill_randperm(numbers_in<std::uint64_t>(*memory), generator, release);
  }
  return memory;
}

// Only the process that holds the lock writes files in `folder`; the kernel releases the lock when the
// process dies. Other processes do not wait for the lock: each of them computes the list in its own memory.
UniqueFd lock_of(const fs::path& folder) {
  UniqueFd lock(::open((folder / kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return lock;
}

// Removes incomplete files, which processes left that died, and all lists except the newest kFilesKept. The
// caller must hold the lock of the folder. A process that has mapped a removed file can still read it.
void sweep(const fs::path& folder) {
  std::multimap<fs::file_time_type, fs::path> lists;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".randperm-")) fs::remove(entry.path(), ignored);
    if (name.starts_with("randperm-")) lists.emplace(entry.last_write_time(ignored), entry.path());
  }
  while (lists.size() > kFilesKept) {
    fs::remove(lists.begin()->second, ignored);
    lists.erase(lists.begin());
  }
}

void save(const fs::path& path, ListMemory& memory) {
  memory.image().seal(memory.bytes());
  if (save_file_atomically(path, memory.bytes())) sweep(path.parent_path());
}

std::shared_ptr<ListMemory> from_folder(const ListKey& key, TorchRelease release, const fs::path& folder) {
  std::error_code code;
  const fs::file_type type = fs::status(folder, code).type();
  const std::string name = "the folder for lists of samples, " + folder.string();
  if (type == fs::file_type::not_found)
    refuse_to_open(folder, {ErrorKind::kNotFound, name + ", does not exist. Make it first"});
  if (type == fs::file_type::none) refuse({ErrorKind::kIo, name + ", cannot be seen: " + code.message()});
  if (type != fs::file_type::directory) refuse({ErrorKind::kInvalid, name + ", is no folder. Name another"});
  const fs::path path = folder / name_of(key);
  if (auto there = ListMemory::map_file(path, ListImage(key))) return *there;
  const UniqueFd lock = lock_of(folder);
  TorchGenerator generator(key.seed);
  auto memory = compute(key, generator, release);
  if (lock.is_open()) save(path, *memory);
  auto published = ListMemory::map_file(path, ListImage(key));  // our file, or the lock holder's
  return published ? *published : memory;
}

// Holds the lists that this process uses, so that it computes or maps each list once.
class ListCache {
 public:
  IndexList get(const ListKey& key, TorchRelease release, const std::string& folder) {
    const std::scoped_lock guard(mutex_);
    auto& slot = lists_[{key, folder}];
    auto memory = slot.lock();
    if (memory == nullptr) {
      TorchGenerator generator(key.seed);
      memory = folder.empty() ? compute(key, generator, release) : from_folder(key, release, folder);
      slot = memory;
    }
    std::erase_if(lists_, [](const auto& item) { return item.second.expired(); });
    return list_in(memory);
  }

 private:
  // A thread holds mutex_ while it computes a list, so that other threads of the process wait for the list
  // and do not compute it again.
  std::mutex mutex_;
  std::map<std::pair<ListKey, std::string>, std::weak_ptr<ListMemory>> lists_;
};

ListKey key_of(std::uint64_t size, std::uint64_t seed, TorchRelease release) {
  return {
      .size = size, .seed = static_cast<std::uint32_t>(seed), .is_inside_out = is_inside_out(size, release)};
}

}  // namespace

IndexList torch_list(std::uint64_t size, std::uint64_t seed, TorchRelease release,
                     const std::string& folder) {
  static const NeverDestroyed<ListCache> shelf;
  return shelf->get(key_of(size, seed, release), release, folder);
}

}  // namespace data

namespace {

class KeptLists : public IndexLists {
 public:
  explicit KeptLists(std::string folder) : folder_(std::move(folder)) {}

  IndexList randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release) override {
    return data::torch_list(size, seed, release, folder_);
  }

 private:
  std::string folder_;
};

}  // namespace

std::shared_ptr<IndexLists> kept_lists(const std::string& folder) {
  return std::make_shared<KeptLists>(folder);
}

IndexList torch_randperm(std::uint64_t size, TorchGenerator& generator, TorchRelease release) {
  return data::list_in(data::compute(data::key_of(size, generator.seed(), release), generator, release));
}

}  // namespace ratoon
