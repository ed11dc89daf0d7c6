// Phase: a part of a step. Session::in() records the phase for the time accounting and for the hang
// detection.
//
//   const auto validates = session.in(ratoon::Phase::kValidation);
//   validate(net);
#pragma once

namespace ratoon {

// In phase kData, set by DataLoader::next(), the rank waits for samples. In phase kCollective, set by
// average_gradients(), the rank waits for other ranks. A kValidation phase of any duration never counts as a
// hang. If a validated step is lost and repeated, the program validates it again.
enum class Phase { kData, kValidation, kCollective };

}  // namespace ratoon
