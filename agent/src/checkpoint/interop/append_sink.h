// AppendSink: a ByteSink that passes bytes on to a function, such as the `append` of save_file_atomically().
#pragma once

#include <functional>
#include <span>

#include "agent/src/checkpoint/interop/byte_sink.h"

namespace ratoon::checkpoint {

class AppendSink final : public ByteSink {
 public:
  using Append = std::function<Result<void>(std::span<const std::byte>)>;

  // The function `append` must outlive this AppendSink.
  explicit AppendSink(const Append& append) : append_(append) {}
  Result<void> append(std::span<const std::byte> bytes) override { return append_(bytes); }

 private:
  const Append& append_;
};

}  // namespace ratoon::checkpoint
