// Checks amounts of training in the format of the agent's options: 90ep, 5000st, 12h.
#pragma once

#include <string_view>

namespace ratoon::api {

// An amount is a number above 0 and a unit: 500st (optimizer steps), 500ba (batches), 1000sp (samples), 90ep
// or 0.25ep (epochs), or a time such as 45s, 10m, 1h30m, 2d. The agent accepts more amounts: it also accepts
// times of many years, which this function refuses.
[[nodiscard]] bool is_training_amount(std::string_view text);

}  // namespace ratoon::api
