// BatchMaker makes one batch: it finds the batch's slots (positions in the stream), reads the samples of the
// slots, and fills the columns of the batch.
//
//   maker.plan();                                                 // one thread
//   for each piece: maker.make(piece, sample);                    // any threads
//   maker.finish();                                               // one thread, after all pieces
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "agent/src/data/loader/batch_body_pool.h"
#include "agent/src/data/loader/loader_plan.h"
#include "base/core/threads/mutex.h"

namespace ratoon::data {

// The row shape of each column in the last finished batch. The loader expects the rows of the next batch to
// have the same shapes. Thread contract: any thread may call any function.
class ExpectedRowShapes {
 public:
  explicit ExpectedRowShapes(const std::vector<Column>& columns);
  [[nodiscard]] std::vector<std::optional<RowShape>> get() const;
  void set(std::vector<std::optional<RowShape>> rows);

 private:
  mutable Mutex mutex_;
  std::vector<std::optional<RowShape>> shapes_ RATOON_GUARDED_BY(mutex_);
};

class BatchMaker {
 public:
  // `reading`, `expected` and `pool` must outlive the BatchMaker.
  BatchMaker(const LoaderInput& reading, ExpectedRowShapes& expected, BatchBodyPool& pool,
             std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t index);
  ~BatchMaker();

  [[nodiscard]] const std::shared_ptr<LoaderPlan>& loader_plan() const { return loader_plan_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }

  // Finds the samples of the batch and sends hints about them to the data sets. If the batch replaces a
  // failed batch, sends no hints: the failed batch's hints stay valid. finish() reports errors.
  void plan() noexcept;
  // Call take_over_read_hints() before plan() if this batch replaces a failed batch: the hints that were sent
  // for the failed batch then stay valid.
  void take_over_read_hints(BatchMaker& failed);
  // Withdraws the hints about the samples of this batch, because the batch was made or discarded.
  void withdraw_read_hints() noexcept;
  // Valid after plan().
  [[nodiscard]] std::size_t piece_count() const { return piece_count_; }
  // Reads the rows of one piece of the batch; ends early if a stop was requested through loader_plan()->stop.
  void make(std::size_t piece, Sample& sample) noexcept;
  // Call finish() after all pieces were made. Returns the exception of the first row that failed, or null if
  // the batch is complete.
  [[nodiscard]] std::exception_ptr finish() noexcept;

  // Call take() only after finish() has returned null.
  [[nodiscard]] std::shared_ptr<const BatchBody> take() { return std::move(finished_body_); }

 private:
  void find_slots();
  void send_read_hints() noexcept;
  void probe_row_shapes(Sample& sample);
  void acquire_body_once();
  void acquire_body() RATOON_REQUIRES(mutex_);
  void fill_batch_metadata();
  template <class Use>
  void read_sample(const Slot& slot, Sample& sample, Use use);
  void record_failure(std::size_t row, std::exception_ptr failure);
  [[nodiscard]] std::size_t first_row_of(std::size_t piece) const;

  const LoaderInput& loader_input_;
  ExpectedRowShapes& expected_shapes_;
  BatchBodyPool& pool_;
  const std::shared_ptr<LoaderPlan> loader_plan_;
  const std::uint64_t index_;
  std::vector<Slot> slots_;
  std::size_t piece_count_ = 0;
  // The sample of this slot is read only to learn the shapes of the columns. The slot is set if this rank has
  // no rows in the batch and the data set declares no shapes.
  std::optional<Slot> shape_probe_slot_;
  std::vector<std::optional<RowShape>> probed_shapes_;

  Mutex hints_mutex_;
  // For each source, the sample ids for which hints were sent; and whether these hints were withdrawn.
  std::vector<std::vector<std::uint64_t>> hinted_ids_ RATOON_GUARDED_BY(hints_mutex_);
  bool are_hints_withdrawn_ RATOON_GUARDED_BY(hints_mutex_) = false;

  // The body (the batch's data) is created when the first row is read, so a batch that is planned but not
  // read takes no memory. One thread creates it with mutex_ locked; after acquire_body_once(), each thread
  // writes its own rows without the lock.
  std::unique_ptr<BatchBody> body_;
  std::vector<ColumnMaker> columns_;
  std::shared_ptr<const BatchBody> finished_body_;

  static constexpr std::size_t kNoFailedRow = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> failed_row_{kNoFailedRow};  // rows after it need not be read
  Mutex mutex_;
  bool is_body_acquired_ RATOON_GUARDED_BY(mutex_) = false;  // whether the body is created
  std::exception_ptr failure_ RATOON_GUARDED_BY(mutex_);     // of failed_row_
};

}  // namespace ratoon::data
