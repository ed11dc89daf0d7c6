#include "agent/src/data/loader/body_pool.h"

#include <utility>

namespace ratoon::data {

BodyPool::BodyPool(std::size_t spares_max) : spares_max_(spares_max) {
  spares_.reserve(spares_max);
  makers_.reserve(spares_max);
}

std::unique_ptr<BatchBody> BodyPool::get() {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return std::make_unique<BatchBody>();
  auto body = std::move(spares_.back());
  spares_.pop_back();
  return body;
}

void BodyPool::put(std::unique_ptr<BatchBody> body) {
  const std::lock_guard lock(mutex_);
  if (spares_.size() < spares_max_) spares_.push_back(std::move(body));
}

std::shared_ptr<const BatchBody> BodyPool::lend(std::unique_ptr<BatchBody> body) {
  const auto give_back = [pool = weak_from_this()](BatchBody* lent) {
    std::unique_ptr<BatchBody> owned(lent);
    if (const auto alive = pool.lock()) alive->put(std::move(owned));
  };
  return std::shared_ptr<BatchBody>(body.release(), give_back);
}

std::vector<ColumnMaker> BodyPool::get_makers() {
  const std::lock_guard lock(mutex_);
  if (makers_.empty()) return {};
  auto makers = std::move(makers_.back());
  makers_.pop_back();
  return makers;
}

void BodyPool::put(std::vector<ColumnMaker> makers) {
  const std::lock_guard lock(mutex_);
  if (makers_.size() < spares_max_) makers_.push_back(std::move(makers));
}

}  // namespace ratoon::data
