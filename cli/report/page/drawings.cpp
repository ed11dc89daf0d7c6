#include "cli/report/page/drawings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/report/page/axis.h"
#include "cli/report/page/html.h"
#include "cli/text/text_format.h"

namespace ratoon::cli {
namespace {

constexpr double kCurveHeight = 170;
constexpr double kRateHeight = 84;
constexpr double kRowHeight = 22;
constexpr double kSavesHeight = 20;

std::string begin_svg(double height, const std::string& label) {
  return "<svg viewBox=\"0 0 1000 " + pixel_text(height) + "\" role=\"img\" aria-label=\"" + escaped(label) +
         "\">";
}

std::string text_at(double x, double y, const char* kind, const std::string& text) {
  return "<text x=\"" + pixel_text(x) + "\" y=\"" + pixel_text(y) + "\" class=\"" + kind + "\">" +
         escaped(text) + "</text>";
}

// Draws the name of a point on the horizontal axis below the point. At the right edge of the drawing, where
// half of the name would be cut off, the name ends at the edge.
std::string draw_axis_label(double x, double y, const std::string& name) {
  constexpr double kHalfCharacter = 3.5;
  constexpr double kEdge = 1000;
  const bool is_cut_off = x + kHalfCharacter * static_cast<double>(name.size()) > kEdge;
  return text_at(is_cut_off ? kEdge : x, y, is_cut_off ? "scale" : "moment", name);
}

std::string line_at(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line x1=\"" + pixel_text(x1) + "\" y1=\"" + pixel_text(y1) + "\" x2=\"" + pixel_text(x2) +
         "\" y2=\"" + pixel_text(y2) + "\" class=\"" + kind + "\"/>";
}

std::string box_at(double x, double y, double width, double height, const std::string& kind,
                   const std::string& what) {
  return "<rect x=\"" + pixel_text(x) + "\" y=\"" + pixel_text(y) + "\" width=\"" +
         pixel_text(std::max(width, 0.2)) + "\" height=\"" + pixel_text(height) + "\" class=\"" + kind +
         "\"><title>" + escaped(what) + "</title></rect>";
}

std::string draw_losses(const Report& report, double top, double bottom) {
  const TimeAxis time{report.length};
  std::string drawn;
  for (const TimelineMark& loss : report.losses)
    drawn += line_at(time.x(loss.at), top, time.x(loss.at), bottom, "loss");
  return drawn;
}

std::string draw_grid(const ValueAxis& axis, int wanted) {
  std::string drawn;
  for (const double value : value_ticks(axis.low, axis.high, wanted)) {
    drawn += line_at(kPlotLeft, axis.y(value), kPlotRight, axis.y(value), "grid");
    drawn += text_at(kPlotLeft - 8, axis.y(value) + 4, "scale", number_text(value));
  }
  return drawn;
}

std::string draw_curve_line(const CurveLine& line, const TimeAxis& along, const ValueAxis& axis) {
  const std::string kind = line.is_kept ? "" : " undone";
  const std::string title = "<title>attempt " + std::to_string(line.attempt) +
                            (line.is_kept ? "" : ": made again by a later attempt") + "</title>";
  // An SVG path through one point draws nothing, so draw a circle.
  if (line.points.size() == 1) {
    const CurvePoint& only = line.points.front();
    return "<circle cx=\"" + pixel_text(along.x(only.at)) + "\" cy=\"" + pixel_text(axis.y(only.value)) +
           "\" r=\"2.4\" class=\"dot" + kind + "\">" + title + "</circle>";
  }
  std::string path;
  for (const CurvePoint& point : line.points)
    path +=
        (path.empty() ? "M" : "L") + pixel_text(along.x(point.at)) + " " + pixel_text(axis.y(point.value));
  return "<path d=\"" + path + "\" class=\"curve" + kind + "\">" + title + "</path>";
}

// Draws first the lines of repeated steps, and on top of them the lines of steps that are in the weights.
std::string draw_curve_lines(const std::vector<CurveLine>& lines, const TimeAxis& along,
                             const ValueAxis& axis) {
  std::string drawn;
  for (const bool is_kept : {false, true})
    for (const CurveLine& line : lines)
      if (line.is_kept == is_kept) drawn += draw_curve_line(line, along, axis);
  return drawn;
}

bool contains_name(const std::string& name, const auto& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string colour_of(const std::string& name) {
  static constexpr std::array<std::string_view, 21> kNames = {
      "unfinished", "suspended",  "useful", "recomputed", "save_stall", "data_wait", "waiting_for_capacity",
      "starting",   "restarting", "ending", "hung",       "validation", "away",      "absent",
      "detect",     "decide",     "place",  "start",      "rendezvous", "load",      "first step"};
  if (!contains_name(name, kNames)) return "c-other";
  std::string kind = "c-" + name;
  std::ranges::replace(kind, ' ', '_');
  return kind;
}

std::string title_of_part(const std::string& part) {
  std::string title = part == "away" ? "not running" : part == "absent" ? "no process" : part;
  std::ranges::replace(title, '_', ' ');
  return title;
}

std::string draw_curve(const Curve& curve, const Report& report) {
  const ValueAxis axis = axis_around(curve, 10, kCurveHeight - 8);
  const TimeAxis time{report.length};
  return begin_svg(kCurveHeight, curve.name + " over time") + draw_grid(axis, 4) +
         draw_losses(report, 4, kCurveHeight) + draw_curve_lines(curve.lines, time, axis) + "</svg>";
}

std::string draw_curve_by_step(const Curve& curve, const Report& report) {
  const double bottom = kCurveHeight - 8;
  const ValueAxis axis = axis_around(curve, 10, bottom);
  const auto steps = static_cast<double>(report.step);
  const TimeAxis along{steps};
  std::string drawn = begin_svg(kCurveHeight + 22, curve.name + " by step") + draw_grid(axis, 4) +
                      draw_curve_lines(curve.lines_by_step, along, axis);
  drawn += text_at(kPlotLeft - 8, kCurveHeight + 14, "scale", "step");
  for (const double step : count_ticks(steps, 8)) {
    drawn += line_at(along.x(step), bottom, along.x(step), bottom + 5, "tick");
    drawn += draw_axis_label(along.x(step), kCurveHeight + 14, number_text(step));
  }
  return drawn + "</svg>";
}

std::string draw_rate(const Report& report) {
  double highest = 0;
  for (const CurvePoint& point : report.rate) highest = std::max(highest, point.value);
  const ValueAxis axis{
      .low = 0, .high = highest > 0 ? highest * 1.08 : 1, .top = 6, .bottom = kRateHeight - 4};
  const TimeAxis time{report.length};
  std::string path = "M" + pixel_text(kPlotLeft) + " " + pixel_text(axis.bottom);
  const double half = report.rate.size() < 2 ? 0 : (report.rate[1].at - report.rate[0].at) / 2;
  for (const CurvePoint& point : report.rate) {
    path += "L" + pixel_text(time.x(point.at - half)) + " " + pixel_text(axis.y(point.value));
    path += "L" + pixel_text(time.x(point.at + half)) + " " + pixel_text(axis.y(point.value));
  }
  path += "L" + pixel_text(kPlotRight) + " " + pixel_text(axis.bottom) + "Z";
  return begin_svg(kRateHeight + 4, "steps a second over time") + draw_grid(axis, 2) + "<path d=\"" + path +
         "\" class=\"rate\"/>" + draw_losses(report, 0, kRateHeight) + "</svg>";
}

std::string draw_timeline(const Report& report) {
  const TimeAxis time{report.length};
  const double rows_top = kSavesHeight + 12;
  const double rows_bottom = rows_top + kRowHeight * static_cast<double>(report.rows.size());
  std::string drawn = begin_svg(rows_bottom + 26, "where the time of each member went");
  drawn += text_at(kPlotLeft - 8, 16, "scale", "saves");
  for (const TimelineMark& save : report.saves) {
    const std::string x = pixel_text(time.x(save.at));
    drawn += "<path d=\"M" + x + " 6v12\" class=\"save\"><title>" + escaped(save.what) + " at " +
             seconds_text(save.at) + "</title></path>";
  }
  double top = rows_top;
  for (const TimelineRow& row : report.rows) {
    drawn += text_at(kPlotLeft - 8, top + 14, "scale", row.name);
    for (const TimelineBar& bar : row.bars)
      drawn +=
          box_at(time.x(bar.begin), top + 2, time.x(bar.end) - time.x(bar.begin), kRowHeight - 5,
                 colour_of(bar.part),
                 title_of_part(bar.part) + " " + seconds_text(bar.end - bar.begin) + " (" + bar.what + ")");
    top += kRowHeight;
  }
  for (const double at : time_ticks(report.length)) {
    drawn += line_at(time.x(at), rows_bottom + 2, time.x(at), rows_bottom + 7, "tick");
    drawn +=
        draw_axis_label(time.x(at), rows_bottom + 20, at < 60 ? number_text(at) + " s" : duration_text(at));
  }
  for (const TimelineMark& loss : report.losses) {
    const std::string x = pixel_text(time.x(loss.at));
    drawn += line_at(time.x(loss.at), 0, time.x(loss.at), rows_bottom, "loss");
    drawn += "<path d=\"M" + x + " " + pixel_text(rows_top) + "l-5 -9h10z\" class=\"lost\"><title>" +
             escaped(loss.what) + " at " + seconds_text(loss.at) + "</title></path>";
  }
  return drawn + "</svg>";
}

std::string draw_account(const Report& report) {
  double whole = 0;
  for (const auto& [part, spent] : report.account) whole += spent;
  std::string drawn =
      "<svg viewBox=\"0 0 1000 30\" class=\"account\" role=\"img\" "
      "aria-label=\"where the wall time went\" preserveAspectRatio=\"none\">";
  double x = 0;
  for (const auto& [part, spent] : report.account) {
    const double width = whole > 0 ? spent / whole * 1000 : 0;
    drawn += box_at(x, 0, width, 30, colour_of(part),
                    title_of_part(part) + ": " + seconds_text(spent) + ", " + percent_text(spent / whole));
    x += width;
  }
  return drawn + "</svg>";
}

std::string draw_recovery(const Recovery& recovery, double longest) {
  std::string drawn =
      "<svg viewBox=\"0 0 400 16\" class=\"fall\" role=\"img\" aria-label=\"phases\" "
      "preserveAspectRatio=\"none\">";
  double x = 0;
  for (const auto& [phase, spent] : recovery.phases) {
    const double width = longest > 0 ? spent / longest * 400 : 0;
    if (spent > 0) drawn += box_at(x, 1, width, 14, colour_of(phase), phase + ": " + seconds_text(spent));
    x += width;
  }
  return drawn + "</svg>";
}

}  // namespace ratoon::cli
