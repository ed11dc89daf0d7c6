// AppendFile: a text file of the program in the run's folder, such as a table of measures
// (files/measures.csv), in which a resume repeats no row.
//
//   ratoon::AppendFile table(session, "measures.csv");
//   session.track("table", table);
//   if (session.resumes_at() == 0) table.write("step,loss\n");
//   for (const std::uint64_t step : session.steps(1000)) table.write(std::to_string(step) + ",0.25\n");
//
// Rank 0 writes; on other ranks write() does nothing. Each save syncs the file and notes its length. A resume
// cuts the file back to the length in its checkpoint, because later steps are made again. A run that begins
// anew begins with an empty file: an older file is moved to NAME.old, unless an earlier start of this run
// made the file and saved nothing. The file is only in the run's folder: stores get no copy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ratoon/session.h>
#include <ratoon/stateful.h>

namespace ratoon {

class AppendFile final : public Stateful {
 public:
  // Throws a Failure if `name` is not the name of a file, if the run has no folder, or if the file cannot be
  // opened.
  AppendFile(const Session& session, const std::string& name);
  ~AppendFile() override;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Ends the attempt as Session::check() does: a process that another process has replaced writes no row.
  // Throws a Failure if the disk refuses the write, or does not answer within --disk-timeout.
  void write(std::string_view text);

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;

 private:
  class File;
  const Session& session_;
  std::unique_ptr<File> file_;  // of rank 0
};

}  // namespace ratoon
