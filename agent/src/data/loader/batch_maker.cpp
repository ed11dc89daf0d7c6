#include "agent/src/data/loader/batch_maker.h"

#include <algorithm>

#include "agent/src/data/loader/sample_failure.h"

namespace ratoon::data {

ExpectedRows::ExpectedRows(const std::vector<Column>& columns) {
  for (const Column& column : columns) rows_.push_back(declared_row_shape(column));
}

std::vector<std::optional<RowShape>> ExpectedRows::get() const {
  const std::lock_guard lock(mutex_);
  return rows_;
}

void ExpectedRows::set(std::vector<std::optional<RowShape>> rows) {
  const std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
}

BatchMaker::BatchMaker(const Reading& reading, ExpectedRows& expected, BodyPool& pool,
                       std::shared_ptr<Course> course, std::uint64_t index)
    : reading_(reading), expected_(expected), pool_(pool), course_(std::move(course)), index_(index) {}

BatchMaker::~BatchMaker() {
  if (body_ != nullptr) pool_.put(std::move(body_));
  if (!columns_.empty()) pool_.put(std::move(columns_));
}

void BatchMaker::plan() noexcept {
  try {
    find_slots();
    expect_samples();
  } catch (...) {
    fail(0, std::current_exception());
  }
}

void BatchMaker::find_slots() {
  const StreamReader& plan = course_->plan;
  const SlotRange share = share_of(plan.batch(index_), course_->rank, course_->world_size);
  slots_.resize(share.size());
  plan.fill(share.first, slots_);
  const std::size_t wanted = (slots_.size() + reading_.pieces_wanted - 1) / reading_.pieces_wanted;
  const std::size_t piece_rows = std::clamp<std::size_t>(wanted, 1, reading_.piece_rows_max);
  pieces_ = (slots_.size() + piece_rows - 1) / piece_rows;
}

void BatchMaker::expect_samples() const {
  std::vector<std::vector<std::uint64_t>> ids(reading_.sources.size());
  for (const Slot& slot : slots_) ids[slot.source].push_back(slot.sample);
  for (std::size_t source = 0; source < ids.size(); ++source) {
    if (!ids[source].empty()) reading_.sources[source]->expect(ids[source]);
  }
}

std::size_t BatchMaker::first_row_of(std::size_t piece) const {
  return slots_.size() * piece / pieces_;
}

void BatchMaker::begin_body_once() {
  const std::lock_guard lock(mutex_);
  if (is_begun_ || failure_ != nullptr) return;
  begin_body();
  is_begun_ = true;
}

void BatchMaker::begin_body() {
  auto expected = expected_.get();
  if (body_ == nullptr) body_ = pool_.get();
  columns_ = pool_.get_makers();
  body_->columns.resize(reading_.columns.size());
  columns_.resize(reading_.columns.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].begin(body_->columns[i], reading_.columns[i], std::move(expected[i]), slots_.size(), pieces_,
                      reading_.allocate);
  }
}

void BatchMaker::make(std::size_t piece, Sample& sample) noexcept {
  const std::stop_token stop = course_->stop.get_token();
  std::size_t row = 0;
  try {
    begin_body_once();
    row = first_row_of(piece);
    const std::size_t end = first_row_of(piece + 1);
    sample.set_stop(stop);
    for (; row < end && row < failed_row_.load(std::memory_order_relaxed); ++row) {
      if (stop.stop_requested()) return;
      read_row(row, piece, sample);
    }
  } catch (...) {
    if (!stop.stop_requested()) fail(row, std::current_exception());
  }
}

void BatchMaker::read_row(std::size_t row, std::size_t piece, Sample& sample) {
  const Slot& slot = slots_[row];
  const char* doing = "reading";
  try {
    reading_.sources[slot.source]->read(slot.sample, sample);
    if (reading_.augment) {
      doing = "augmenting";
      SampleRandom random = sample_random(course_->random_keys[slot.source], slot.epoch, slot.sample);
      reading_.augment(sample, random);
    }
    doing = "batching";
    if (sample.size() != columns_.size()) {
      throw std::logic_error("it has " + std::to_string(sample.size()) + " fields, and its data set has " +
                             std::to_string(columns_.size()) + " columns");
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].place(row, piece, sample.field(i));
  } catch (...) {
    throw_with_sample(doing, slot, course_->plan.source_name(slot.source));
  }
}

void BatchMaker::fail(std::size_t row, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (row >= failed_row_.load(std::memory_order_relaxed)) return;
  failed_row_.store(row, std::memory_order_relaxed);
  failure_ = std::move(failure);
}

void BatchMaker::describe_body() {
  const StreamReader& plan = course_->plan;
  body_->index = index_;
  body_->range = plan.batch(index_);
  body_->share = share_of(body_->range, course_->rank, course_->world_size);
  body_->epoch = body_->range.first / plan.epoch_slots();
  body_->index_in_epoch = index_ - plan.batches_until(body_->epoch * plan.epoch_slots());
  body_->course = course_;
  body_->slots = std::move(slots_);
}

std::exception_ptr BatchMaker::finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) return failure_;
  try {
    if (!is_begun_) begin_body();  // a share without rows has columns, too
    std::vector<std::optional<RowShape>> seen;
    for (ColumnMaker& column : columns_) {
      column.finish(reading_.allocate);
      seen.push_back(column.expected());
    }
    if (!slots_.empty()) expected_.set(std::move(seen));
    describe_body();
  } catch (...) {
    failure_ = std::current_exception();
  }
  return failure_;
}

}  // namespace ratoon::data
