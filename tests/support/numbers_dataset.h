// A data set of any size whose samples are computed: their number, and a row that follows from it. A test can
// insert an action at a read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <ratoon/dataset.h>
#include <ratoon/stream.h>

namespace ratoon::test {

class NumbersDataset : public Dataset {
 public:
  explicit NumbersDataset(std::uint64_t size, std::function<void(std::uint64_t, Sample&)> at_read = nullptr)
      : size_(size), at_read_(std::move(at_read)) {}

  std::uint64_t size() const override { return size_; }
  std::span<const Column> columns() const override { return columns_; }
  std::string digest() const override { return "numbers " + std::to_string(size_); }
  void read(std::uint64_t id, Sample& into) const override {
    if (at_read_) at_read_(id, into);
    into.begin(id);
    std::memcpy(into.add(ElementType::kUint64, {}).data(), &id, sizeof id);
    const std::array<std::uint32_t, 3> row = row_of(id);
    std::memcpy(into.add(ElementType::kUint32, *columns_[1].shape).data(), row.data(), sizeof row);
  }
  void expect(std::span<const std::uint64_t> ids) const override {
    const std::lock_guard lock(mutex_);
    expected_.insert(expected_.end(), ids.begin(), ids.end());
    hints_.emplace_back(ids.begin(), ids.end());
  }
  void expect_no_more(std::span<const std::uint64_t> ids) const override {
    const std::lock_guard lock(mutex_);
    const auto hint = std::find(hints_.begin(), hints_.end(), std::vector(ids.begin(), ids.end()));
    if (hint == hints_.end()) throw std::logic_error("these were not expected");
    hints_.erase(hint);
    ++taken_back_;
  }

  static std::array<std::uint32_t, 3> row_of(std::uint64_t id) {
    const auto low = static_cast<std::uint32_t>(id);
    return {low, low * 7 + 1, static_cast<std::uint32_t>(id >> 32)};
  }
  // All ids of expect(), in order.
  std::vector<std::uint64_t> expected() const {
    const std::lock_guard lock(mutex_);
    return expected_;
  }
  // The expected ids that were not withdrawn, in order, and the number of withdrawn ids.
  std::vector<std::vector<std::uint64_t>> hints() const {
    const std::lock_guard lock(mutex_);
    return hints_;
  }
  std::uint64_t taken_back() const {
    const std::lock_guard lock(mutex_);
    return taken_back_;
  }

 private:
  std::uint64_t size_;
  std::function<void(std::uint64_t, Sample&)> at_read_;
  std::vector<Column> columns_{{.name = "id", .type = ElementType::kUint64, .shape = {{}}},
                               {.name = "row", .type = ElementType::kUint32, .shape = {{3}}}};
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  mutable std::vector<std::uint64_t> expected_;
  mutable std::vector<std::vector<std::uint64_t>> hints_;
  mutable std::uint64_t taken_back_ = 0;
};

// A data set of a size that no batch divides, and a stream over it.
inline constexpr std::uint64_t kNumbers = 103;

inline std::shared_ptr<NumbersDataset> numbers() {
  return std::make_shared<NumbersDataset>(kNumbers);
}

inline StreamOptions number_options() {
  return {.samples = kNumbers, .global_batch = 20, .seed = 5, .source = "numbers"};
}

}  // namespace ratoon::test
