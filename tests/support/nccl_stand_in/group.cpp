#include "tests/support/nccl_stand_in/group.h"

#include <utility>
#include <vector>

#include "tests/support/nccl_stand_in/last_words.h"

namespace ratoon::test::nccl_stand_in {
namespace {

struct Asked {
  std::shared_ptr<Communicator> communicator;
  Task task;
};

thread_local int group_depth = 0;
thread_local std::vector<Asked> asked_in_group;

ncclResult_t begin(const std::vector<Asked>& asked) {
  for (const Asked& one : asked) one.communicator->post(one.task);
  ncclResult_t result = ncclSuccess;
  for (const Asked& one : asked) {
    const ncclResult_t of_one = one.communicator->result_of_posted();
    if (result == ncclSuccess || (result == ncclInProgress && of_one != ncclSuccess)) result = of_one;
  }
  return result;
}

}  // namespace

void start_group() {
  ++group_depth;
}

ncclResult_t end_group() {
  if (group_depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd() without ncclGroupStart()");
  if (--group_depth > 0) return ncclSuccess;
  return begin(std::exchange(asked_in_group, {}));
}

ncclResult_t ask(const std::shared_ptr<Communicator>& communicator, const Task& task) {
  if (group_depth == 0) return begin({{communicator, task}});
  asked_in_group.push_back({communicator, task});
  return communicator->is_blocking() ? ncclSuccess : ncclInProgress;
}

}  // namespace ratoon::test::nccl_stand_in
