// Writes tensors as torch.save writes a dictionary {name: tensor}. torch.load() in Python reads the file:
//
//   torch.load(path, weights_only=True)
//
// The tensors that Python loads are equal to the written tensors (tested with PyTorch 2.11).
// docs/train/interop.md describes the file.
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

// Tensors with equal names and contents always give the same bytes. If write_pt() returns an error, the bytes
// in `sink` are no valid file.
[[nodiscard]] Result<void> write_pt(std::span<const TensorSource> tensors, ByteSink& sink,
                                    const PtWriteOptions& options = {});

}  // namespace ratoon::checkpoint
