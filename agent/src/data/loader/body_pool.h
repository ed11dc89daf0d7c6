// BodyPool: the memory of batches, used again when their last handle goes, on whatever thread that happens;
// and what their columns are made with.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "agent/src/data/loader/batch_body.h"
#include "agent/src/data/loader/column_maker.h"

namespace ratoon::data {

class BodyPool : public std::enable_shared_from_this<BodyPool> {
 public:
  explicit BodyPool(std::size_t spares_max);

  // With the columns that it had when it was used last.
  [[nodiscard]] std::unique_ptr<BatchBody> get();
  void put(std::unique_ptr<BatchBody> body);
  // Comes back when the last one lets it go; is freed then if the pool is gone.
  [[nodiscard]] std::shared_ptr<const BatchBody> lend(std::unique_ptr<BatchBody> body);

  // For the columns of one batch.
  [[nodiscard]] std::vector<ColumnMaker> get_makers();
  void put(std::vector<ColumnMaker> makers);

 private:
  const std::size_t spares_max_;
  std::mutex mutex_;
  // What follows: guarded by mutex_; never more than were reserved.
  std::vector<std::unique_ptr<BatchBody>> spares_;
  std::vector<std::vector<ColumnMaker>> makers_;
};

}  // namespace ratoon::data
