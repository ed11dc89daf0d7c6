// AppendSink: a function that takes bytes, as a ByteSink; save_file_atomically() hands out such functions.
#pragma once

#include <functional>
#include <span>

#include "agent/src/checkpoint/interop/byte_sink.h"

namespace ratoon::checkpoint {

class AppendSink final : public ByteSink {
 public:
  using Append = std::function<Result<void>(std::span<const std::byte>)>;

  // `append` outlives it.
  explicit AppendSink(const Append& append) : append_(append) {}
  Result<void> append(std::span<const std::byte> bytes) override { return append_(bytes); }

 private:
  const Append& append_;
};

}  // namespace ratoon::checkpoint
