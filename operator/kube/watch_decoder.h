// WatchDecoder converts the bytes of a Kubernetes watch, which arrive in pieces of any size, to events.
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

// The list in an object that records which client wrote which field. The decoder skips managedFields, which
// is as large as the rest of the object and of no use to the operator.
inline constexpr std::string_view kLeftOutList = "managedFields";

class WatchDecoder {
 public:
  // The longest accepted line: the server stores objects of at most 1.5 MiB, and JSON may write 6 bytes for
  // one.
  static constexpr std::size_t kLineBytesMax = 16 * 1024 * 1024;

  explicit WatchDecoder(std::size_t line_bytes_max = kLineBytesMax) : line_bytes_max_(line_bytes_max) {}

  // Calls `take` for each event (line) that `bytes` completes. Skips a line that is too long.
  void feed(std::string_view bytes, const std::function<void(WatchEvent)>& take);

 private:
  [[nodiscard]] WatchEvent decode(std::string_view line) const;

  std::size_t line_bytes_max_;
  std::string rest_;          // the beginning of an incomplete line
  bool is_skipping_ = false;  // within a line that is too long
};

}  // namespace ratoon::kube
