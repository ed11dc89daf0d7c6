#include "tests/support/accelerator/event.h"

#include <utility>

#include <c10/util/Exception.h>

#include "tests/support/accelerator/faults.h"

namespace ratoon::test::accelerator {

void Moment::come() {
  const std::lock_guard lock(mutex_);
  has_come_ = true;
  time_ = std::chrono::steady_clock::now();
  comes_.notify_all();
}

bool Moment::has_come() {
  const std::lock_guard lock(mutex_);
  return has_come_;
}

void Moment::wait() {
  std::unique_lock lock(mutex_);
  comes_.wait(lock, [this] { return has_come_; });
}

void Moment::wait_while_alive(const char* call) {
  constexpr std::chrono::milliseconds kBetweenLooks(1);
  std::unique_lock lock(mutex_);
  while (!comes_.wait_for(lock, kBetweenLooks, [this] { return has_come_; })) check_is_alive(call);
  check_is_alive(call);
}

std::chrono::steady_clock::time_point Moment::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

std::shared_ptr<Moment> mark_end(Stream& stream) {
  auto moment = std::make_shared<Moment>();
  stream.enqueue_mark([moment] { moment->come(); });
  return moment;
}

void make_wait(Stream& stream, std::shared_ptr<Moment> moment) {
  stream.enqueue_mark([moment = std::move(moment)] { moment->wait(); });
}

void Event::record(Stream& stream) {
  const std::lock_guard lock(mutex_);
  last_ = mark_end(stream);
}

void Event::block(Stream& stream) const {
  if (auto moment = last()) make_wait(stream, std::move(moment));
}

bool Event::query() const {
  const auto moment = last();
  return moment == nullptr || moment->has_come();
}

void Event::synchronize() const {
  if (const auto moment = last()) moment->wait_while_alive("synchronize an event");
}

double Event::milliseconds_until(const Event& later) const {
  const auto from = last();
  const auto to = later.last();
  TORCH_CHECK(from != nullptr && to != nullptr && from->has_come() && to->has_come(),
              "an elapsed time was asked for of two events that were not both recorded and over: record and "
              "synchronize both first");
  return std::chrono::duration<double, std::milli>(to->time() - from->time()).count();
}

std::shared_ptr<Moment> Event::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

}  // namespace ratoon::test::accelerator
