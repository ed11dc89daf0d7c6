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

BatchMaker::BatchMaker(const LoaderInput& reading, ExpectedRows& expected, BodyPool& pool,
                       std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t index)
    : reading_(reading),
      expected_(expected),
      pool_(pool),
      loader_plan_(std::move(loader_plan)),
      index_(index) {}

BatchMaker::~BatchMaker() {
  expect_no_more();
  if (body_ != nullptr) pool_.put(std::move(body_));
  if (!columns_.empty()) pool_.put(std::move(columns_));
}

void BatchMaker::plan() noexcept {
  try {
    find_slots();
  } catch (...) {
    fail(0, std::current_exception());
    return;
  }
  expect_samples();
}

void BatchMaker::find_slots() {
  const StreamReader& plan = loader_plan_->plan;
  const SlotRange batch = plan.batch(index_);
  const SlotRange share = share_of(batch, loader_plan_->rank, loader_plan_->world_size);
  slots_.resize(share.size());
  plan.fill(share.first, slots_);
  if (slots_.empty() && !reading_.are_rows_declared) plan.fill(batch.first, {&model_.emplace(), 1});
  const std::size_t wanted = (slots_.size() + reading_.pieces_wanted - 1) / reading_.pieces_wanted;
  const std::size_t piece_rows = std::clamp<std::size_t>(wanted, 1, reading_.piece_rows_max);
  pieces_ = model_ ? 1 : (slots_.size() + piece_rows - 1) / piece_rows;
}

// Ignore errors of hints about the next samples: reading works without hints.
void BatchMaker::expect_samples() noexcept {
  const std::lock_guard lock(expecting_);
  if (is_given_up_ || !expected_ids_.empty()) return;
  try {
    expected_ids_.resize(reading_.sources.size());
    for (const Slot& slot : slots_) expected_ids_[slot.source].push_back(slot.sample);
    if (model_) expected_ids_[model_->source].push_back(model_->sample);
  } catch (...) {  // out of memory
    expected_ids_.clear();
  }
  for (std::size_t source = 0; source < expected_ids_.size(); ++source) {
    if (expected_ids_[source].empty()) continue;
    try {
      reading_.sources[source]->expect(expected_ids_[source]);
    } catch (...) {  // it may have received a part of the hint, which is withdrawn with the others
      continue;
    }
  }
}

void BatchMaker::replace(BatchMaker& failed) {
  const std::scoped_lock lock(expecting_, failed.expecting_);
  expected_ids_ = std::move(failed.expected_ids_);
  failed.expected_ids_.clear();
}

void BatchMaker::expect_no_more() noexcept {
  const std::lock_guard lock(expecting_);
  is_given_up_ = true;
  for (std::size_t source = 0; source < expected_ids_.size(); ++source) {
    if (expected_ids_[source].empty()) continue;
    try {
      reading_.sources[source]->expect_no_more(expected_ids_[source]);
    } catch (...) {  // the hint stays, which is harmless
      continue;
    }
  }
  expected_ids_.clear();
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
  if (slots_.empty()) {  // no row gives the shapes, and those of the last batch must not be used
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = model_ ? model_rows_[i] : declared_row_shape(reading_.columns[i]);
  }
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
  const std::stop_token stop = loader_plan_->stop.get_token();
  std::size_t row = 0;
  try {
    sample.set_stop(stop);
    if (model_) read_model(sample);
    begin_body_once();
    row = first_row_of(piece);
    const std::size_t end = first_row_of(piece + 1);
    for (; row < end && row < failed_row_.load(std::memory_order_relaxed); ++row) {
      if (stop.stop_requested()) return;
      read_sample(slots_[row], sample, [&] {
        for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].place(row, piece, sample.field(i));
      });
    }
  } catch (...) {
    if (!stop.stop_requested()) fail(row, std::current_exception());
  }
}

void BatchMaker::read_model(Sample& sample) {
  read_sample(*model_, sample, [&] {
    for (std::size_t i = 0; i < reading_.columns.size(); ++i) {
      const Field& field = sample.field(i);
      model_rows_.emplace_back(row_shape(field.type, field.shape));
    }
  });
}

template <class Use>
void BatchMaker::read_sample(const Slot& slot, Sample& sample, Use use) {
  const char* doing = "reading";
  try {
    reading_.sources[slot.source]->read(slot.sample, sample);
    if (reading_.augment) {
      doing = "augmenting";
      SampleRandom random = sample_random(loader_plan_->random_keys[slot.source], slot.epoch, slot.sample);
      reading_.augment(sample, random);
    }
    doing = "batching";
    if (sample.size() != reading_.columns.size()) {
      throw std::logic_error("the sample has " + std::to_string(sample.size()) +
                             " fields, but its data set has " + std::to_string(reading_.columns.size()) +
                             " columns");
    }
    use();
  } catch (...) {
    throw_with_sample(doing, slot, loader_plan_->plan.source_name(slot.source));
  }
}

void BatchMaker::fail(std::size_t row, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (row >= failed_row_.load(std::memory_order_relaxed)) return;
  failed_row_.store(row, std::memory_order_relaxed);
  failure_ = std::move(failure);
}

void BatchMaker::describe_body() {
  const StreamReader& plan = loader_plan_->plan;
  body_->index = index_;
  body_->range = plan.batch(index_);
  body_->share = share_of(body_->range, loader_plan_->rank, loader_plan_->world_size);
  body_->epoch = body_->range.first / plan.epoch_slots();
  body_->index_in_epoch = index_ - plan.batches_until(body_->epoch * plan.epoch_slots());
  body_->loader_plan = loader_plan_;
  body_->slots = std::move(slots_);
}

std::exception_ptr BatchMaker::finish() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ != nullptr) return failure_;
  try {
    if (!is_begun_) begin_body();  // a share without rows also has columns
    std::vector<std::optional<RowShape>> seen;
    for (ColumnMaker& column : columns_) {
      column.finish(reading_.allocate);
      seen.push_back(column.expected());
    }
    if (!slots_.empty()) expected_.set(std::move(seen));
    describe_body();
    made_ = pool_.lend(std::move(body_));
    expect_no_more();
  } catch (...) {
    failure_ = std::current_exception();
  }
  return failure_;
}

}  // namespace ratoon::data
