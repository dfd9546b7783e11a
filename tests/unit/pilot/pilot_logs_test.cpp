#include "pilot/pilot_logs.h"

#include <doctest/doctest.h>

#include <fstream>

#include "scratch_folder.h"

namespace orchid::pilot {

TEST_CASE("the logs of the last pilots stay, and of those in the queue") {
  const tests::Scratch scratch;
  for (const char* name : {"9.log", "10.log", "11.log", "12.log", "notes.txt", "x.log"})
    std::ofstream(scratch / name) << "said";
  remove_old_logs(scratch.path(), {{.job = 9}}, 2);
  for (const char* name : {"9.log", "11.log", "12.log", "notes.txt", "x.log"})
    CHECK_MESSAGE(std::filesystem::exists(scratch / name), name);
  CHECK_FALSE(std::filesystem::exists(scratch / "10.log"));
  CHECK(log_of(scratch.path(), 12) == scratch / "12.log");
  remove_old_logs(scratch / "nothing", {}, 0);
  CHECK(noted_trouble(scratch.path()).empty());
  note_trouble(scratch.path(), "refused\ntoo wide\n");
  CHECK(noted_trouble(scratch.path()) == std::vector<std::string>{"refused", "too wide"});
  note_trouble(scratch.path(), "");
  CHECK(noted_trouble(scratch.path()).empty());
}

}  // namespace orchid::pilot
