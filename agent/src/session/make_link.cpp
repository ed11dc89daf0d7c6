#include "agent/src/session/alone_link.h"
#include "agent/src/session/coordinator_link.h"
#include "agent/src/session/group_link.h"

namespace ratoon::session {

Result<std::unique_ptr<Link>> make_link(const Options& options,
                                        const std::shared_ptr<checkpoint::PatientCalls>& calls,
                                        const std::function<bool()>& goes_on) {
  if (!options.member.coordinator_url.empty()) return CoordinatorLink::open(options, *calls, {}, goes_on);
  return options.group.size > 1 ? GroupLink::open(options, calls, {}, goes_on)
                                : AloneLink::open(options, *calls, goes_on);
}

}  // namespace ratoon::session
