// WatchDecoder converts the bytes of a watch, in pieces of any size, into events.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ratoon::kube {

enum class WatchEventKind {
  kAdded,
  kModified,
  kDeleted,
  kBookmark,  // nothing changed up to this resourceVersion
  kError,     // `object` is the server's Status
  kBroken,    // a line that is not an event; `complaint` has the reason, and its content is lost
};

struct WatchEvent {
  WatchEventKind kind = WatchEventKind::kBroken;
  nlohmann::json object{};
  std::string complaint{};
};

// The record of which client wrote which field of an object. The record is as large as all the rest of the
// object, and is not needed here, so it is not read.
inline constexpr std::string_view kLeftOutList = "managedFields";

class WatchDecoder {
 public:
  // The limit is more than the server stores of one object: 1.5 MiB, each byte of which may be six in JSON.
  static constexpr std::size_t kLineBytesMax = 16 * 1024 * 1024;

  explicit WatchDecoder(std::size_t line_bytes_max = kLineBytesMax) : line_bytes_max_(line_bytes_max) {}

  // Calls `take` for each line that `bytes` completes. A line that is too long is skipped to its end.
  void feed(std::string_view bytes, const std::function<void(WatchEvent)>& take);

 private:
  [[nodiscard]] WatchEvent decode(std::string_view line) const;

  std::size_t line_bytes_max_;
  std::string rest_;          // the beginning of an incomplete line
  bool is_skipping_ = false;  // within a line that is too long
};

}  // namespace ratoon::kube
