#include <algorithm>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>

#include <ratoon/failure.h>
#include <ratoon/torch/batch_tensor.h>
#include <ratoon/torch/device_dataset.h>

#include "agent/src/torch/data/samples_of.h"
#include "base/contract/exit_code.h"
#include "base/core/available_memory.h"

namespace ratoon::torch {
namespace {

// The number of bytes that are read at once, which is also the size of the host buffer from which the device
// copies.
constexpr std::uint64_t kReadPieceBytes = 64 << 20;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

// HeldColumn: a column whose rows are on the device.
struct HeldColumn {
  std::size_t number;
  const Column* column;
  std::size_t row_bytes;
};

std::vector<HeldColumn> held_columns(const Dataset& dataset, const DeviceDatasetOptions& options) {
  std::vector<HeldColumn> held;
  const auto add = [&](std::size_t number) {
    const Column& column = dataset.columns()[number];
    if (!column.shape)
      throw std::invalid_argument("the rows of column '" + column.name +
                                  "' differ in shape, and cannot be held as one tensor: name other columns "
                                  "in .columns, or give these rows one shape first");
    held.push_back({number, &column, bytes_of(column.type, *column.shape)});
  };
  if (options.columns.empty())
    for (std::size_t i = 0; i < dataset.columns().size(); ++i) add(i);
  for (const std::string& name : options.columns) add(dataset.column(name));
  return held;
}

std::uint64_t row_bytes_of(const std::vector<HeldColumn>& held) {
  return std::accumulate(held.begin(), held.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const HeldColumn& each) { return sum + each.row_bytes; });
}

std::uint64_t free_bytes_of(const at::Device& device) {
  if (device.is_cpu()) {
    const Result<std::uint64_t> available = available_memory();
    if (!available) refuse("the amount of free memory is not known: " + available.error().message());
    return *available;
  }
  const auto index = device.has_index() ? device.index() : at::accelerator::getDeviceIndex();
  auto* allocator = at::getDeviceAllocator(device.type());
  allocator->emptyCache();  // memory that LibTorch caches counts as free
  return allocator->getMemoryInfo(index).first;
}

// Reads the share of one thread: the rows from `begin` to before `end`. Each column of a row is written to
// the row's position in the tensor of the column.
void read_rows(const Dataset& dataset, const std::vector<HeldColumn>& held,
               const std::vector<std::byte*>& places, std::uint64_t first, std::uint64_t begin,
               std::uint64_t end) {
  Sample sample;
  for (std::uint64_t row = begin; row < end; ++row) {
    dataset.read(first + row, sample);
    for (std::size_t i = 0; i < held.size(); ++i) {
      const Field& field = sample.field(held[i].number);
      if (field.bytes.size() != held[i].row_bytes || field.type != held[i].column->type)
        refuse("sample " + std::to_string(first + row) + " has " + std::to_string(field.bytes.size()) +
               " bytes of " + std::string(name_of(field.type)) + " in column '" + held[i].column->name +
               "', but the data set says " + std::to_string(held[i].row_bytes) + " of " +
               std::string(name_of(held[i].column->type)));
      if (!field.bytes.empty())
        std::memcpy(places[i] + row * held[i].row_bytes, field.bytes.data(), field.bytes.size());
    }
  }
}

// Reads rows with several threads, beginning with row number `first`. If reading fails on several threads,
// throws the error of the thread that reads the lowest row numbers.
void read_piece(const Dataset& dataset, const std::vector<HeldColumn>& held,
                const std::vector<std::byte*>& places, std::uint64_t first, std::uint64_t rows,
                std::uint32_t threads) {
  std::vector<std::uint64_t> ids(rows);
  std::iota(ids.begin(), ids.end(), first);
  dataset.expect(ids);
  const std::uint64_t parts = std::clamp<std::uint64_t>(threads, 1, rows);
  std::vector<std::exception_ptr> errors(parts);
  {
    std::vector<std::jthread> readers;
    for (std::uint64_t part = 0; part < parts; ++part) {
      readers.emplace_back([&, part] {
        try {
          read_rows(dataset, held, places, first, rows * part / parts, rows * (part + 1) / parts);
        } catch (...) {
          errors[part] = std::current_exception();
        }
      });
    }
  }
  dataset.expect_no_more(ids);
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

std::vector<std::int64_t> sizes_of(std::uint64_t rows, const Column& column) {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(rows)};
  sizes.insert(sizes.end(), column.shape->begin(), column.shape->end());
  return sizes;
}

}  // namespace

