// Everything a decision about one job may look at. There is nothing else: no clock, no client, no memory.
#pragma once

#include <vector>

#include "base/core/clock.h"
#include "operator/api/node.h"
#include "operator/api/pod.h"
#include "operator/api/training_job.h"
#include "operator/api/world.h"

namespace ratoon::core {

struct Observation {
  api::TrainingJob job;
  std::vector<api::Pod> pods;                // all that carry the job's UID
  std::vector<api::ProcessFacts> processes;  // the newest start of each process that spoke to the coordinator
  std::vector<api::Seat> world;              // handed out for status.attempt, if it is formed
  std::vector<api::Node> nodes;              // under these pods, as far as the backend knows any
  WallTime wall_now;                         // for what people read and for what outlives this process
  Timestamp listening_since;  // since when the coordinator hears beats without having stalled itself
};

}  // namespace ratoon::core
