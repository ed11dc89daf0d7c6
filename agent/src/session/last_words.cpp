#include "agent/src/session/last_words.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#include <cxxabi.h>

#include "agent/src/session/fail.h"
#include "agent/src/session/say.h"

namespace ratoon::session {
namespace {

// As it stands in a program. The operator tells faults of a program from others by it.
std::string name_of_type(const std::exception& error) {
  int problem = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &problem), &std::free);
  return name ? name.get() : typeid(error).name();
}

}  // namespace

bool is_only_asked_for_help(const Result<Options>& options) {
  if (!options) fail(ExitCode::kConfiguration, options.error().message());
  if (options->help.empty()) return false;
  std::fputs(options->help.c_str(), stdout);
  std::fflush(stdout);
  return true;
}

int say_why(std::string_view whose) {
  try {
    throw;
  } catch (const Failure& failure) {
    say(failure.what());
    return failure.exit_code;
  } catch (const Interrupted& why) {
    say(why.what());
    return static_cast<int>(ExitCode::kStartAgain);
  } catch (const std::exception& error) {
    say(std::string(whose) + " threw " + name_of_type(error) + ": " + error.what());
    return 1;
  } catch (...) {
    say(std::string(whose) + " threw what is no std::exception");
    return 1;
  }
}

}  // namespace ratoon::session
