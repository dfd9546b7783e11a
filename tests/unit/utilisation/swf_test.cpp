#include "utilisation/swf.h"

#include <doctest/doctest.h>

#include <string>

using namespace orchid;
using namespace orchid::utilisation;
using std::chrono::seconds;

TEST_CASE("a trace has its jobs in the order of their submission, from the first one on") {
  const auto read = parse_swf(
      "; MaxNodes: 16\n"
      ";   MaxProcs: 1024\n"
      "; Note: nothing that we know\n"
      "\n"
      "7 500 3 60 8 -1 -1 16 600 -1 1 3 1 -1 1 -1 -1 -1\n"
      "  6 400 -1 90.5 4 -1 -1 -1 -1 -1 1 3 1 -1 1 -1 -1 -1 \r\n");
  REQUIRE(read);
  REQUIRE(read->trace.jobs.size() == 2);
  // Without what was asked for: what it got, and its run time in whole minutes.
  CHECK(read->trace.jobs[0] == TraceJob{.id = 1,
                                        .submitted = seconds(0),
                                        .cores = 4,
                                        .runtime = SimTime(90'500),
                                        .limit = seconds(120)});
  CHECK(read->trace.jobs[1] == TraceJob{.id = 2,
                                        .submitted = seconds(100),
                                        .cores = 16,
                                        .runtime = seconds(60),
                                        .limit = seconds(600)});
  CHECK(read->trace.end == seconds(100));
  CHECK(read->shape == ClusterShape{.nodes = 16, .cores_per_node = 64});
  CHECK(read->skipped == 0);
}

TEST_CASE("jobs that never ran are left out and counted") {
  const auto read = parse_swf(
      "1 0 -1 -1 -1 -1 -1 4 600 -1 5 1 1 -1 1 -1 -1 -1\n"  // cancelled in the queue
      "2 0 -1 10 0 -1 -1 -1 600 -1 1 1 1 -1 1 -1 -1 -1\n"  // no processors
      "3 -1 -1 10 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n"  // submitted nobody knows when
      "4 5 -1 10 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1");
  REQUIRE(read);
  CHECK(read->trace.jobs.size() == 1);
  CHECK(read->skipped == 3);
  CHECK_FALSE(read->shape);
}

TEST_CASE("a line that is no job is named") {
  const auto message = [](const std::string& text) {
    const auto read = parse_swf(text);
    return read ? std::string() : read.error().message;
  };
  const std::string good = "1 0 -1 10 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n";
  CHECK(message(good + "2 0 -1 10\n") == "line 2: 4 numbers where a job has 18");
  CHECK(message(good + good + "1 0 -1 10 x -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n") ==
        "line 3: 'x' is not a number of -1 or more");
  CHECK(message("1 0 -1 -7 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n") ==
        "line 1: '-7' is not a number of -1 or more");
  CHECK(message("1 0 -1 1e300 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n").starts_with("line 1:"));
  CHECK(message("1 0 -1 nan 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1\n").starts_with("line 1:"));
  CHECK(message("1 0 -1 10 4 -1 -1 4 600 -1 1 1 1 -1 1 -1 -1 -1 5\n") ==
        "line 1: more than 18 numbers");
  CHECK(message("; a header alone\n") == "the trace has no job that ran");
  CHECK(message("") == "the trace has no job that ran");
}
