#include "agent/src/session/shutdown/exit_report.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>

#include "agent/src/session/shutdown/fail.h"
#include "agent/src/session/shutdown/process_exit.h"
#include "agent/src/session/telemetry/say.h"
#include "base/core/never_destroyed.h"

namespace ratoon::session {
namespace {

// Returns the name of an exception's type as it is written in C++. The operator recognises errors of a
// program by the names of their types.
std::string name_of_type(const std::exception& error) {
  int problem = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &problem), &std::free);
  return name ? name.get() : typeid(error).name();
}

// Returns whether the system would report `exit_code` as 0. Only the lowest byte of an exit code is reported.
bool is_success_code(int exit_code) {
  return (static_cast<unsigned>(exit_code) & 0xffU) == 0;
}

using ErrorExplainer = std::function<std::optional<ErrorMeaning>(const std::exception&)>;

// The ErrorExplainer is a function-local variable, because linked libraries set it before main() begins.
ErrorExplainer& error_explainer() {
  static const NeverDestroyed<ErrorExplainer> explain;
  return *explain;
}

// Returns whether the error means that no thread could be started, in which case a later start of the process
// may succeed.
bool is_thread_start_error(const std::exception& error) {
  const auto* const refused = dynamic_cast<const std::system_error*>(&error);
  return refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again;
}

int report_program_error(std::string_view whose, const std::exception& error) {
  if (is_thread_start_error(error)) {
    say(std::string("the operating system could not start another thread: ") + error.what() +
        "; start again later, or raise the limit of processes (ulimit -u, or the pod's limit of pids)");
    return static_cast<int>(ExitCode::kStartAgain);
  }
  const std::string thrown = std::string(whose) + " threw " + name_of_type(error) + ": " + error.what();
  const auto meaning = error_explainer() ? error_explainer()(error) : std::nullopt;
  say(thrown);
  if (!meaning) return 1;
  say(meaning->sentence);
  if (meaning->must_skip_teardown) skip_teardown_if([] { return true; });
  return meaning->exit_code;
}

}  // namespace

void set_error_explainer(std::function<std::optional<ErrorMeaning>(const std::exception&)> explain) {
  error_explainer() = std::move(explain);
}

bool is_help_request(const Result<Options>& options) {
  if (!options) fail(exit_code_of(options.error().kind()), options.error().message());
  if (options->help.empty()) return false;
  std::fputs(options->help.c_str(), stdout);
  std::fflush(stdout);
  return true;
}

int report_exception(std::string_view whose) {
  try {
    throw;
  } catch (const Failure& failure) {
    if (is_success_code(failure.exit_code)) {
      say(std::string(whose) + " threw a ratoon::Failure with exit code " +
          std::to_string(failure.exit_code) +
          ", which means a complete run; the process ends with 1: " + failure.what());
      return 1;
    }
    say(failure.what());
    return failure.exit_code;
  } catch (const Interrupted& why) {
    say(why.what());
    return static_cast<int>(ExitCode::kStartAgain);
  } catch (const std::exception& error) {
    return report_program_error(whose, error);
  } catch (...) {
    say(std::string(whose) + " threw an object that is not a std::exception");
    return 1;
  }
}

}  // namespace ratoon::session
