// The functions of SavePipeline for tensors that are saved in parts.
#include "agent/src/checkpoint/saver/save_pipeline.h"

namespace ratoon::checkpoint {

void SavePipeline::use_parts_of(const CheckpointId& id, const PackRecord& pack) {
  const MutexLock lock(mutex_);
  if (save_context_ && save_context_->find_store_copy) return;  // as in record_committed()
  known_parts_ = std::make_shared<const CommittedParts>(id, pack.tensors_in_parts);
}

void SavePipeline::write_slot_info(std::size_t number) {
  const bool is_complete = slots_[number].parts.tensors.empty();
  slots_[number].slab.write_info(is_complete ? slot_table_[number] : SlotInfo());
}

void SavePipeline::forget_parts_after(const Error& why) {
  const ErrorKind kind = why.kind();
  if (kind == ErrorKind::kConflict || kind == ErrorKind::kInvalid || kind == ErrorKind::kCorrupted ||
      kind == ErrorKind::kNotFound)
    known_parts_ = std::make_shared<const CommittedParts>();
}

}  // namespace ratoon::checkpoint
