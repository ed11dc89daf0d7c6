#include <array>
#include <cstdint>
#include <exception>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <ratoon/session.h>
#include <ratoon/stream_options.h>

#include "agent/src/session/engine/control_word.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "python/src/bindings.h"
#include "python/src/interruptible.h"
#include "python/src/python_session.h"

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

void end(int code, bool must_skip_teardown) {
  if (!must_skip_teardown) throw EndOfProcess{code};
  flush_python();
}

void skip_teardown_at_exit() {
  const nb::gil_scoped_acquire acquired;
  leave_behind();
}

void bind_questions(nb::class_<PythonSession>& bound) {
  bound.def_prop_ro("is_interrupted", &PythonSession::is_interrupted)
      .def_prop_ro("attempt", [](const PythonSession& self) { return self.here().attempt(); })
      .def_prop_ro("rank", [](const PythonSession& self) { return self.here().rank(); })
      .def_prop_ro("world_size", [](const PythonSession& self) { return self.here().world_size(); })
      .def_prop_ro("local_rank", [](const PythonSession& self) { return self.here().local_rank(); })
      .def_prop_ro("local_size", [](const PythonSession& self) { return self.here().local_size(); })
      .def_prop_ro("resumes_at", [](const PythonSession& self) { return self.here().resumes_at(); })
      .def_prop_ro("steps_done", [](const PythonSession& self) { return self.here().steps_done(); })
      .def_prop_ro("seed", [](const PythonSession& self) { return self.here().seed(); })
      .def(
          "seed_of",
          [](const PythonSession& self, const std::string& name) { return self.here().seed_of(name); },
          "name"_a);
}

}  // namespace

void bind_session(nb::module_& module) {
  module.attr("FINISH") = session::control::kFinish;  // for agree(): the run ends with this step
  session::set_end_handler(end);
  session::set_skip_teardown_at_exit(skip_teardown_at_exit);
  nb::register_exception_translator(raise_system_exit);
  bind_tracked_state(module);
  module.def("say", [](const std::string& sentence) { session::say(sentence); }, "sentence"_a);

  nb::class_<PythonSession> bound(module, "Session", "Behind ratoon.Session.");
  bound.def(nb::init<const nb::dict&>(), "options"_a)
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
      .def("sum_integers", &PythonSession::sum_integers, "numbers"_a)
      .def("mean", &PythonSession::mean, "name"_a, "value"_a, "samples"_a)
      .def("save_best", &PythonSession::save_best, "name"_a, "value"_a, "keep"_a, "is_lower_better"_a)
      .def("on_epoch_begin", &PythonSession::on_epoch_begin, "act"_a)
      .def("on_epoch_end", &PythonSession::on_epoch_end, "act"_a)
      .def("enter", &PythonSession::enter, "phase"_a)
      .def("leave_phase", &PythonSession::leave_phase, "is_unfinished"_a)
      .def("close", &PythonSession::close)
      .def("check", &PythonSession::check)
      .def("wait_for_end", &PythonSession::wait_for_end)
      .def("stop_waiting", &PythonSession::stop_waiting)
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
          "unpin", [](PythonSession& self, std::uint64_t step) { self.here().unpin(step); }, "step"_a)
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
      .def("board_store", &PythonSession::board_store);
  bind_questions(bound);
}

}  // namespace ratoon::python
