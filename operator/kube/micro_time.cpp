#include "operator/kube/micro_time.h"

namespace ratoon::kube {

std::string format_micro_time(WallTime time) {
  std::string text = format_rfc3339(time);
  if (text.ends_with('Z')) text.insert(text.size() - 1, "000");
  return text;
}

}  // namespace ratoon::kube
