// DirectLane: a lane whose calls are made by the thread that asks for them, from the first byte to the last:
// no other thread takes part, so nothing is handed over and nobody is woken.
#pragma once

#include <memory>
#include <string>

#include <ratoon/result.h>

#include "base/core/unique_fd.h"
#include "base/http/lane.h"
#include "base/http/tls_client.h"

namespace ratoon::http {

// `tls` is null for http.
[[nodiscard]] Result<std::unique_ptr<Lane>> make_direct_lane(const Url& url, std::string expected_name,
                                                             UniqueFd connected,
                                                             std::shared_ptr<const TlsClient> tls);

}  // namespace ratoon::http
