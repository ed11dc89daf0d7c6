// A loader's batches as lists that can be compared.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <ratoon/data_loader.h>

#include "tests/support/numbers_dataset.h"

namespace ratoon::test {

// A row as training sees it.
struct SeenRow {
  Slot slot;
  std::uint64_t id = 0;
  std::vector<std::byte> bytes;  // of all other columns

  friend bool operator==(const SeenRow&, const SeenRow&) = default;
};

inline std::vector<SeenRow> rows_of(const Batch& batch) {
  std::vector<SeenRow> rows;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    SeenRow row{.slot = batch.slots()[i], .id = batch.column("id").row(i).as<std::uint64_t>()};
    for (const BatchColumn& column : batch.columns()) {
      const auto bytes = column.row(i).bytes;
      row.bytes.insert(row.bytes.end(), bytes.begin(), bytes.end());
    }
    if (row.id != row.slot.sample)
      throw std::logic_error("a row that is not its slot's: " + std::to_string(row.id));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Takes the next `batches` batches and trains each.
inline std::vector<SeenRow> train(DataLoader& loader, std::uint64_t batches) {
  std::vector<SeenRow> all;
  for (; batches > 0; --batches) {
    const Batch batch = loader.next();
    for (SeenRow& row : rows_of(batch)) all.push_back(std::move(row));
    loader.advance(batch);
  }
  return all;
}

inline std::vector<Slot> slots_of(const std::vector<SeenRow>& rows) {
  std::vector<Slot> slots;
  for (const SeenRow& row : rows) slots.push_back(row.slot);
  return slots;
}

// The stream's samples of slots [first, last).
inline std::vector<Slot> canonical(const Stream& stream, std::uint64_t first, std::uint64_t last) {
  std::vector<Slot> slots(last - first);
  stream.reader().fill(first, slots);
  return slots;
}

// Draws ten numbers for each sample, and puts their sum behind its row.
inline void add_draws(Sample& sample, SampleRandom& random) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += random.next_u32();
  const Field row = sample.field(1);
  const std::uint64_t shape[] = {row.bytes.size() / 4 + 1};
  const auto longer = sample.replace(1, ElementType::kUint32, shape);
  std::memcpy(longer.data(), row.bytes.data(), row.bytes.size());
  std::memcpy(longer.data() + row.bytes.size(), &sum, sizeof sum);
}

}  // namespace ratoon::test
