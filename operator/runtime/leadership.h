// Leadership: whether this operator is the one that runs the jobs, and, while it is, that members find it.
//
// Thread contract: begin() and lead_members_here() are called by one thread, the rest by any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "operator/kube/election.h"
#include "operator/runtime/api_client.h"
#include "operator/runtime/door_plate.h"
#include "operator/runtime/elector.h"
#include "operator/runtime/fence.h"
#include "operator/runtime/whereabouts.h"

namespace ratoon::runtime {

struct LeadershipOptions {
  bool is_elected = false;  // otherwise there is one operator and it always leads
  std::string lease_name;
  kube::Candidate self;
  std::optional<OwnDoor> own_door;
  std::uint16_t port = 0;  // of the door
};

class Leadership {
 public:
  // The clock outlives it. It takes part from begin() on.
  Leadership(const kube::Access& access, const Clock& clock, Logger log, ApiClient::OnCall on_call,
             LeadershipOptions options);

  void begin();

  [[nodiscard]] bool is_leading() const;
  [[nodiscard]] bool is_lost() const { return elector_ && elector_->is_lost(); }
  [[nodiscard]] bool is_known() const { return !options_.is_elected || (elector_ && elector_->is_known()); }
  // What closes when we do not lead; null where that cannot be.
  [[nodiscard]] const Fence* fence() const { return options_.is_elected ? &fence_ : nullptr; }

  // Whether members are led here; looks and mends now and then.
  bool lead_members_here();

 private:
  const Clock& clock_;
  const Logger log_;
  const LeadershipOptions options_;
  Fence fence_;
  const ApiClient lease_client_;  // on connections of its own, so that no other call delays a renewal
  const ApiClient client_;
  std::optional<DoorPlate> plate_;
  std::unique_ptr<Elector> elector_;
  std::optional<Timestamp> look_at_;  // when the plate is to be looked at again
  bool is_up_ = false;
};

}  // namespace ratoon::runtime
