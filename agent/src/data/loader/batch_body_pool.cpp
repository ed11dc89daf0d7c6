#include "agent/src/data/loader/batch_body_pool.h"

#include <utility>

namespace ratoon::data {

BatchBodyPool::BatchBodyPool(std::size_t free_bodies_max) : free_bodies_max_(free_bodies_max) {
  free_bodies_.reserve(free_bodies_max);
  free_column_makers_.reserve(free_bodies_max);
}

std::unique_ptr<BatchBody> BatchBodyPool::get() {
  const MutexLock lock(mutex_);
  if (free_bodies_.empty()) return std::make_unique<BatchBody>();
  auto body = std::move(free_bodies_.back());
  free_bodies_.pop_back();
  return body;
}

void BatchBodyPool::put(std::unique_ptr<BatchBody> body) {
  const MutexLock lock(mutex_);
  if (free_bodies_.size() < free_bodies_max_) free_bodies_.push_back(std::move(body));
}

std::shared_ptr<const BatchBody> BatchBodyPool::make_handle(std::unique_ptr<BatchBody> body) {
  const auto give_back = [pool = weak_from_this()](BatchBody* lent) {
    std::unique_ptr<BatchBody> owned(lent);
    if (const auto alive = pool.lock()) alive->put(std::move(owned));
  };
  return std::shared_ptr<BatchBody>(body.release(), give_back);
}

std::vector<ColumnMaker> BatchBodyPool::get_column_makers() {
  const MutexLock lock(mutex_);
  if (free_column_makers_.empty()) return {};
  auto makers = std::move(free_column_makers_.back());
  free_column_makers_.pop_back();
  return makers;
}

void BatchBodyPool::put(std::vector<ColumnMaker> makers) {
  const MutexLock lock(mutex_);
  if (free_column_makers_.size() < free_bodies_max_) free_column_makers_.push_back(std::move(makers));
}

}  // namespace ratoon::data
