// BatchBodyPool reuses the memory and the ColumnMakers of a batch after the batch's last handle was
// destroyed. Any thread may destroy a handle.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "agent/src/data/loader/batch_body.h"
#include "agent/src/data/loader/column_maker.h"
#include "base/core/threads/mutex.h"

namespace ratoon::data {

class BatchBodyPool : public std::enable_shared_from_this<BatchBodyPool> {
 public:
  explicit BatchBodyPool(std::size_t free_bodies_max);

  // Returns a body (the data of a batch) to be filled. A reused body still has the columns of its last
  // batch.
  [[nodiscard]] std::unique_ptr<BatchBody> get();
  void put(std::unique_ptr<BatchBody> body);
  // Returns a handle of a filled batch body. The body returns to the pool when the last copy of the handle is
  // destroyed; if the pool no longer exists, the body is freed.
  [[nodiscard]] std::shared_ptr<const BatchBody> make_handle(std::unique_ptr<BatchBody> body);

  // Returns the ColumnMakers for the columns of one batch.
  [[nodiscard]] std::vector<ColumnMaker> get_column_makers();
  void put(std::vector<ColumnMaker> makers);

 private:
  const std::size_t free_bodies_max_;
  Mutex mutex_;
  // The following vectors never grow beyond their reserved capacity.
  std::vector<std::unique_ptr<BatchBody>> free_bodies_ RATOON_GUARDED_BY(mutex_);
  std::vector<std::vector<ColumnMaker>> free_column_makers_ RATOON_GUARDED_BY(mutex_);
};

}  // namespace ratoon::data
