#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <ratoon/options.h>
#include <ratoon/session.h>
#include <ratoon/stream.h>
#include <ratoon/stream_options.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/options/option_rows.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "base/contract/exit_code.h"
#include "python/src/bindings.h"
#include "python/src/board_store.h"
#include "python/src/errors.h"
#include "python/src/forks.h"
#include "python/src/tracked_state.h"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace ratoon::python {
namespace {

// Python ends the process with this code: by SystemExit, which runs `finally` and atexit.
struct EndOfProcess {
  int code;
};

void raise_system_exit(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const EndOfProcess& end) {
    PyErr_SetObject(PyExc_SystemExit, nb::int_(end.code).ptr());
  }
}

void flush_python() {
  const nb::gil_scoped_acquire acquired;
  for (const char* name : {"stdout", "stderr"}) {
    try {
      nb::module_::import_("sys").attr(name).attr("flush")();
    } catch (const nb::python_error&) {
      PyErr_Clear();  // closed, or full: the process ends all the same
    }
  }
}

void end(int code, bool must_skip_teardown) {
  if (!must_skip_teardown) throw EndOfProcess{code};
  flush_python();
}

Options options_of(const nb::dict& values) {
  Options options;
  for (const auto& [name, value] : values) {
    check(session::assign_option(options, nb::cast<std::string>(name), nb::cast<std::string>(value)));
  }
  return value_of(Options::from_environment(0, nullptr, std::move(options)));
}

Until until_of(const std::optional<std::string>& text) {
  return text ? value_of(Until::parse(*text)) : Until::steps(~std::uint64_t{0});
}

// A PhaseScope cannot be moved.
struct OpenPhase {
  OpenPhase(Session& session, Phase phase) : scope(session.in(phase)) {}
  Session::PhaseScope scope;
};

// A session in place, on the thread that made it. While it waits, other threads of Python run.
class PythonSession {
 public:
  explicit PythonSession(const nb::dict& values)
      : session_(begin(options_of(values)), "a Session"), thread_(std::this_thread::get_id()) {}
  ~PythonSession() { close(); }
  PythonSession(const PythonSession&) = delete;
  PythonSession& operator=(const PythonSession&) = delete;

  template <class State>
  void track(std::string name, nb::object adapter) {
    auto state = std::make_unique<State>(std::move(adapter), kept_);
    here().track(std::move(name), *state);
    states_.push_back(std::move(state));
  }
  void track_stream(std::string name, nb::object stream) {
    here().track(std::move(name), nb::cast<Stream&>(stream));
    objects_.push_back(std::move(stream));
  }
  void follow(nb::object stream) {
    here().follow(nb::cast<const Stream&>(stream));
    objects_.push_back(std::move(stream));
  }

  void resume(const std::optional<std::string>& until) {
    const Until end = until_of(until);
    calls([&](Session& session) { session.resume(end); });
  }
  bool step_done() {
    bool goes_on = false;
    calls([&](Session& session) { goes_on = session.step_done(); });
    return goes_on;
  }
  void complete() {
    flush_python();
    calls([](Session& session) { static_cast<void>(session.complete()); });
  }
  void explain(const std::string& ended_by, bool may_be_loss) {
    calls([&](Session& session) { session.explain(ended_by, may_be_loss); });
  }
  void agree() {
    calls([](Session& session) { session.agree(); });
  }
  [[nodiscard]] std::unique_ptr<BoardStore> board_store() const {
    const nb::gil_scoped_release released;
    return std::make_unique<BoardStore>(here());
  }
  std::vector<double> sum(std::vector<double> numbers) {
    calls([&](Session& session) { session.sum(numbers); });
    return numbers;
  }
  double mean(const std::string& name, double value, std::uint64_t samples) {
    double mean = 0;
    calls([&](Session& session) { mean = session.mean(name, value, samples); });
    return mean;
  }
  bool save_best(const std::string& name, double value, std::uint32_t keep, bool is_lower_better) {
    bool is_best = false;
    calls([&](Session& session) {
      is_best = session.save_best(name, value, {.keep = keep, .is_lower_better = is_lower_better});
    });
    return is_best;
  }
  void enter(const std::string& phase) {
    const auto which = phase == "data"         ? Phase::kData
                       : phase == "validation" ? Phase::kValidation
                                               : Phase::kCollective;
    phases_.push_back(std::make_unique<OpenPhase>(here(), which));
  }
  void leave_phase(bool is_unfinished) {
    if (phases_.empty()) return;
    if (is_unfinished) phases_.back()->scope.leave_unfinished();
    phases_.pop_back();
  }

  // Ends the threads of the session. What it keeps of Python goes after it.
  void close() {
    while (!phases_.empty()) leave_phase(true);
    if (session_.is_here()) {
      const nb::gil_scoped_release released;
      session_.reset();
    }
    states_.clear();
    objects_.clear();
    kept_.clear();
  }

  Session& here() const {
    if (!session_.is_here()) throw_configuration("this session is closed");
    Session& session = *session_.operator->();
    if (thread_ != std::this_thread::get_id())
      throw_configuration("a Session is used on the thread that made it, and this is another one");
    return session;
  }

