#include "user_code/call_log.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "protocol/limits.h"

namespace orchid::executor {
namespace {

struct Area {
  transport::LogHead head{};
  std::vector<char> text = std::vector<char>(limits::log_size.value);
  CallLog log{head, text.data()};
};

}  // namespace

TEST_CASE("what is appended is the log of the call that began last") {
  Area area;
  area.log.begin(7);
  CHECK(area.log.empty());
  CHECK(area.head.request_id.load() == 0);  // nothing to be found there
  area.log.append("one ");
  area.log.append("");
  area.log.append("two");
  CHECK(area.log.text() == "one two");
  CHECK(area.head.request_id.load() == 7);
  area.log.clear();
  CHECK(area.log.empty());
  CHECK(area.head.request_id.load() == 0);
  area.log.begin(8);
  area.log.append("three");
  CHECK(area.log.text() == "three");
  CHECK(area.head.request_id.load() == 8);
}

TEST_CASE("a log is cut at the limit, and what is over it counted") {
  Area area;
  area.log.begin(1);
  const std::string most(limits::log_size.value - 3, 'x');
  area.log.append(most);
  CHECK(area.log.dropped() == 0);
  area.log.append("12345");
  CHECK(area.log.dropped() == 2);
  CHECK(area.log.text().ends_with("x123"));
  area.log.append(most);
  CHECK(area.log.dropped() == 2 + most.size());
  CHECK(area.log.text().size() == limits::log_size.value);
}

}  // namespace orchid::executor
