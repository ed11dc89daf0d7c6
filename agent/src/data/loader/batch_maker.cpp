#include "agent/src/data/loader/batch_maker.h"

#include <algorithm>

#include "agent/src/data/loader/sample_failure.h"

namespace ratoon::data {

ExpectedRowShapes::ExpectedRowShapes(const std::vector<Column>& columns) {
  for (const Column& column : columns) shapes_.push_back(declared_row_shape(column));
}

std::vector<std::optional<RowShape>> ExpectedRowShapes::get() const {
  const MutexLock lock(mutex_);
  return shapes_;
}

void ExpectedRowShapes::set(std::vector<std::optional<RowShape>> rows) {
  const MutexLock lock(mutex_);
  shapes_ = std::move(rows);
}

BatchMaker::BatchMaker(const LoaderInput& reading, ExpectedRowShapes& expected, BatchBodyPool& pool,
                       std::shared_ptr<LoaderPlan> loader_plan, std::uint64_t index)
    : loader_input_(reading),
      expected_shapes_(expected),
      pool_(pool),
      loader_plan_(std::move(loader_plan)),
      index_(index) {}

BatchMaker::~BatchMaker() {
  withdraw_read_hints();
  if (body_ != nullptr) pool_.put(std::move(body_));
  if (!columns_.empty()) pool_.put(std::move(columns_));
}

void BatchMaker::plan() noexcept {
  try {
    find_slots();
  } catch (...) {
    record_failure(0, std::current_exception());
    return;
  }
  send_read_hints();
}

void BatchMaker::find_slots() {
  const StreamReader& plan = loader_plan_->stream_reader;
  const SlotRange batch = plan.batch(index_);
  const SlotRange share = share_of(batch, loader_plan_->rank, loader_plan_->world_size);
  slots_.resize(share.size());
  plan.fill(share.first, slots_);
  if (slots_.empty() && !loader_input_.are_row_shapes_declared)
    plan.fill(batch.first, {&shape_probe_slot_.emplace(), 1});
  const std::size_t wanted =
      (slots_.size() + loader_input_.target_pieces_per_batch - 1) / loader_input_.target_pieces_per_batch;
  const std::size_t piece_rows = std::clamp<std::size_t>(wanted, 1, loader_input_.piece_rows_max);
  piece_count_ = shape_probe_slot_ ? 1 : (slots_.size() + piece_rows - 1) / piece_rows;
}

// Ignore errors of hints about the next samples: reading works without hints.
void BatchMaker::send_read_hints() noexcept {
  const MutexLock lock(hints_mutex_);
  if (are_hints_withdrawn_ || !hinted_ids_.empty()) return;
  try {
    hinted_ids_.resize(loader_input_.sources.size());
    for (const Slot& slot : slots_) hinted_ids_[slot.source].push_back(slot.sample);
    if (shape_probe_slot_) hinted_ids_[shape_probe_slot_->source].push_back(shape_probe_slot_->sample);
  } catch (...) {  // out of memory
    hinted_ids_.clear();
  }
  for (std::size_t source = 0; source < hinted_ids_.size(); ++source) {
    if (hinted_ids_[source].empty()) continue;
    try {
      loader_input_.sources[source]->expect(hinted_ids_[source]);
    } catch (...) {  // it may have received a part of the hint, which is withdrawn with the others
      continue;
    }
  }
}

void BatchMaker::take_over_read_hints(BatchMaker& failed) {
  // This causes no deadlock, because a batch takes over only from an older one: the mutex of the newer batch
  // is always locked first.
  const MutexLock lock(hints_mutex_);
  const MutexLock lock_of_failed(failed.hints_mutex_);
  hinted_ids_ = std::move(failed.hinted_ids_);
  failed.hinted_ids_.clear();
}

void BatchMaker::withdraw_read_hints() noexcept {
  const MutexLock lock(hints_mutex_);
  are_hints_withdrawn_ = true;
  for (std::size_t source = 0; source < hinted_ids_.size(); ++source) {
    if (hinted_ids_[source].empty()) continue;
    try {
      loader_input_.sources[source]->expect_no_more(hinted_ids_[source]);
    } catch (...) {  // the hint stays, which is harmless
      continue;
    }
  }
  hinted_ids_.clear();
}

std::size_t BatchMaker::first_row_of(std::size_t piece) const {
  return slots_.size() * piece / piece_count_;
}

void BatchMaker::acquire_body_once() {
  const MutexLock lock(mutex_);
  if (is_body_acquired_ || failure_ != nullptr) return;
  acquire_body();
  is_body_acquired_ = true;
}

void BatchMaker::acquire_body() {
  auto expected = expected_shapes_.get();
  if (slots_.empty()) {  // no row gives the shapes, and those of the last batch must not be used
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = shape_probe_slot_ ? probed_shapes_[i] : declared_row_shape(loader_input_.columns[i]);
  }
  if (body_ == nullptr) body_ = pool_.get();
  columns_ = pool_.get_column_makers();
  body_->columns.resize(loader_input_.columns.size());
  columns_.resize(loader_input_.columns.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].begin(body_->columns[i], loader_input_.columns[i], std::move(expected[i]), slots_.size(),
                      piece_count_, loader_input_.allocate);
  }
}

