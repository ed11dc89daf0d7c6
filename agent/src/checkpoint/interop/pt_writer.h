// Writes tensors as torch.save writes a dictionary {name: tensor}. torch.load() in Python reads the file:
//
//   torch.load(path, weights_only=True)
//
// Python gets equal tensors (tried with PyTorch 2.11). docs/train/interop.md describes the file.
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

// Equal tensors under equal names give the same file. After an error the bytes in `sink` are not valid.
[[nodiscard]] Result<void> write_pt(std::span<const TensorSource> tensors, ByteSink& sink,
                                    const PtWriteOptions& options = {});

}  // namespace ratoon::checkpoint
