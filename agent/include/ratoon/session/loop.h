// The types that Session::steps() and Session::in() return, and the definitions of Session's templates.
// <ratoon/session.h> includes this header.
//
//   for (const std::uint64_t step : session.steps(1000)) {
//     const auto waits = session.in(ratoon::Phase::kData);
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <ratoon/session.h>
#include <ratoon/session/pointers.h>

namespace ratoon {

class Session::PhaseScope {
 public:
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;
  // Makes the destructor leave the phase unchanged, as it does after a C++ exception. Call leave_unfinished()
  // after another exception, such as a Python exception.
  void leave_unfinished() { is_unfinished_ = true; }

 private:
  friend class Session;
  PhaseScope(Session& session, Phase phase);
  Session& session_;
  const int outer_;
  const int uncaught_exceptions_;  // when the phase began: a later exception ends the phase unfinished
  bool is_unfinished_ = false;
};

// The iterator of a loop over steps(); `*it` is the number of steps that were done before this step.
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

template <HasTrackAdapter T>
void Session::track(std::string name, T& object, const TrackedAs& as) {
  answer([&] { TrackAdapter<T>::check(object, name); });
  constexpr bool kIsWeights = requires { requires TrackAdapter<T>::kIsWeights; };
  Tracked kind = kIsWeights && as.is_weight ? Tracked::kWeights : Tracked::kState;
  if constexpr (requires { TrackAdapter<T>::seed(object, std::uint64_t{}); }) {
    TrackAdapter<T>::seed(object, first_seed_of(name));
    kind = Tracked::kSeeded;
  }
  track_state(
      std::move(name), [&object, as](StateWriter& out) { save_tracked(object, as, out); },
      [&object](StateReader& in) { TrackAdapter<T>::load(object, in); }, kind);
}

template <class T>
  requires(std::is_arithmetic_v<T> || HasTrackAdapter<T>)
std::optional<T> Session::peek(const std::string& name) {
  T value{};
  const bool is_there = peek_state(name, [&value](StateReader& in) {
    if constexpr (std::is_arithmetic_v<T>)
      in.number("", value);
    else
      TrackAdapter<T>::load(value, in);
  });
  return is_there ? std::optional<T>(std::move(value)) : std::nullopt;
}

}  // namespace ratoon
