#include <cmath>
#include <limits>
#include <stdexcept>

#include <ratoon/failure.h>
#include <ratoon/session/early_stopping.h>

#include "agent/src/metrics/double_bits.h"
#include "base/contract/exit_code.h"
#include "base/contract/state_digest.h"

namespace ratoon {
namespace {

using nlohmann::json;

constexpr std::size_t kStopStateBytesMax = 4096;
constexpr int kStopStateJsonDepthMax = 2;

}  // namespace

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(options) {
  if (!(options_.min_delta >= 0))
    throw std::invalid_argument("min_delta of an EarlyStopping must be 0 or more, found " +
                                std::to_string(options_.min_delta));
}

bool EarlyStopping::is_over(double value) {
  const double gain = options_.is_lower_better ? best_ - value : value - best_;
  const bool is_better = !std::isnan(value) && (!has_best_ || gain > options_.min_delta);
  if (is_better) best_ = value;
  has_best_ = has_best_ || is_better;
  values_since_best_ = is_better ? 0 : values_since_best_ + 1;
  return values_since_best_ >= options_.patience && !is_better;
}

std::string EarlyStopping::save_state() const {
  return encode_state_with_digest({{"best", metrics::double_to_hex(best_)},
                                   {"has_best", has_best_},
                                   {"values_since_best", values_since_best_}});
}

void EarlyStopping::load_state(std::string_view state) {
  const auto refuse = [](const std::string& why) {
    throw Failure(static_cast<int>(ExitCode::kConfiguration), "the state is not of an EarlyStopping: " + why);
  };
  const auto body = parse_json(state, kStopStateBytesMax, kStopStateJsonDepthMax);
  if (!body) return refuse(body.error().message());
  if (const std::string damage = find_damage(state, *body, {}); !damage.empty()) return refuse(damage);
  std::optional<Error> complaint;
  Fields f(*body, "early_stopping", complaint);
  check_state_format(f);
  const double best = metrics::read_double_bits(f, "best");
  const bool has_best = f.flag("has_best");
  const std::uint64_t since = f.whole("values_since_best", std::numeric_limits<std::uint64_t>::max());
  if (complaint) return refuse(complaint->message());
  best_ = best;
  has_best_ = has_best;
  values_since_best_ = since;
}

}  // namespace ratoon
