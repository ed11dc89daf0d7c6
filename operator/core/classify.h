// Why did a member end? Completion record, then disruption, then exit code, then unknown.
#pragma once

#include <string>

#include "operator/api/pod.h"

namespace ratoon::core {

enum class EndCause {
  kCompleted,    // every process of it reached the end and said so
  kDisruption,   // something outside took it away; free
  kApplication,  // the program failed; counts against maxRestarts
  kFatal,        // the same start would fail again; the job fails
};

struct Ending {
  EndCause cause;
  std::string sentence;  // "exit code 82 (configuration): the same start would fail again"
};

[[nodiscard]] Ending classify(const api::Pod& pod, bool is_completed);

}  // namespace ratoon::core
