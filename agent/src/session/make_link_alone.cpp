// For builds without base/http.
#include "agent/src/session/alone_link.h"
#include "agent/src/session/group_link.h"

namespace ratoon::session {

Result<std::unique_ptr<Link>> make_link(const Options& options,
                                        const std::shared_ptr<checkpoint::PatientCalls>& calls,
                                        const std::function<bool()>& goes_on) {
  if (options.member.coordinator_url.empty())
    return options.group.size > 1 ? GroupLink::open(options, calls, {}, goes_on)
                                  : AloneLink::open(options, *calls, goes_on);
  return Error(ErrorKind::kInvalid,
               "this build of ratoon has no HTTP (RATOON_WITH_HTTP=OFF) and cannot call a coordinator: use a "
               "full build");
}

}  // namespace ratoon::session
