// TorchGenerator and torch_randperm: exactly the random numbers and permutations of PyTorch on the CPU,
// without a dependency on LibTorch. With PyTorch's numbers, a run that began in Python continues in the same
// sample order.
//
//   ratoon::TorchGenerator generator(17);  // torch.Generator().manual_seed(17)
//   const ratoon::IndexList order = ratoon::torch_randperm(60000, generator);
//   load(order[0]);
//
// docs/reference/torch_order.md states the algorithms. tests/unit/agent/data/golden has results of PyTorch
// for comparison.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ratoon {

// PyTorch 2.6 changed torch.randperm for sizes of at least 214,748,364. For sizes below 214,748,364, all
// releases of PyTorch give equal results.
enum class TorchRelease { kBefore2_6, kSince2_6 };

// Returns the name of the PyTorch release in saved states: "torch-legacy" or "torch-2.6+".
[[nodiscard]] std::string_view name_of(TorchRelease release);

// Gives the same numbers as torch.Generator on the CPU: the MT19937 engine, which uses the low 32 bits of its
// 64-bit seed.
class TorchGenerator {
 public:
  static constexpr std::uint64_t kSeedOfNewGenerators = 67280421310721;
  static constexpr std::size_t kStateBytes = 5056;

  // If the Python program had a negative seed, pass it modulo 2^64: static_cast<std::uint64_t>(-5).
  explicit TorchGenerator(std::uint64_t seed = kSeedOfNewGenerators);

  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // random() returns the next 32-bit number. random64() combines the next two numbers; the first is the high
  // half.
  std::uint32_t random();
  std::uint64_t random64();
  // Returns the next 63-bit number, as torch.empty((), dtype=torch.int64).random_() draws it for a seed.
  std::uint64_t draw_seed();
  void fill(std::span<std::uint32_t> numbers);
  void discard(std::uint64_t numbers);

  // Returns the state in the format of torch.Generator.get_state(). A cached normally distributed number in a
  // state from PyTorch is dropped, because samplers do not draw normal numbers.
  [[nodiscard]] std::string state() const;
  // Creates a generator from the bytes of get_state(). Throws Failure if the bytes are not a state of
  // torch.Generator.
  [[nodiscard]] static TorchGenerator from_state(std::string_view bytes);

  // Whether both generators have the same state and therefore give the same numbers.
  friend bool operator==(const TorchGenerator& one, const TorchGenerator& other);

 private:
  static constexpr std::uint32_t kWords = 624;

  void make_words();

  std::uint64_t seed_;
  std::array<std::uint32_t, kWords> words_{};
  std::uint32_t used_words_ = kWords;  // of words_; kWords: the next number makes new ones
  bool is_fresh_ = true;               // no number was drawn yet; get_state() has a different form then
};

// An immutable list of numbers. Each number of the list takes 4 bytes if all numbers are below 2^32,
// otherwise 8 bytes. Copies of an IndexList share one array.
class IndexList {
 public:
  // Owns the numbers of a list. If the numbers are from a file, the owner checks them before their first use.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Throws Failure if the number at `place` was damaged in the file.
    virtual void check(std::uint64_t place) const = 0;
    // Returns the place of a number in a permutation. Throws Failure if numbers of the list were damaged in
    // the file. Any thread may call this function.
    [[nodiscard]] virtual std::uint64_t place_of(std::uint64_t number) const = 0;
  };

  IndexList() = default;
  IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint32_t> numbers, bool needs_checks);
  IndexList(std::shared_ptr<const Owner> owner, std::span<const std::uint64_t> numbers, bool needs_checks);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes() const { return size_ * (numbers64_ != nullptr ? 8 : 4); }
  // Returns a pointer that is equal for copies of one list.
  [[nodiscard]] const void* identity() const { return owner_.get(); }

  // `place` must be below size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const {
    if (needs_checks_) owner_->check(place);
    return numbers64_ != nullptr ? numbers64_[place] : numbers32_[place];
  }

  // For a permutation, returns the place of `number`, which must be below size(). The first place_of()
  // creates a table of all places, as large as the list. Copies of the list share this table of places.
  [[nodiscard]] std::uint64_t place_of(std::uint64_t number) const { return owner_->place_of(number); }

 private:
  std::shared_ptr<const Owner> owner_;
  const std::uint32_t* numbers32_ = nullptr;
  const std::uint64_t* numbers64_ = nullptr;
  std::uint64_t size_ = 0;
  bool needs_checks_ = false;
};

// Returns the result of torch.randperm(size, generator=generator). After torch_randperm(), `generator` has
// the same state as PyTorch's generator after torch.randperm().
[[nodiscard]] IndexList torch_randperm(std::uint64_t size, TorchGenerator& generator,
                                       TorchRelease release = TorchRelease::kSince2_6);

// Creates permutations and caches them, because a large permutation takes long to create. Thread contract:
// any thread may call any function.
class IndexLists {
 public:
  virtual ~IndexLists() = default;
  // Returns the result of torch.randperm(size) with a generator that is seeded with `seed`.
  [[nodiscard]] virtual IndexList randperm(std::uint64_t size, std::uint64_t seed, TorchRelease release) = 0;
};

// Returns an object that creates lists and shares one copy of each list in this process while the list is in
// use. If `folder` is given, each list is also stored in a file in this folder, which must exist. Processes
// of a machine share these files. A restarted process maps the files instead of computing the lists again.
[[nodiscard]] std::shared_ptr<IndexLists> kept_lists(const std::string& folder = {});

}  // namespace ratoon
