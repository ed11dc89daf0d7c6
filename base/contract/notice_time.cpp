#include "base/contract/notice_time.h"

#include <array>

namespace ratoon {
namespace {

using std::chrono::seconds;

struct Known {
  std::string_view key;
  Duration time;
};
// Google stops a machine 30 s after the preemption notice, and the handler that taints the node uses up some
// of these seconds. Azure taints no node: the program that reads Azure's scheduled events passes the key
// "azure".
constexpr std::array<Known, 5> kKnown = {{{"aws", seconds(120)},
                                          {"aws-node-termination-handler/spot-itn", seconds(120)},
                                          {"gcp", seconds(25)},
                                          {"cloud.google.com/impending-node-termination", seconds(25)},
                                          {"azure", seconds(30)}}};

}  // namespace

Duration notice_time_of(std::string_view key, Duration grace) {
  for (const Known& known : kKnown)
    if (key == known.key) return known.time;
  return grace;
}

}  // namespace ratoon
