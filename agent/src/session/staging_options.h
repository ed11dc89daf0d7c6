// What the options of a run mean for its saver.
#pragma once

#include <ratoon/options.h>

#include "agent/src/checkpoint/save_work.h"

namespace ratoon::session {

[[nodiscard]] checkpoint::SaverOptions saver_options(const Options& options);

}  // namespace ratoon::session
