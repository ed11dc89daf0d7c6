// NCCL's C interface for ranks that are threads of one process and train on the test accelerator. It has
// NCCL's manners: a sum is done when it is queued, its error is told only when it is asked for, a rank that
// is lost leaves the others waiting until they abort, and after an abort the numbers are garbage. It stands
// for libnccl in tests of the one file that calls NCCL; sums are made in the order of the ranks.
#pragma once

namespace ratoon::test::nccl {

// From now on each communicator says that a rank is lost.
void lose_a_rank();
// From now on ranks that connect are refused as ranks that share a device are.
void refuse_ranks();
// It says that it is older than the one that its user was compiled against.
void become_older();
// So long ncclCommAbort() takes, as it does with NCCL.
void set_milliseconds_of_abort(int milliseconds);
void reset();

// Communicators that were made and neither destroyed nor aborted.
[[nodiscard]] int open_communicators();

}  // namespace ratoon::test::nccl
