// The types that Session::steps() and Session::in() return. <ratoon/session.h> includes them.
//
//   for (const std::uint64_t step : session.steps(1000)) {
//     const auto waits = session.in(ratoon::Phase::kData);
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <ratoon/session.h>

namespace ratoon {

class Session::PhaseScope {
 public:
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;
  // Keeps the phase when this object is destroyed: call leave_unfinished() after an exception outside C++,
  // such as a Python exception.
  void leave_unfinished() { is_unfinished_ = true; }

 private:
  friend class Session;
  PhaseScope(Session& session, Phase phase);
  Session& session_;
  const int outer_;
  const int exceptions_;  // when the phase began: a later exception ends the phase unfinished
  bool is_unfinished_ = false;
};

// The iterator over step numbers of a loop over steps(); `*it` is the number of steps done before this step.
// Incrementing the iterator ends the current step.
class StepIterator {
 public:
  using value_type = std::uint64_t;
  using difference_type = std::ptrdiff_t;

  explicit StepIterator(Session& session) : session_(&session) {}
  [[nodiscard]] std::uint64_t operator*() const;
  StepIterator& operator++();
  void operator++(int) { ++*this; }
  [[nodiscard]] bool operator==(std::default_sentinel_t) const;

 private:
  Session* session_;
};

class Session::StepRange {
 public:
  explicit StepRange(Session& session) : session_(&session) {}
  [[nodiscard]] StepIterator begin() const { return StepIterator(*session_); }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  Session* session_;
};

}  // namespace ratoon
