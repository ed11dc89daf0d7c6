// A job's identity is a random text that distinguishes the job from all other jobs. All processes and
// restarts of a job have the same identity, and no other job has this identity. The files of claims and
// checkpoints contain the identity.
//
//   of a coordinator's job     its UID (RATOON_JOB_UID): a cluster's, or that of the folder of `ratoon run`
//   in a folder, without one   the run's folder has it in the file `owner`, made by the first start: random
//                              digits, and those of folder_inode_hash(). Where the folder is a copy, and its
//                              process alone, its own mark counts: ranks on several hosts may see several
//                              marks
//   in a bucket, without one   that of the machine's start and its network namespace, as far as the lock of
//                              such a run reaches (folder_lock.h)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ratoon/options.h>
#include <ratoon/result.h>

#include "agent/src/checkpoint/disk/disk.h"

namespace ratoon::session {

// Returns the identity of this process's job. An empty text means that identities cannot be compared: the
// launcher gave no identity, or the file `owner` in the run's folder is damaged or cannot be created. Returns
// an error if the file `owner` exists but cannot be read, because no comparison with an unknown identity is
// possible. The function `folder_inode_hash` is called only if the run has a folder. `writer` is the name
// that this process uses for its temporary files.
[[nodiscard]] Result<std::string> job_identity_of(
    const Options& options, checkpoint::Disk& home,
    const std::function<Result<std::uint64_t>()>& folder_inode_hash, std::string_view writer);

}  // namespace ratoon::session
