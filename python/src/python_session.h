// PythonSession: the Session that Python sees. It is either a session in place, which it owns, or the session
// of an attempt of train(), which is lent to it until close().
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include <ratoon/options.h>
#include <ratoon/session.h>
#include <ratoon/stream.h>

#include "base/core/threads/condition_variable.h"
#include "python/src/board_store.h"
#include "python/src/forks.h"
#include "python/src/tracked_state.h"

namespace ratoon::python {

// Reads options as Python has them, and the environment. Throws a Failure.
[[nodiscard]] Options options_of(const nanobind::dict& values);

// Flushes sys.stdout and sys.stderr. Acquires the interpreter's lock.
void flush_python();

// All calls but wait_for_end() and stop_waiting() are for the thread that made the object. While a call
// waits, other threads of Python run.
class PythonSession {
 public:
  explicit PythonSession(const nanobind::dict& values);
  explicit PythonSession(Session& lent);
  ~PythonSession();
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  template <class State>
  void track(std::string name, nanobind::object adapter) {
    auto state = std::make_unique<State>(std::move(adapter), kept_,
                                         [this](nanobind::handle error) { explain_error(error); });
    here().track(std::move(name), *state);
    states_.push_back(std::move(state));
  }
  void track_stream(std::string name, nanobind::object stream);
  void follow(nanobind::object stream);

  void resume(const std::optional<std::string>& until);
  bool step_done();
  void complete();
  void explain(const std::string& ended_by, bool may_be_loss);
  void agree();
  void check();
  [[nodiscard]] std::unique_ptr<BoardStore> board_store() const;
  std::vector<double> sum(std::vector<double> numbers);
  std::vector<std::int64_t> sum_integers(std::vector<std::int64_t> numbers);
  double mean(const std::string& name, double value, std::uint64_t samples);
  bool save_best(const std::string& name, double value, std::uint32_t keep, bool is_lower_better);
  // `act` is called with the number of an epoch.
  void on_epoch_begin(nanobind::callable act);
  void on_epoch_end(nanobind::callable act);
  void enter(const std::string& phase);
  void leave_phase(bool is_unfinished);

  // Whether an Interrupted was thrown into the program.
  [[nodiscard]] bool is_interrupted() const { return is_interrupted_; }

  // Waits until the attempt is over: the world changed, or this process has to leave. Returns false if
  // stop_waiting() is called first. The session has to stay open meanwhile.
  [[nodiscard]] bool wait_for_end();
  void stop_waiting();

  // Ends a session in place, with its threads. What it keeps of Python goes after it.
  void close();

  [[nodiscard]] Session& here() const;

 private:
  struct OpenPhase;
  // The memory of a save is kept until the call that made the save returns: an object that is saved may call
  // the session, for example sum().
  template <class Act>
  void calls(Act act);
  [[nodiscard]] std::function<void(std::uint64_t)> keep_for_epochs(nanobind::callable act);
  // Explains an error that a function or an object of the program raised within a call of the session.
  void explain_error(nanobind::handle error);

  int calls_under_way_ = 0;
  bool is_interrupted_ = false;
  std::vector<nanobind::object> kept_;
  std::vector<std::unique_ptr<TrackedState>> states_;
  std::vector<nanobind::object> objects_;
  Owned<Session> in_place_;
  Session* session_;  // null once it is closed
  std::vector<std::unique_ptr<OpenPhase>> phases_;
  const std::thread::id thread_ = std::this_thread::get_id();
  const std::uint64_t forks_ = forks();
  Mutex mutex_;
  ConditionVariable changed_;
  bool waits_ RATOON_GUARDED_BY(mutex_) = true;
};

}  // namespace ratoon::python
