// The state of a Python object in a checkpoint. Its adapter, an object of Python with save(writer) and
// load(reader), calls a StateWriter or a StateReader.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <ratoon/session.h>
#include <ratoon/state.h>

namespace ratoon::python {

// Gets an error that the program raised within a call of the session. Throws what ends the attempt if a lost
// rank explains the error. Needs the interpreter's lock.
using ExplainError = std::function<void(nanobind::handle error)>;

class TrackedState {
 public:
  // `kept` takes the objects whose memory a save reads.
  TrackedState(nanobind::object adapter, std::vector<nanobind::object>& kept, ExplainError explain)
      : adapter_(std::move(adapter)), kept_(kept), explain_(std::move(explain)) {}
  virtual ~TrackedState() = default;
  TrackedState(const TrackedState&) = delete;
  TrackedState& operator=(const TrackedState&) = delete;

  // Both are called without the interpreter's lock.
  void save(StateWriter& out) const;
  void load(StateReader& in) const;

 private:
  nanobind::object adapter_;
  std::vector<nanobind::object>& kept_;
  ExplainError explain_;
};

// The same for weights, which another run may begin with.
class TrackedWeights : public TrackedState {
 public:
  using TrackedState::TrackedState;
};

void bind_tracked_state(nanobind::module_& module);

}  // namespace ratoon::python

namespace ratoon {

template <>
struct TrackAdapter<python::TrackedState> {
  static void check(python::TrackedState&, const std::string&) {}
  static void save(python::TrackedState& state, StateWriter& out) { state.save(out); }
  static void load(python::TrackedState& state, StateReader& in) { state.load(in); }
};

template <>
struct TrackAdapter<python::TrackedWeights> {
  static constexpr bool kIsWeights = true;
  static void check(python::TrackedWeights&, const std::string&) {}
  static void save(python::TrackedWeights& state, StateWriter& out) { state.save(out); }
  static void load(python::TrackedWeights& state, StateReader& in) { state.load(in); }
};

}  // namespace ratoon
