// A small data set for a first run: grey pictures of four shapes.
#pragma once

#include <cstdint>
#include <string>

#include <ratoon/session.h>

// Creates a data set of shapes in `folder` unless it exists. Rank 0 creates the data set, the other ranks
// wait for it. If rank 0 is killed while it does so, the next start creates the data set again, because a
// folder without an index is not a data set.
void make_shapes(ratoon::Session& session, const std::string& folder, std::uint64_t samples);
