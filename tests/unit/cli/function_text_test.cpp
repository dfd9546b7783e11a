#include <doctest/doctest.h>

#include <sstream>

#include "calls/call_watch.h"
#include "calls/reply_delivery.h"
#include "foundation/files.h"
#include "run_orchid.h"

namespace orchid::cli {
namespace {

using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

/// As `orchid`, before people.
Ran on_terminal(const FakeGateway& gateway, std::vector<std::string> words) {
  words.insert(words.end(), {"--gateway", gateway.address()});
  std::ostringstream out;
  std::ostringstream err;
  Shell shell(out, err);
  shell.out_is_terminal = shell.err_is_terminal = true;
  const int status = static_cast<int>(run_command_line(words, shell));
  return {status, out.str(), err.str()};
}

constexpr auto hostile = "\033]0;title\007 \033[2Jgone \302\233m \377";
constexpr auto harmless = "\\x1b]0;title\\x07 \\x1b[2Jgone \\u{9b}m \\xff";

}  // namespace

TEST_CASE("a function's log cannot steer a terminal, and comes through a pipe as it is") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = hostile}; });
  CHECK(on_terminal(gateway, {"logs", "i-1"}).out == harmless);
  CHECK(orchid(gateway, {"logs", "i-1"}).out == hostile);
}

TEST_CASE("a function's output cannot steer a terminal") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = hostile}; });
  CHECK(on_terminal(gateway, {"invoke", "f", "--in", "/dev/null"}).out == harmless);
  CHECK(on_terminal(gateway, {"result", "i-1"}).status != 0);  // the fake knows no invocation
}

TEST_CASE("a function's message cannot steer a terminal, as an error or in a table") {
  FakeGateway failing([](const FakeRequest&) {
    return FakeAnswer{.status = 502,
                      .body = R"({"type":"urn:orchid:problem:function_error",)"
                              R"("detail":"\u001b[31mred"})"};
  });
  const Ran called = on_terminal(failing, {"invoke", "f", "--in", "/dev/null"});
  CHECK(called.err.starts_with("orchid: \\x1b[31mred"));
  CHECK(orchid(failing, {"invoke", "f", "--in", "/dev/null"}).err.starts_with("orchid: \033[31m"));
  FakeGateway done([](const FakeRequest&) {
    return FakeAnswer{.body = R"({"id":"i-1","state":"done","outcome":"function_error",)"
                              R"("message":"\u001b[31mred"})"};
  });
  for (const char* command : {"status", "wait"}) {
    CAPTURE(command);
    const Ran told = on_terminal(done, {command, "i-1"});
    CHECK(told.out.contains("\\x1b[31mred"));
    CHECK_FALSE(told.out.contains('\033'));
    CHECK(orchid(done, {command, "i-1"}).out.contains("\033[31mred"));
  }
}

TEST_CASE("progress is a bar of a fixed width") {
  CHECK(progress_bar(0) == "[------------------------------]   0 %");
  CHECK(progress_bar(0.5) == "[###############---------------]  50 %");
  CHECK(progress_bar(7) == "[##############################] 100 %");
}

TEST_CASE("a call that lasts is shown with its progress on a terminal, and the bar goes away") {
  int asked = 0;
  FakeGateway gateway([&asked](const FakeRequest& request) -> FakeAnswer {
    if (request.method == "POST") return {.status = 202, .body = R"({"id":"i-1"})"};
    if (request.target.ends_with("/output")) return {.body = "out"};
    if (++asked == 1)
      return {.body = R"({"id":"i-1","function":"f","state":"running","progress":0.5})"};
    return {.body = R"({"id":"i-1","function":"f","state":"done","outcome":"ok"})"};
  });
  const Ran called = on_terminal(gateway, {"invoke", "f", "--in", "/dev/null"});
  CHECK(called.status == 0);
  CHECK(called.out == "out");
  CHECK(called.err.contains("[###############---------------]  50 %  f"));
  CHECK(called.err.ends_with("\r\033[J"));
  CHECK(gateway.requests()[0].header("prefer") == "wait=1");
  asked = 0;
  const Ran waited = on_terminal(gateway, {"wait", "i-1"});
  CHECK(waited.status == 0);
  CHECK(waited.out == "i-1  ok\n");
  CHECK(waited.err.contains(" 50 %"));
  asked = 0;
  CHECK(orchid(gateway, {"wait", "i-1"}).err.empty());
  asked = 0;
  CHECK(orchid(gateway, {"invoke", "f", "--in", "/dev/null"}).err.empty());
  CHECK(gateway.requests().back().header("prefer").empty());
}

TEST_CASE("status has a column for progress where a call says how far it is") {
  std::string progress = R"(,"progress":0.25)";
  FakeGateway gateway([&](const FakeRequest&) {
    return FakeAnswer{.body = R"({"id":"i-1","function":"f","state":"running")" + progress + "}"};
  });
  const Ran told = orchid(gateway, {"status", "i-1"});
  CHECK(told.out.contains("PROGRESS"));
  CHECK(told.out.contains("[#######-----------------------]  25 %"));
  progress = "";
  CHECK_FALSE(orchid(gateway, {"status", "i-1"}).out.contains("PROGRESS"));
}

}  // namespace orchid::cli
