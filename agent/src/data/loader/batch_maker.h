// BatchMaker makes one batch: it finds the batch's slots, reads their samples and fills the columns.
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
#include <mutex>
#include <optional>
#include <vector>

#include "agent/src/data/loader/body_pool.h"
#include "agent/src/data/loader/loader_plan.h"

namespace ratoon::data {

// The row shape of each column in the last finished batch, which the rows of the next batch are expected to
// have. Thread contract: any thread may call.
class ExpectedRows {
 public:
  explicit ExpectedRows(const std::vector<Column>& columns);
  [[nodiscard]] std::vector<std::optional<RowShape>> get() const;
  void set(std::vector<std::optional<RowShape>> rows);

 private:
  mutable std::mutex mutex_;
  std::vector<std::optional<RowShape>> rows_;  // guarded by mutex_
};

class BatchMaker {
 public:
  // `reading`, `expected` and `pool` must outlive the BatchMaker.
  BatchMaker(const LoaderInput& reading, ExpectedRows& expected, BodyPool& pool,
             std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t index);
  ~BatchMaker();

  [[nodiscard]] const std::shared_ptr<LoaderPlan>& loader_plan() const { return loader_plan_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }

  // Finds the samples of the batch and sends hints about them to the data sets. If the batch replaces a
  // failed batch, sends no hints: those of the failed batch stay valid. finish() reports errors.
  void plan() noexcept;
  // Call replace() before plan() if this batch replaces a failed batch: the hints that were sent for the
  // failed batch then stay valid.
  void replace(BatchMaker& failed);
  // Withdraws the hints about the samples of this batch, because the batch was made or discarded.
  void expect_no_more() noexcept;
  // Valid after plan().
  [[nodiscard]] std::size_t pieces() const { return pieces_; }
  // Reads the rows of one piece of the batch; stops early if loader_plan() was stopped.
  void make(std::size_t piece, Sample& sample) noexcept;
  // Call finish() after all pieces were made. Returns the exception of the first row that failed, or null if
  // the batch is complete.
  [[nodiscard]] std::exception_ptr finish() noexcept;

  // Call take() only after finish() has returned null.
  [[nodiscard]] std::shared_ptr<const BatchBody> take() { return std::move(made_); }

 private:
  void find_slots();
  void expect_samples() noexcept;
  void read_model(Sample& sample);
  void begin_body_once();
  void begin_body();
  void describe_body();
  template <class Use>
  void read_sample(const Slot& slot, Sample& sample, Use use);
  void fail(std::size_t row, std::exception_ptr failure);
  [[nodiscard]] std::size_t first_row_of(std::size_t piece) const;

  const LoaderInput& reading_;
  ExpectedRows& expected_;
  BodyPool& pool_;
  const std::shared_ptr<LoaderPlan> loader_plan_;
  const std::uint64_t index_;
  std::vector<Slot> slots_;
  std::size_t pieces_ = 0;
  // If this rank has no rows in the batch, and the data set declares no shapes: the slot whose sample is read
  // to learn the shapes of the columns.
  std::optional<Slot> model_;
  std::vector<std::optional<RowShape>> model_rows_;

  std::mutex expecting_;
  // The mutex expecting_ guards two members: the sample ids for which hints were sent, by source, and whether
  // the batch is no longer needed.
  std::vector<std::vector<std::uint64_t>> expected_ids_;
  bool is_given_up_ = false;

  // The body (the batch's data) is created when the first row is read, so a batch that is planned but not
  // read takes no memory.
  std::unique_ptr<BatchBody> body_;
  std::vector<ColumnMaker> columns_;
  std::shared_ptr<const BatchBody> made_;

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> failed_row_{kNone};  // rows after it need not be read
  std::mutex mutex_;
  bool is_begun_ = false;       // whether the body is created; guarded by mutex_
  std::exception_ptr failure_;  // of failed_row_; guarded by mutex_
};

}  // namespace ratoon::data
