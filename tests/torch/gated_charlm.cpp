// examples/charlm, whose steps wait for the gate of a test.
//
//   TEST_STEP_GATE=file gated_charlm ... as charlm
#include <torch/optim/adamw.h>

#include <ratoon/torch.h>
#include <ratoon/torch_stream.h>

#include "examples/charlm/corpus.h"
#include "examples/charlm/flags.h"
#include "examples/charlm/gpt.h"
#include "tests/torch/gated_steps.h"

// The loop of the example uses these names for its step and session, and takes samples once in a step.
#define take(rank, size) take((ratoon::test::wait_at_gate(step, session), rank), size)

#include "examples/charlm/charlm.cpp"  // NOLINT(bugprone-suspicious-include): the example as it is
