// Defines make_link() for builds without HTTP (RATOON_WITH_HTTP=OFF).
#include "agent/src/session/link/group_link.h"
#include "agent/src/session/link/single_process_link.h"

namespace ratoon::session {

Result<std::unique_ptr<Link>> make_link(const Options& options,
                                        const std::shared_ptr<checkpoint::CallsWithTimeout>& calls,
                                        const std::function<bool()>& goes_on) {
  if (options.member.coordinator_url.empty())
    return options.group.size > 1 ? GroupLink::open(options, calls, {}, goes_on)
                                  : SingleProcessLink::open(options, *calls, goes_on);
  return Error(ErrorKind::kInvalid,
               "this build of ratoon has no HTTP (RATOON_WITH_HTTP=OFF) and cannot call a coordinator: use a "
               "full build");
}

}  // namespace ratoon::session
