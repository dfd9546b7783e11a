#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "foundation/files.h"
#include "scratch_folder.h"
#include "terminal/duration.h"
#include "terminal/programs.h"
#include "terminal/shell.h"
#include "terminal/table.h"

namespace orchid::cli {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_CASE("durations are shown with four digits and a fitting unit") {
  CHECK(format_duration(nanoseconds(850)) == "850 ns");
  CHECK(format_duration(nanoseconds(12'345)) == "12.35 µs");
  CHECK(format_duration(microseconds(4560)) == "4.56 ms");
  CHECK(format_duration(milliseconds(7890)) == "7.89 s");
}

TEST_CASE("columns are as wide as their widest cell, in characters and not in bytes") {
  Table table({"name", "time"});
  table.add({"é", "1 µs"});
  table.add({"longer", "2"});
  CHECK(table.text() == "NAME    TIME\né       1 µs\nlonger  2\n");
}

TEST_CASE("failures are one line for people, or one JSON object") {
  std::ostringstream out;
  std::ostringstream err;
  Shell shell(out, err);
  CHECK(shell.report(
            Error({.kind = ErrorKind::evicted, .message = "taken back", .hint = "try again"})) ==
        ExitStatus::evicted);
  CHECK(err.str() == "orchid: taken back; try again\n");
  CHECK(shell.status == ExitStatus::evicted);
  err.str("");
  shell.json = true;
  CHECK(shell.report(Failure{ErrorCode::not_found, "nothing \xff here"}) == ExitStatus::usage);
  CHECK(err.str().find("\"error\":\"not_found\"") != std::string::npos);
  CHECK(err.str().find("\"exit_status\":2") != std::string::npos);
  CHECK(out.str().empty());
}

TEST_CASE("an output file is replaced as a whole, and a device is written to") {
  const tests::Scratch scratch;
  const std::string file = scratch / "out";
  std::ofstream(file) << "a much longer old content";
  REQUIRE(write_output_file(file, as_bytes("new")).has_value());
  CHECK(as_text(read_input_file(file).value()) == "new");
  CHECK(write_output_file("/dev/null", as_bytes("gone")).has_value());
  CHECK_FALSE(write_output_file(scratch / "no" / "such", as_bytes("x")).has_value());
}

TEST_CASE("a program's output, errors and end are kept") {
  const auto result = run_program({.command = {"/bin/sh", "-c", "echo out; echo err >&2; exit 7"},
                                   .capture_output = true,
                                   .capture_errors = true});
  REQUIRE(result.has_value());
  CHECK(result->output == "out\n");
  CHECK(result->errors == "err\n");
  CHECK(result->status == 7);
  const auto killed = run_program({.command = {"/bin/sh", "-c", "kill -9 $$"}});
  REQUIRE(killed.has_value());
  CHECK(killed->status == 128 + 9);
  CHECK_FALSE(run_program({.command = {"/nonexistent"}}).has_value());
}

TEST_CASE("a program that does not end is killed") {
  const auto result = run_program({.command = {"/bin/sh", "-c", "exec tail -f /dev/null"},
                                   .capture_output = true,
                                   .longest = seconds(0)});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::timed_out);
}

}  // namespace orchid::cli
