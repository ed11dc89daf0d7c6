// Where the random numbers stood before programs of users saw them.
#pragma once

#include <ratoon/counter_random.h>  // IWYU pragma: export
