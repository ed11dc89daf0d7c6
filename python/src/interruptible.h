// Calls that may take long: the interpreter's lock is released, and Ctrl-C ends them.
//
//   const auto tensors = run_interruptibly([from, names](std::stop_token) { return load_tensors(from, names);
//   });
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include <nanobind/nanobind.h>

namespace ratoon::python {

// How often signals are looked for. The end of the work is noticed at once.
inline constexpr std::chrono::milliseconds kSignalPeriod{50};

// Where a stop is asked for, work that looks for it ends within this time.
inline constexpr std::chrono::seconds kStopPeriod{1};

// From now on the process ends at once, with its own exit code and without what C++ does at the end of a
// program: a thread that was left behind uses what that would take away.
void leave_behind();

// Does the work on a thread of its own. `work` takes a std::stop_token, touches no Python object and owns all
// that it uses: where a signal's handler raises, as that of Ctrl-C does, the call ends with what it raised.
// Work that does not stop then is left behind.
template <class Work>
auto run_interruptibly(Work work) {
  using Value = std::invoke_result_t<Work, std::stop_token>;
  std::stop_source stop;
  std::packaged_task<Value()> task(
      [work = std::move(work), token = stop.get_token()]() mutable { return work(std::move(token)); });
  std::future<Value> future = task.get_future();
  std::thread thread(std::move(task));
  for (;;) {
    bool is_done = false;
    {
      const nanobind::gil_scoped_release released;
      is_done = future.wait_for(kSignalPeriod) == std::future_status::ready;
      if (is_done) thread.join();
    }
    if (is_done) return future.get();
    if (PyErr_CheckSignals() != 0) {
      nanobind::python_error raised;
      {
        const nanobind::gil_scoped_release released;
        stop.request_stop();
        is_done = future.wait_for(kStopPeriod) == std::future_status::ready;
        if (is_done) thread.join();
      }
      if (!is_done) {
        leave_behind();
        thread.detach();
      }
      throw raised;
    }
  }
}

}  // namespace ratoon::python
