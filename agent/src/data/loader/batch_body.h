// BatchBody: the data that all copies of a Batch handle share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ratoon/batch.h>

namespace ratoon::data {

struct LoaderPlan;

struct BatchBody {
  std::uint64_t index = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;
  SlotRange range;
  SlotRange rank_range;
  std::shared_ptr<const LoaderPlan> loader_plan;  // the plan of the batch
  std::vector<Slot> slots;
  std::vector<BatchColumn> columns;
};

}  // namespace ratoon::data
