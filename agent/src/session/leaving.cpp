#include "agent/src/session/leaving.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "agent/src/session/fail.h"

namespace ratoon::session {
namespace {

struct Conditions {
  std::mutex mutex;
  std::vector<std::function<bool()>> list;  // guarded by mutex
};

Conditions& conditions() {
  static Conditions all;
  return all;
}

}  // namespace

void leave_at_once_if(std::function<bool()> holds) {
  const std::lock_guard lock(conditions().mutex);
  conditions().list.push_back(std::move(holds));
}

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
    std::fprintf(stderr, "ratoon: %s\n", failure.what());
    return failure.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ratoon: %s threw: %s\n", std::string(whose).c_str(), error.what());
    return 1;
  }
}

int leave(int code) {
  const std::lock_guard lock(conditions().mutex);
  const auto& list = conditions().list;
  if (std::none_of(list.begin(), list.end(), [](const auto& holds) { return holds(); })) return code;
  leave_now(code);
}

void leave_now(int code) {
  std::cout.flush();
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace ratoon::session
