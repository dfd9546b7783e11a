// What users and functions do wrong, through the whole system: HTTP status, outcome, exit status, a
// message that says what to do, and the next call works.
#include <fstream>

#include "system_fixture.h"

namespace orchid::tests {

TEST_CASE_FIXTURE(
    SystemFixture,
    "functions that fail: each has its HTTP status, its outcome and its exit status") {
  deploy("counts_calls");
  struct Case {
    const char* function;
    int http;
    const char* outcome;
    int exit;
    const char* says;
  };
  for (const Case& c :
       {Case{"returns_error", 502, "function_error", 1, "the answer was not 42"},
        Case{"throws_runtime_error", 502, "function_error", 1, "std::runtime_error"},
        Case{"throws_int", 502, "function_error", 1, "type int"},
        Case{"aborts", 502, "function_crashed", 1, "signal 6"},
        Case{"segfaults", 502, "function_crashed", 1, "signal 11"},
        Case{"divides_by_zero", 502, "function_crashed", 1, "signal 8"},
        Case{"stack_recursion", 502, "function_crashed", 1, "stack"},
        Case{"stack_big_frame", 502, "function_crashed", 1, "stack"},
#ifndef ORCHID_SANITIZED  // whose allocator ends the process itself
        Case{"allocates_new", 502, "limit_exceeded", 1, "memory"},
#endif
        Case{"output_over_limit", 502, "limit_exceeded", 1, "output"},
        Case{"exits", 502, "function_exited", 1, "exit(7)"}}) {
    CAPTURE(c.function);
    deploy(c.function);
    const Http answer = http("POST", std::string("/v1/functions/") + c.function + "/invocations");
    CHECK(answer.status == c.http);
    CHECK(contains(answer.headers, std::string("Orchid-Outcome: ") + c.outcome));
    const auto problem = Json::parse(answer.body);
    CHECK(problem.at("type") == std::string("urn:orchid:problem:") + c.outcome);
    CHECK(contains(problem.at("detail"), c.says));
    CHECK(problem.contains("invocation"));
    const auto result = orchid({"invoke", c.function});
    CHECK(result.status == c.exit);
    CHECK(result.out.empty());
    CHECK(contains(result.err, c.says));
    check_next_call();
  }
}

TEST_CASE_FIXTURE(SystemFixture,
                  "functions that try what they may not, and go on: their calls succeed") {
  deploy("counts_calls");
  for (const char* function : {"forks_by_syscall", "leaves_thread", "clones_thread_by_syscall",
                               "joins_threads", "opens_file", "opens_by_path_flag",
                               "closes_descriptors", "closes_descriptors_by_syscall"}) {
    CAPTURE(function);
    deploy(function);
    const Http answer = http("POST", std::string("/v1/functions/") + function + "/invocations");
    CHECK(answer.status == 200);
    CHECK_FALSE(contains(answer.body, "opened"));
    const auto result = orchid({"invoke", function});
    CHECK_MESSAGE(result.status == 0, function, ": ", result.err);
    check_next_call();
  }
}

TEST_CASE_FIXTURE(SystemFixture, "a gigabyte of logs is cut at the limit, and marked") {
  deploy("counts_calls");
  deploy("logs_gigabyte");
  const Reply reply = client().invoke("logs_gigabyte", "");
  const auto logs = orchid({"logs", reply.invocation});
  CHECK(logs.status == 0);
  CHECK(logs.out.size() == 1U << 20);
  CHECK(contains(logs.err, "bytes"));
  const Http answer = http("GET", "/v1/invocations/" + reply.invocation + "/logs");
  CHECK(contains(answer.headers, "Orchid-Log-Dropped: "));
  CHECK_FALSE(contains(answer.headers, "Orchid-Log-Dropped: 0"));
  check_next_call();
}

TEST_CASE_FIXTURE(SystemFixture,
                  "a call that loops ends at its deadline with 504 and exit status 4") {
  deploy("loops");
  deploy("counts_calls");
  const Http answer =
      http("POST", "/v1/functions/loops/invocations", "", {"-H", "Orchid-Deadline-Ms: 300"});
  CHECK(answer.status == 504);
  CHECK(contains(answer.headers, "Orchid-Outcome: deadline_exceeded"));
  CHECK(orchid({"invoke", "loops", "--deadline", "300ms"}).status == 4);
  check_next_call();
}

TEST_CASE_FIXTURE(SystemFixture,
                  "modules that cannot run are refused with 422, everything wrong at once") {
  const auto put = [&](const std::string& content) {
    return http("PUT", "/v1/functions/bad", content);
  };
  const auto file = [](const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string good = file(test_function("counts_calls"));
  CHECK(put("this is not bitcode").status == 422);
  CHECK(put(good.substr(0, good.size() / 2)).status == 422);
  CHECK(put(std::string("\x10\xff\x10\xad garbage", 12)).status == 422);
  CHECK(contains(put(file(test_function("no_entry"))).body, "entry"));
  const Http undefined = put(file(test_function("undefined_symbols")));
  CHECK(undefined.status == 422);
  CHECK(contains(undefined.body, "first_missing_symbol"));
  CHECK(contains(undefined.body, "second_missing_symbol"));
  const Http newer = put(file(SOURCES "/tests/data/newer-llvm.bc"));
  CHECK(newer.status == 422);
  CHECK(contains(newer.body, "made by LLVM 22."));
  CHECK(contains(newer.body, "up to LLVM 19."));
  const auto refused = orchid({"deploy", SOURCES "/tests/data/newer-llvm.bc", "--name", "bad"});
  CHECK(refused.status == 1);
  CHECK(refused.out.empty());
  CHECK(contains(put(file(test_function("forks_by_libc"))).body, "fork"));
  const auto cli = orchid({"deploy", test_function("no_entry"), "--name", "bad"});
  CHECK(cli.status == 1);
  CHECK(contains(cli.err, "entry"));
  CHECK(http("PUT", "/v1/functions/good", good).status == 201);
  CHECK(http("PUT", "/v1/functions/good", good).status == 200);
}

TEST_CASE_FIXTURE(SystemFixture, "names, limits and tokens") {
  deploy("counts_calls");
  CHECK(http("PUT", "/v1/functions/9wrong", "x").status == 400);
  CHECK(http("POST", "/v1/functions/unknown/invocations").status == 404);
  CHECK(http("POST", "/v1/functions/counts_calls.nope/invocations").status == 404);
  CHECK(http("GET", "/v1/nothing").status == 404);
  CHECK(http("POST", "/v1/functions/counts_calls").status == 405);
  CHECK(orchid({"invoke", "unknown"}).status == 2);
  CHECK(orchid({"nonsense"}).status == 2);
  const auto with_token = [&](const std::string& header) {
    std::vector<std::string> words{"curl", "-sS", "-i", "--max-time", "10"};
    if (!header.empty()) words.insert(words.end(), {"-H", header});
    words.push_back(system().address() + "/v1/functions");
    return parse(run({.words = words}));
  };
  CHECK(with_token("").status == 401);
  CHECK(contains(with_token("").headers, "WWW-Authenticate"));
  CHECK(with_token("Authorization: Bearer wrong").status == 401);
  const auto wrong =
      run({.words = {PROGRAMS "/orchid", "list"},
           .environment = {"ORCHID_GATEWAY=" + system().address(), "ORCHID_TOKEN=wrong"}});
  CHECK(wrong.status == 6);
  check_next_call();
}

TEST_CASE_FIXTURE(SystemFixture, "a body over the limit is refused before it is read") {
  deploy("counts_calls");
  const Http answer =
      http("POST", "/v1/functions/counts_calls/invocations", std::string(65UL << 20, 'x'));
  CHECK(answer.status == 413);
  check_next_call();
}

TEST_CASE_FIXTURE(SystemFixture, "a typed function refuses arguments of other types, naming both") {
  const auto result = orchid({"deploy", std::string(EXAMPLES) + "/dot.bc", "--name", "dot"});
  REQUIRE_MESSAGE(result.status == 0, result.err);
  CHECK(orchid({"invoke", "dot", "--args", "[[1,2,3],[4,5,6]]"}).status == 0);
  const auto wrong = orchid({"invoke", "dot", "--args", "[\"text\", 1]"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "span<f64>"));
  CHECK(http("POST", "/v1/functions/dot/invocations", "rubbish").status == 400);
  auto sdk = client();
  CHECK_THROWS_AS((void)sdk.function<double(double)>("dot"), Error);
  const std::vector<double> a{1, 2, 3};
  CHECK(sdk.function<double(std::span<const double>, std::span<const double>)>("dot")(a, a) == 14);
}

}  // namespace orchid::tests
