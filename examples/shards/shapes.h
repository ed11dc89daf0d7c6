// A data set to begin with: small grey pictures of four shapes.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/session.h>

// Sees to it that `folder` holds a data set of shapes. Rank 0 makes it, the other ranks wait for it. Whoever
// is killed while it is made begins anew: without its index it is none.
void make_shapes(ratoon::Session& session, const std::string& folder, std::uint64_t samples);
