#include "agent/src/data/order/torch/torch_list_memory.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ratoon/failure.h>

#include "base/contract/exit_code.h"
#include "base/core/unique_fd.h"

namespace ratoon::data {
namespace {

template <class Number>
std::span<Number> numbers_in(const IndexListLayout& image, std::span<std::byte> memory) {
  const auto bytes = image.numbers_in(memory);
  return {reinterpret_cast<Number*>(bytes.data()), bytes.size() / sizeof(Number)};
}

template <class Number>
void write_inverse(std::span<const Number> numbers, std::span<Number> places) {
  for (std::size_t place = 0; place < numbers.size(); ++place)
    places[numbers[place]] = static_cast<Number>(place);
}

}  // namespace

IndexListMemory::IndexListMemory(const IndexListLayout& image, std::span<std::byte> pages,
                                 std::filesystem::path path, UniqueFd file)
    : layout_(image),
      bytes_(pages),
      file_(std::move(file)),
      path_(std::move(path)),
      is_checked_(path_.empty() ? 0 : image.block_count()) {}

IndexListMemory::~IndexListMemory() {
  ::munmap(bytes_.data(), bytes_.size());
}

// Asks the kernel for huge pages, because a shuffle accesses its list in random order: with pages of 4 KiB,
// most of the time would be spent on TLB misses.
std::shared_ptr<IndexListMemory> IndexListMemory::allocate(const IndexListLayout& image) {
  void* pages = ::mmap(nullptr, image.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  ::madvise(pages, image.bytes(), MADV_HUGEPAGE);
  return std::make_shared<IndexListMemory>(image, std::span(static_cast<std::byte*>(pages), image.bytes()),
                                           std::filesystem::path(), UniqueFd());
}

Result<std::shared_ptr<IndexListMemory>> IndexListMemory::map_file(const std::filesystem::path& path,
                                                                   const IndexListLayout& image) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return system_error(errno, "opening " + path.string());
  // Another process holds the exclusive lock only while it removes the file. A file system without locks does
  // not keep the list from being read.
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Error(ErrorKind::kNotFound, path.string() + " is being removed");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return system_error(errno, "looking at " + path.string());
  if (status.st_nlink == 0) return Error(ErrorKind::kNotFound, path.string() + " was removed");
  if (static_cast<std::uint64_t>(status.st_size) != image.bytes()) {
    return Error(ErrorKind::kCorrupted, path.string() + ": expected " + std::to_string(image.bytes()) +
                                            " bytes and found " + std::to_string(status.st_size));
  }
  void* pages = ::mmap(nullptr, image.bytes(), PROT_READ, MAP_SHARED, file.get(), 0);
  if (pages == MAP_FAILED) return system_error(errno, "mapping " + path.string());
  auto memory = std::make_shared<IndexListMemory>(
      image, std::span(static_cast<std::byte*>(pages), image.bytes()), path, std::move(file));
  if (auto header = image.check_header(memory->bytes()); !header)
    return header.error().with_context(path.string());
  return memory;
}

void IndexListMemory::check(std::uint64_t place) const {
  const std::size_t block = layout_.block_of(place);
  if (is_checked_[block].load(std::memory_order_acquire)) return;
  if (const auto checked = layout_.check_block(bytes_, block); !checked) {
    const std::string damage =
        "the list of samples in " + path_.string() + " is damaged: " + checked.error().message() + ". ";
    // Remove the damaged file, because the next start would find the same damage.
    if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
      throw Failure(static_cast<int>(ExitCode::kStorage),
                    damage + system_error(errno, "removing it").message() +
                        ". Remove the file, or use another folder for lists, and start again");
    }
    throw Failure(static_cast<int>(ExitCode::kStartAgain),
                  damage + "The file was removed, and the next start creates it again");
  }
  is_checked_[block].store(true, std::memory_order_release);
}

std::uint64_t IndexListMemory::place_of(std::uint64_t number) const {
  const MutexLock guard(mutex_);
  if (inverse_ == nullptr) inverse_ = invert();
  if (layout_.bytes_per_number() == 4) return numbers_in<std::uint32_t>(layout_, inverse_->bytes_)[number];
  return numbers_in<std::uint64_t>(layout_, inverse_->bytes_)[number];
}

std::shared_ptr<IndexListMemory> IndexListMemory::invert() const {
  const std::uint64_t block_numbers = IndexListLayout::kBlockBytes / layout_.bytes_per_number();
  for (std::size_t block = 0; is_file_mapping() && block < layout_.block_count(); ++block)
    check(block * block_numbers);
  auto inverse = allocate(layout_);
  if (layout_.bytes_per_number() == 4) {
    write_inverse<std::uint32_t>(numbers_in<std::uint32_t>(layout_, bytes_),
                                 numbers_in<std::uint32_t>(layout_, inverse->bytes_));
  } else {
    write_inverse<std::uint64_t>(numbers_in<std::uint64_t>(layout_, bytes_),
                                 numbers_in<std::uint64_t>(layout_, inverse->bytes_));
  }
  return inverse;
}

IndexList index_list_of(std::shared_ptr<IndexListMemory> memory) {
  const bool needs_checks = memory->is_file_mapping();
  const IndexListLayout& image = memory->image();
  if (image.bytes_per_number() == 4) {
    const std::span<const std::uint32_t> numbers = numbers_in<std::uint32_t>(image, memory->bytes());
    return {std::move(memory), numbers, needs_checks};
  }
  const std::span<const std::uint64_t> numbers = numbers_in<std::uint64_t>(image, memory->bytes());
  return {std::move(memory), numbers, needs_checks};
}

}  // namespace ratoon::data
