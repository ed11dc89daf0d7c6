// Writes tensors as torch.save writes a dictionary {name: tensor}: a file that
//
//   torch.load(path, weights_only=True)
//
// reads as equal tensors (tried with PyTorch 2.11). docs/train/interop.md says what is in it.
//
//   auto source = source_of(view);
//   auto written = write_pt(std::span(&*source, 1), sink);
#pragma once

#include <span>
#include <string>

#include <ratoon/result.h>

#include "agent/src/checkpoint/interop/byte_sink.h"
#include "agent/src/checkpoint/interop/tensor_source.h"

namespace ratoon::checkpoint {

struct PtWriteOptions {
  std::string archive = "archive";  // the folder in the file; torch.save takes the file's name without ending
};

// Equal tensors under equal names make the same bytes. After an error the bytes in the sink are of no use.
[[nodiscard]] Result<void> write_pt(std::span<const TensorSource> tensors, ByteSink& sink,
                                    const PtWriteOptions& options = {});

}  // namespace ratoon::checkpoint