void BatchMaker::make(std::size_t piece, Sample& sample) noexcept {
  const std::stop_token stop = loader_plan_->stop.get_token();
  std::size_t row = 0;
  try {
    sample.set_stop(stop);
    if (shape_probe_slot_) probe_row_shapes(sample);
    acquire_body_once();
    row = first_row_of(piece);
    const std::size_t end = first_row_of(piece + 1);
    for (; row < end && row < failed_row_.load(std::memory_order_relaxed); ++row) {
      if (stop.stop_requested()) return;
      read_sample(slots_[row], sample, [&] {
        for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].place_row(row, piece, sample.field(i));
      });
    }
  } catch (...) {
    if (!stop.stop_requested()) record_failure(row, std::current_exception());
  }
}

void BatchMaker::probe_row_shapes(Sample& sample) {
  read_sample(*shape_probe_slot_, sample, [&] {
    for (std::size_t i = 0; i < loader_input_.columns.size(); ++i) {
      const Field& field = sample.field(i);
      probed_shapes_.emplace_back(row_shape(field.type, field.shape));
    }
  });
}

template <class Use>
void BatchMaker::read_sample(const Slot& slot, Sample& sample, Use use) {
  const char* doing = "reading";
  try {
    {
      SampleRandom random =
          sample_random(loader_plan_->sample_read_keys[slot.source], slot.epoch, slot.sample);
      const SampleRandomScope scope(random);
      loader_input_.sources[slot.source]->read(slot.sample, sample);
    }
    if (loader_input_.augment) {
      doing = "augmenting";
      SampleRandom random =
          sample_random(loader_plan_->augmentation_keys[slot.source], slot.epoch, slot.sample);
      const SampleRandomScope scope(random);
      loader_input_.augment(sample, random);
    }
    doing = "batching";
    if (sample.size() != loader_input_.columns.size()) {
      throw std::logic_error("the sample has " + std::to_string(sample.size()) +
                             " fields, but its data set has " + std::to_string(loader_input_.columns.size()) +
                             " columns");
    }
    use();
  } catch (...) {
    rethrow_with_sample_name(doing, slot, loader_plan_->stream_reader.source_name(slot.source));
  }
}

void BatchMaker::record_failure(std::size_t row, std::exception_ptr failure) {
  const MutexLock lock(mutex_);
  if (row >= failed_row_.load(std::memory_order_relaxed)) return;
  failed_row_.store(row, std::memory_order_relaxed);
  failure_ = std::move(failure);
}

void BatchMaker::fill_batch_metadata() {
  const StreamReader& plan = loader_plan_->stream_reader;
  body_->index = index_;
  body_->range = plan.batch(index_);
  body_->rank_range = share_of(body_->range, loader_plan_->rank, loader_plan_->world_size);
  body_->epoch = body_->range.first / plan.epoch_slots();
  body_->index_in_epoch = index_ - plan.batches_until(body_->epoch * plan.epoch_slots());
  body_->loader_plan = loader_plan_;
  body_->slots = std::move(slots_);
}

std::exception_ptr BatchMaker::finish() noexcept {
  const MutexLock lock(mutex_);
  if (failure_ != nullptr) return failure_;
  try {
    if (!is_body_acquired_) acquire_body();  // a share without rows also has columns
    std::vector<std::optional<RowShape>> seen;
    for (ColumnMaker& column : columns_) {
      column.finish(loader_input_.allocate);
      seen.push_back(column.expected_shape());
    }
    if (!slots_.empty()) expected_shapes_.set(std::move(seen));
    fill_batch_metadata();
    finished_body_ = pool_.make_handle(std::move(body_));
    withdraw_read_hints();
  } catch (...) {
    failure_ = std::current_exception();
  }
  return failure_;
}

}  // namespace ratoon::data
