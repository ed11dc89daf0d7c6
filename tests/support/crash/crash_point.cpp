#include "tests/support/crash/crash_point.h"

#include <sstream>

namespace ratoon::test {

std::string words_of(const CrashPoint& point) {
  return std::to_string(static_cast<int>(point.call)) + ":" + point.path + ":" +
         std::to_string(static_cast<int>(point.moment)) + ":" + std::to_string(point.count);
}

std::optional<CrashPoint> parse_point(const std::string& words) {
  std::istringstream in(words);
  std::string call;
  std::string moment;
  CrashPoint point;
  if (!std::getline(in, call, ':') || !std::getline(in, point.path, ':') || !std::getline(in, moment, ':') ||
      !(in >> point.count))
    return std::nullopt;
  point.call = static_cast<DiskCall>(std::stoi(call));
  point.moment = static_cast<Moment>(std::stoi(moment));
  return point;
}

DiskObserver at_point(const CrashPoint& point, std::function<void()> act) {
  return [point, act = std::move(act), left = point.count](DiskCall call, const std::string& path,
                                                           Moment moment) mutable {
    if (call != point.call || moment != point.moment || !path.starts_with(point.path)) return;
    if (left > 0 && --left == 0) act();
  };
}

}  // namespace ratoon::test
