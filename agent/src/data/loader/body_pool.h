// BodyPool reuses the memory and the ColumnMakers of a batch after the batch's last handle was destroyed, on
// any thread.
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

  // Returns a body (the data of a batch) to be filled. A reused body still has the columns of the batch that
  // it held last.
  [[nodiscard]] std::unique_ptr<BatchBody> get();
  void put(std::unique_ptr<BatchBody> body);
  // Returns a handle of a filled body. The body returns to the pool when the last copy of the handle is
  // destroyed; if the pool no longer exists, the body is freed.
  [[nodiscard]] std::shared_ptr<const BatchBody> lend(std::unique_ptr<BatchBody> body);

  // Returns the ColumnMakers for the columns of one batch.
  [[nodiscard]] std::vector<ColumnMaker> get_makers();
  void put(std::vector<ColumnMaker> makers);

 private:
  const std::size_t spares_max_;
  std::mutex mutex_;
  // mutex_ guards the following vectors, which never grow beyond their reserved capacity.
  std::vector<std::unique_ptr<BatchBody>> spares_;
  std::vector<std::vector<ColumnMaker>> makers_;
};

}  // namespace ratoon::data
