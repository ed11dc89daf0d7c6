// examples/digits, whose steps wait for the gate of a test.
//
//   TEST_STEP_GATE=file gated_digits ... as digits
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include <ratoon/torch.h>

#include "examples/digits/flags.h"
#include "examples/digits/glyphs.h"
#include "examples/digits/net.h"
#include "tests/torch/gated_steps.h"

// The loop of the example uses these names for its step and session, and takes samples once in a step.
#define take(rank, size) take((ratoon::test::wait_at_gate(step, session), rank), size)

#include "examples/digits/digits.cpp"  // NOLINT(bugprone-suspicious-include): the example as it is
