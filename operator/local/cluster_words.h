// What of a job means nothing on one machine, so that its user is told once and does not wait for it.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"

namespace ratoon::local {

// A sentence each; none for a job that says nothing but what holds here.
[[nodiscard]] std::vector<std::string> cluster_words(const api::TrainingJob& job);

}  // namespace ratoon::local
