// Thins what is drawn to what a screen can show.
#pragma once

#include <vector>

#include "cli/report/report.h"

namespace ratoon::cli {

// Of each column of `span / columns` the lowest and the highest point, in order: no peak is lost. Points are
// in order of time, and finite. Columns are counted from 0, not from the first point, so that lines of one
// curve are thinned alike.
[[nodiscard]] std::vector<Point> thin(const std::vector<Point>& points, double span, std::size_t columns);

// Bars of one part that touch become one; bars shorter than `shortest` are left to the one before them.
[[nodiscard]] std::vector<Bar> thin(std::vector<Bar> bars, double shortest);

}  // namespace ratoon::cli