 private:
  static std::unique_ptr<Session> begin(Options options) {
    const nb::gil_scoped_release released;
    return std::make_unique<Session>(std::move(options));
  }
  [[noreturn]] static void throw_configuration(const std::string& sentence) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
  }
  // The memory of a save is kept until the call that made the save returns: an object that is saved may call
  // the session, for example sum().
  template <class Act>
  void calls(Act act) {
    Session& session = here();
    ++calls_under_way_;
    try {
      const nb::gil_scoped_release released;
      act(session);
    } catch (...) {
      --calls_under_way_;
      throw;
    }
    if (--calls_under_way_ == 0) kept_.clear();
  }

  int calls_under_way_ = 0;
  std::vector<nb::object> kept_;
  std::vector<std::unique_ptr<TrackedState>> states_;
  std::vector<nb::object> objects_;
  Owned<Session> session_;
  std::vector<std::unique_ptr<OpenPhase>> phases_;
  const std::thread::id thread_;
};

}  // namespace

void bind_session(nb::module_& module) {
  module.attr("FINISH") = session::control::kFinish;  // for agree(): the run ends with this step
  session::set_end_in_place(end);
  nb::register_exception_translator(raise_system_exit);
  bind_tracked_state(module);
  module.def("say", [](const std::string& sentence) { session::say(sentence); }, "sentence"_a);

  nb::class_<PythonSession>(module, "Session", "Behind ratoon.Session.")
      .def(nb::init<const nb::dict&>(), "options"_a)
      .def("track_state", &PythonSession::track<TrackedState>, "name"_a, "adapter"_a)
      .def("track_weights", &PythonSession::track<TrackedWeights>, "name"_a, "adapter"_a)
      .def("track_stream", &PythonSession::track_stream, "name"_a, "stream"_a)
      .def("follow", &PythonSession::follow, "stream"_a)
      .def("resume", &PythonSession::resume, "until"_a.none())
      .def("step_done", &PythonSession::step_done)
      .def("complete", &PythonSession::complete)
      .def("explain", &PythonSession::explain, "ended_by"_a, "may_be_loss"_a)
      .def("agree_over_board", &PythonSession::agree)
      .def("sum", &PythonSession::sum, "numbers"_a)
      .def("mean", &PythonSession::mean, "name"_a, "value"_a, "samples"_a)
      .def("save_best", &PythonSession::save_best, "name"_a, "value"_a, "keep"_a, "is_lower_better"_a)
      .def("enter", &PythonSession::enter, "phase"_a)
      .def("leave_phase", &PythonSession::leave_phase, "is_unfinished"_a)
      .def("close", &PythonSession::close)
      .def("is_over", [](const PythonSession& self) { return self.here().is_over(); })
      .def(
          "report",
          [](PythonSession& self, const std::string& name, double value, std::uint64_t samples) {
            self.here().report(name, value, samples);
          },
          "name"_a, "value"_a, "samples"_a)
      .def(
          "save",
          [](PythonSession& self, const std::string& keep) { static_cast<void>(self.here().save(keep)); },
          "keep"_a)
      .def(
          "finish", [](PythonSession& self, const std::string& reason) { self.here().finish(reason); },
          "reason"_a)
      .def("still_alive", [](PythonSession& self) { self.here().still_alive(); })
      .def("requests", [](const PythonSession& self) { return self.here().requests(); })
      .def("numbers", [](const PythonSession& self) { return self.here().numbers(); })
      .def(
          "agree",
          [](PythonSession& self, std::uint32_t requests, const std::array<float, Session::kNumbers>& sums) {
            self.here().agree(requests);
            self.here().take_sums(sums);
          },
          "requests"_a, "sums"_a)
      .def(
          "stream_options",
          [](const PythonSession& self, std::uint64_t global_batch, std::uint64_t seed) {
            const StreamOptions options =
                self.here().stream_options({.global_batch = global_batch, .seed = seed});
            return nb::make_tuple(options.global_batch, options.seed);
          },
          "global_batch"_a, "seed"_a)
      .def("board_store", &PythonSession::board_store)
      .def_prop_ro("attempt", [](const PythonSession& self) { return self.here().attempt(); })
      .def_prop_ro("rank", [](const PythonSession& self) { return self.here().rank(); })
      .def_prop_ro("world_size", [](const PythonSession& self) { return self.here().world_size(); })
      .def_prop_ro("local_rank", [](const PythonSession& self) { return self.here().local_rank(); })
      .def_prop_ro("local_size", [](const PythonSession& self) { return self.here().local_size(); })
      .def_prop_ro("steps_done", [](const PythonSession& self) { return self.here().steps_done(); })
      .def_prop_ro("seed", [](const PythonSession& self) { return self.here().seed(); })
      .def(
          "seed_of",
          [](const PythonSession& self, const std::string& name) { return self.here().seed_of(name); },
          "name"_a);
}

}  // namespace ratoon::python
