// BatchMaker: one batch on its way, from slots to columns.
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
#include "agent/src/data/loader/course.h"

namespace ratoon::data {

// What the rows of each column were in the batch that was finished last; any thread.
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
  // The first three outlive it.
  BatchMaker(const Reading& reading, ExpectedRows& expected, BodyPool& pool, std::shared_ptr<Course> course,
             std::uint64_t index);
  ~BatchMaker();

  [[nodiscard]] const std::shared_ptr<Course>& course() const { return course_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }

  // Which samples the batch is of, and tells the data sets, unless they were told for the one that it is made
  // in place of. Nothing is thrown: failures are those of the batch, but for those of hints, which are none.
  void plan() noexcept;
  // Before plan(): this one is made in place of one that failed. What data sets expect for it keeps its turn.
  void replace(BatchMaker& failed);
  // Nobody wants it any more, or it is made: data sets need not keep what they were told for it.
  void expect_no_more() noexcept;
  // After plan().
  [[nodiscard]] std::size_t pieces() const { return pieces_; }
  // Reads the rows of a piece, until the course is stopped.
  void make(std::size_t piece, Sample& sample) noexcept;
  // After all pieces. What failed first, in the order of rows, is what failed; nothing if the batch is good.
  [[nodiscard]] std::exception_ptr finish() noexcept;

  // After finish() without a failure.
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

  const Reading& reading_;
  ExpectedRows& expected_;
  BodyPool& pool_;
  const std::shared_ptr<Course> course_;
  const std::uint64_t index_;
  std::vector<Slot> slots_;
  std::size_t pieces_ = 0;
  // Of a share without rows, where nothing is declared: the slot whose sample says what they would be.
  std::optional<Slot> model_;
  std::vector<std::optional<RowShape>> model_rows_;

  std::mutex expecting_;
  // Guarded by expecting_: what data sets were told, by source, and whether there is nobody to tell it for.
  std::vector<std::vector<std::uint64_t>> expected_ids_;
  bool is_given_up_ = false;

  // Only with the first row: batches that are planned and not read yet hold no memory.
  std::unique_ptr<BatchBody> body_;
  std::vector<ColumnMaker> columns_;
  std::shared_ptr<const BatchBody> made_;

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::atomic<std::size_t> failed_row_{kNone};  // rows after it need not be read
  std::mutex mutex_;
  bool is_begun_ = false;       // the body; guarded by mutex_
  std::exception_ptr failure_;  // of failed_row_; guarded by mutex_
};

}  // namespace ratoon::data
