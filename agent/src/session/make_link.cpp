#include "agent/src/session/alone_link.h"
#include "agent/src/session/coordinator_link.h"

namespace ratoon::session {

Result<std::unique_ptr<Link>> make_link(const Options& options) {
  return options.member.coordinator_url.empty() ? AloneLink::open(options) : CoordinatorLink::open(options);
}

}  // namespace ratoon::session
