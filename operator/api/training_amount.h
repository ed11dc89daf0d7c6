// An amount of training, as the agent's options write it: 90ep, 5000st, 12h.
#pragma once

#include <string_view>

namespace ratoon::api {

// A number above 0 and a unit: 500st (optimizer steps), 500ba (batches), 1000sp (samples), 90ep or 0.25ep
// (epochs), or a time such as 45s, 10m, 1h30m, 2d. The agent accepts all amounts of this form. The agent also
// accepts times of many years, which are refused here, because the agent checks only their sum.
[[nodiscard]] bool is_training_amount(std::string_view text);

}  // namespace ratoon::api
