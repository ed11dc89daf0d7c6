// BodyPool: reuses the memory of batches after their last handle is destroyed, on any thread, and the makers
// of their columns.
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

  // Returns a body with the columns of its last use.
  [[nodiscard]] std::unique_ptr<BatchBody> get();
  void put(std::unique_ptr<BatchBody> body);
  // The body returns to the pool when its last handle is destroyed. If the pool no longer exists, the body is
  // freed.
  [[nodiscard]] std::shared_ptr<const BatchBody> lend(std::unique_ptr<BatchBody> body);

  // The makers for the columns of one batch.
  [[nodiscard]] std::vector<ColumnMaker> get_makers();
  void put(std::vector<ColumnMaker> makers);

 private:
  const std::size_t spares_max_;
  std::mutex mutex_;
  // The members below are guarded by mutex_ and never exceed their reserved size.
  std::vector<std::unique_ptr<BatchBody>> spares_;
  std::vector<std::vector<ColumnMaker>> makers_;
};

}  // namespace ratoon::data
