// TorchGenerator and torch_randperm: the random numbers and permutations that PyTorch makes on the CPU, bit
// for bit and without LibTorch. With PyTorch's numbers, a run begun in Python continues in the same order.
//
//   ratoon::TorchGenerator generator(17);  // torch.Generator().manual_seed(17)
//   const ratoon::IndexList order = ratoon::torch_randperm(60000, generator);
//   load(order[0]);
//
// docs/reference/torch_order.md has the rules; tests/unit/agent/data/golden has PyTorch's own results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// PyTorch 2.6 changed randperm for sizes of at least 214,748,364; below, all releases give equal results.
enum class TorchRelease { kBefore2_6, kSince2_6 };

// Returns "torch-legacy" or "torch-2.6+", the name of the release in saved states.
[[nodiscard]] std::string_view name_of(TorchRelease release);

// torch.Generator on the CPU: the MT19937 engine, which uses only the low 32 bits of its 64-bit seed.
class TorchGenerator {
 public:
  static constexpr std::uint64_t kSeedOfNewGenerators = 67280421310721;
  static constexpr std::size_t kStateBytes = 5056;

  // Pass a negative seed of Python modulo 2^64: static_cast<std::uint64_t>(-5).
  explicit TorchGenerator(std::uint64_t seed = kSeedOfNewGenerators);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // random() returns the next number. random64() combines the next two, the high half first.
  std::uint32_t random();
  std::uint64_t random64();
  // The 63-bit number that PyTorch draws by torch.empty((), dtype=torch.int64).random_() for a seed.
  std::uint64_t draw_seed();
  void fill(std::span<std::uint32_t> numbers);
  void discard(std::uint64_t numbers);

  // Returns the bytes of PyTorch's get_state(). Cached normal numbers in a state from PyTorch are not kept,
  // because no sampler draws them.
  [[nodiscard]] std::string state() const;
  // Throws Failure if the bytes are no state of a torch.Generator.
  [[nodiscard]] static TorchGenerator from_state(std::string_view bytes);

  // Whether both generators will give the same numbers.
  friend bool operator==(const TorchGenerator& one, const TorchGenerator& other);

 private:
  static constexpr std::uint32_t kWords = 624;

  void make_words();

  std::uint64_t seed_;
  std::array<std::uint32_t, kWords> words_{};
  std::uint32_t used_ = kWords;  // of words_; kWords: the next number makes new ones
  bool is_fresh_ = true;         // no number was drawn yet; get_state() has a different form then
};

// A list of numbers, of 4 bytes each if all are below 2^32, otherwise of 8. Copies share the numbers, which
// never change.
class IndexList {
 public:
  // Keeps the numbers alive, and checks those that were read from a file before they are used.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Throws Failure if the number at this place is not the number that was written.
    virtual void check(std::uint64_t place) const = 0;
    // The place of a number in a permutation. May be called from any thread. Throws like check().
    [[nodiscard]] virtual std::uint64_t place_of(std::uint64_t number) const = 0;
  };

  IndexList() = default;
  IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint32_t> numbers, bool needs_checks);
  IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint64_t> numbers, bool needs_checks);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes() const { return size_ * (wide_ != nullptr ? 8 : 4); }
  // The result is equal for lists that share their numbers.
  [[nodiscard]] const void* identity() const { return owner_.get(); }

  // `place` is below size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const {
    if (needs_checks_) owner_->check(place);
    return wide_ != nullptr ? wide_[place] : narrow_[place];
  }

  // The place that holds this number, which is below size(). The first call makes a table of all places, as
  // large as the list; lists that share their numbers share the table.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t number) const { return owner_->place_of(number); }

 private:
  std::shared_ptr<const Owner> owner_;
  const std::uint32_t* narrow_ = nullptr;
  const std::uint64_t* wide_ = nullptr;
  std::uint64_t size_ = 0;
  bool needs_checks_ = false;
};

// torch.randperm(size, generator=generator). The generator advances as PyTorch's does.
[[nodiscard]] IndexList torch_randperm(std::uint64_t size, TorchGenerator& generator,
                                       TorchRelease release = TorchRelease::kSince2_6);

// Provides lists (permutations) that are too large to be made twice. Thread contract: any thread.
class IndexLists {
 public:
  virtual ~IndexLists() = default;
  // Returns torch.randperm(size) of a generator with this seed.
  [[nodiscard]] virtual IndexList randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release) = 0;
};

// Provides lists and keeps one copy of each list in this process while it is in use. If `folder` is given,
// which must exist, each list is also stored in a file. The processes of a machine share the file, and a
// restarted process maps it at once.
[[nodiscard]] std::shared_ptr<IndexLists> kept_lists(const std::string& folder = {});

}  // namespace ratoon
