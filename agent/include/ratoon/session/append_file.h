// AppendFile: a text file in the run's folder to which the program appends rows, such as files/measures.csv.
// After a resume, the file has no row twice.
//
//   ratoon::AppendFile table(session, "measures.csv");
//   session.track("table", table);
//   if (session.resumes_at() == 0) table.write("step,loss\n");
//   for (const std::uint64_t step : session.steps(1000)) table.write(std::to_string(step) + ",0.25\n");
//
// Only rank 0 writes the file; on other ranks write() does nothing. Each checkpoint contains the length of
// the file, which is synced before the save. A resume truncates the file to the length in the checkpoint,
// because the run repeats all later steps. A run that begins at step 0 begins with an empty file. An older
// file of this name is renamed to NAME.old, or to NAME.old.1 and so on if NAME.old exists already. The file
// exists only in the run's folder and is not copied to stores.
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

  // Appends `text` to the file. Before the write, write() calls Session::check(), so that a replaced process
  // throws and writes no row. Throws a Failure if the disk refuses the write, or does not answer within
  // --disk-timeout.
  void write(std::string_view text);

  [[nodiscard]] std::string save_state() const override;
  void load_state(std::string_view state) override;

 private:
  class File;
  const Session& session_;
  std::unique_ptr<File> file_;  // of rank 0
};

}  // namespace ratoon
