#include "python/src/python_session.h"

#include <chrono>

#include <nanobind/stl/string.h>

#include <ratoon/failure.h>

#include "agent/src/session/options/option_rows.h"
#include "base/contract/exit_code.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace ratoon::python {
namespace {

constexpr const char* kIsExplained = "_ratoon_is_explained";  // of an exception of Python, as in _session.py

// How soon the end of an attempt is noticed. Each look reads a few variables.
constexpr std::chrono::milliseconds kLook{10};

std::unique_ptr<Session> begin(Options options) {
  const nb::gil_scoped_release released;
  return std::make_unique<Session>(std::move(options));
}

[[noreturn]] void throw_configuration(const std::string& sentence) {
  throw Failure(static_cast<int>(ExitCode::kConfiguration), sentence);
}

Until until_of(const std::optional<std::string>& text) {
  return text ? value_of(Until::parse(*text)) : Until::steps(~std::uint64_t{0});
}

}  // namespace

Options options_of(const nb::dict& values) {
  Options options;
  for (const auto& [name, value] : values) {
    check(session::assign_option(options, nb::cast<std::string>(name), nb::cast<std::string>(value)));
  }
  return value_of(Options::from_environment(0, nullptr, std::move(options)));
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

// A PhaseScope cannot be moved.
struct PythonSession::OpenPhase {
  OpenPhase(Session& session, Phase phase) : scope(session.in(phase)) {}
  Session::PhaseScope scope;
};

PythonSession::PythonSession(const nb::dict& values)
    : in_place_(begin(options_of(values)), "a Session"), session_(in_place_.operator->()) {}

PythonSession::PythonSession(Session& lent) : in_place_(nullptr, "a Session"), session_(&lent) {}

PythonSession::~PythonSession() {
  close();
}

template <class Act>
void PythonSession::calls(Act act) {
  Session& session = here();
  ++calls_under_way_;
  try {
    const nb::gil_scoped_release released;
    act(session);
  } catch (const Interrupted&) {
    --calls_under_way_;
    is_interrupted_ = true;
    throw;
  } catch (...) {
    --calls_under_way_;
    throw;
  }
  if (--calls_under_way_ == 0) kept_.clear();
}

void PythonSession::track_stream(std::string name, nb::object stream) {
  here().track(std::move(name), nb::cast<Stream&>(stream));
  objects_.push_back(std::move(stream));
}

void PythonSession::follow(nb::object stream) {
  here().follow(nb::cast<const Stream&>(stream));
  objects_.push_back(std::move(stream));
}

void PythonSession::resume(const std::optional<std::string>& until) {
  const Until end = until_of(until);
  calls([&](Session& session) { session.resume(end); });
}

bool PythonSession::step_done() {
  bool goes_on = false;
  calls([&](Session& session) { goes_on = session.step_done(); });
  return goes_on;
}

void PythonSession::complete() {
  flush_python();
  calls([](Session& session) { static_cast<void>(session.complete()); });
}

void PythonSession::explain(const std::string& ended_by, bool may_be_loss) {
  calls([&](Session& session) { session.explain(ended_by, may_be_loss); });
}

void PythonSession::agree() {
  calls([](Session& session) { session.agree(); });
}

void PythonSession::check() {
  calls([](Session& session) { session.check(); });
}

std::unique_ptr<BoardStore> PythonSession::board_store() const {
  const nb::gil_scoped_release released;
  return std::make_unique<BoardStore>(here());
}

std::vector<double> PythonSession::sum(std::vector<double> numbers) {
  calls([&](Session& session) { session.sum(numbers); });
  return numbers;
}

std::vector<std::int64_t> PythonSession::sum_integers(std::vector<std::int64_t> numbers) {
  calls([&](Session& session) { session.sum(numbers); });
  return numbers;
}

// The session may copy and destroy the function without the interpreter's lock, so the function has no
// reference of its own: objects_ keeps the callable until the session is closed.
std::function<void(std::uint64_t)> PythonSession::keep_for_epochs(nb::callable act) {
  const nb::handle kept = act;
  objects_.push_back(std::move(act));
  return [this, kept](std::uint64_t epoch) {
    const nb::gil_scoped_acquire acquired;
    try {
      kept(epoch);
    } catch (const nb::python_error& error) {
      rethrow_if_known(error.value());
      if (error.matches(PyExc_Exception)) explain_error(error.value());
      throw;
    }
  };
}

// A loss may be known to the program's own collectives first. Without the explanation, an error of a
// collective in a validation would end a process that was not lost as an error of the program.
void PythonSession::explain_error(nb::handle error) {
  if (nb::hasattr(error, kIsExplained)) return;
  const nb::object endings = nb::module_::import_("ratoon._endings");
  const auto ended_by = nb::cast<std::string>(endings.attr("ending_of")(error));
  const auto may_be_loss = nb::cast<bool>(endings.attr("may_be_loss")(error));
  explain(ended_by, may_be_loss);
  // The exception's type may not allow another attribute. The loop then explains the exception once more.
  if (PyObject_SetAttrString(error.ptr(), kIsExplained, Py_True) != 0) PyErr_Clear();
}

void PythonSession::on_epoch_begin(nb::callable act) {
  here().on_epoch_begin(keep_for_epochs(std::move(act)));
}

void PythonSession::on_epoch_end(nb::callable act) {
  here().on_epoch_end(keep_for_epochs(std::move(act)));
}

double PythonSession::mean(const std::string& name, double value, std::uint64_t samples) {
  double mean = 0;
  calls([&](Session& session) { mean = session.mean(name, value, samples); });
  return mean;
}

bool PythonSession::save_best(const std::string& name, double value, std::uint32_t keep,
                              bool is_lower_better) {
  bool is_best = false;
  calls([&](Session& session) {
    is_best = session.save_best(name, value, {.keep = keep, .is_lower_better = is_lower_better});
  });
  return is_best;
}

void PythonSession::enter(const std::string& phase) {
  const auto which = phase == "data"         ? Phase::kData
                     : phase == "validation" ? Phase::kValidation
                                             : Phase::kCollective;
  phases_.push_back(std::make_unique<OpenPhase>(here(), which));
}

void PythonSession::leave_phase(bool is_unfinished) {
  if (phases_.empty()) return;
  if (is_unfinished) phases_.back()->scope.leave_unfinished();
  phases_.pop_back();
}

bool PythonSession::wait_for_end() {
  const nb::gil_scoped_release released;
  MutexLock lock(mutex_);
  while (waits_) {
    try {
      session_->check();
    } catch (const Interrupted&) {
      return true;
    } catch (const Failure&) {
      return true;
    }
    changed_.wait_for(lock, kLook);
  }
  return false;
}

void PythonSession::stop_waiting() {
  const MutexLock lock(mutex_);
  waits_ = false;
  changed_.notify_all();
}

void PythonSession::close() {
  while (!phases_.empty()) leave_phase(true);
  session_ = nullptr;
  if (in_place_.is_here()) {
    const nb::gil_scoped_release released;
    in_place_.reset();
  }
  states_.clear();
  objects_.clear();
  kept_.clear();
}

Session& PythonSession::here() const {
  if (forks_ != forks()) refuse_in_child("a Session");
  if (session_ == nullptr) throw_configuration("this session is closed");
  if (thread_ != std::this_thread::get_id())
    throw_configuration("a Session is used on the thread that made it, and this is another one");
  return *session_;
}

}  // namespace ratoon::python