DeviceNeed DeviceDataset::need_of(const Dataset& dataset, const DeviceDatasetOptions& options) {
  const std::uint64_t row_bytes = row_bytes_of(held_columns(dataset, options));
  const std::uint64_t rows[] = {dataset.size()};
  DeviceNeed need;
  if (row_bytes > 0) need.bytes = bytes_of(ElementType::kBytes, std::vector{rows[0], row_bytes});
  const std::uint64_t free = free_bytes_of(options.device);
  need.available = free - std::min(free, options.spare_bytes);
  need.sentence = "holding " + std::to_string(dataset.size()) + " samples of " + std::to_string(row_bytes) +
                  " bytes on " + options.device.str() + " takes " + std::to_string(need.bytes) +
                  " bytes, but " + std::to_string(need.available) + " are available";
  if (options.spare_bytes > 0)
    need.sentence += " besides the " + std::to_string(options.spare_bytes) + " bytes that must stay free";
  return need;
}

DeviceDataset::DeviceDataset(const Dataset& dataset, const DeviceDatasetOptions& options)
    : size_(dataset.size()), device_(options.device) {
  const DeviceNeed need = need_of(dataset, options);
  if (options.say) options.say(need.sentence);
  if (!need.fits()) refuse(need.sentence + ": hold a smaller part of the data set, or fewer columns");

  const std::vector<HeldColumn> held = held_columns(dataset, options);
  const std::uint64_t row_bytes = std::max<std::uint64_t>(row_bytes_of(held), 1);
  const std::uint64_t piece =
      std::clamp<std::uint64_t>(kReadPieceBytes / row_bytes, 1, std::max<std::uint64_t>(size_, 1));
  std::vector<at::Tensor> whole;
  std::vector<at::Tensor> staged;  // for a device other than the CPU
  for (const HeldColumn& each : held) {
    const at::TensorOptions type(scalar_type_of(each.column->type));
    whole.push_back(at::empty(sizes_of(size_, *each.column), type.device(device_)));
    if (!device_.is_cpu())
      staged.push_back(at::empty(sizes_of(piece, *each.column), type.pinned_memory(device_.is_cuda())));
    columns_.emplace(each.column->name, whole.back());
  }
  for (std::uint64_t first = 0; first < size_; first += piece) {
    const std::uint64_t rows = std::min(piece, size_ - first);
    std::vector<std::byte*> places;
    for (std::size_t i = 0; i < held.size(); ++i) {
      auto* begin = static_cast<std::byte*>((staged.empty() ? whole : staged)[i].mutable_data_ptr());
      places.push_back(staged.empty() ? begin + first * held[i].row_bytes : begin);
    }
    read_piece(dataset, held, places, first, rows, options.threads);
    const auto count = static_cast<std::int64_t>(rows);
    for (std::size_t i = 0; i < staged.size(); ++i)
      whole[i].narrow(0, static_cast<std::int64_t>(first), count).copy_(staged[i].narrow(0, 0, count));
  }
}

const at::Tensor& DeviceDataset::column(std::string_view name) const {
  if (const auto found = columns_.find(name); found != columns_.end()) return found->second;
  std::string names;
  for (const auto& [each, values] : columns_) names += (names.empty() ? "" : ", ") + each;
  throw std::invalid_argument("column '" + std::string(name) + "' is not held; the columns are: " + names);
}

at::Tensor DeviceDataset::index(std::span<const std::uint64_t> samples) const {
  at::Tensor index = at::empty({static_cast<std::int64_t>(samples.size())}, at::TensorOptions(at::kLong));
  auto* numbers = index.mutable_data_ptr<std::int64_t>();
  for (const std::uint64_t sample : samples) {
    if (sample >= size_)
      throw std::out_of_range("sample " + std::to_string(sample) + " is not among the " +
                              std::to_string(size_) + " samples that are held");
    *numbers++ = static_cast<std::int64_t>(sample);
  }
  return index.to(device_);
}

at::Tensor DeviceDataset::index(std::span<const Slot> slots) const {
  const std::vector<std::size_t> samples = sample_indices_of_one_source(slots);
  return index(std::vector<std::uint64_t>(samples.begin(), samples.end()));
}

at::Tensor DeviceDataset::index(std::span<const Slot> slots, const StreamReader& reader) const {
  const std::vector<std::size_t> samples = samples_of(reader, slots);
  return index(std::vector<std::uint64_t>(samples.begin(), samples.end()));
}

at::Tensor DeviceDataset::rows(std::string_view name, const at::Tensor& index) const {
  return column(name).index_select(0, index);
}

}  // namespace ratoon::torch
