// benchmarks/http_invoke.cpp: how many calls a second does the gateway carry over HTTP, and what
// does one cost in processor time?
//
// wrk, one thread, 16 connections, a POST of 5 bytes. Against nginx with one worker process that
// answers the same request with `return 200`, and against an empty server made of the same HTTP
// library as the gateway. All share the machine's cores, as they would in use.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "empty_server.h"
#include "foundation/files.h"
#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "local_orchid.h"
#include "orchid/client.h"

namespace orchid::bench {
namespace {

/// Runs wrk for a second against `url`; the requests per second. All answers must be 2xx.
Result<std::vector<double>> load(const std::filesystem::path& script, const std::string& url) {
  auto printed = output_of({.command = {"wrk", "-t1", "-c16", "-d1s", "-s", script, url}},
                           std::chrono::seconds(20));
  if (!printed) return fail(std::move(printed.error()));
  if (printed->find("Non-2xx") != std::string::npos)
    return fail(ErrorCode::internal, "not all answers were 2xx:\n" + *printed);
  const std::string label = "Requests/sec:";
  const std::size_t at = printed->find(label);
  if (at == std::string::npos)
    return fail(ErrorCode::internal, "wrk printed no rate:\n" + *printed);
  return std::vector<double>{std::strtod(printed->c_str() + at + label.size(), nullptr)};
}

struct Servers {
  std::filesystem::path directory;
  ChildProcess nginx;
  std::string nginx_url;
  pid_t empty = -1;
  std::string empty_url;
  ~Servers() {
    if (empty > 0) {
      ::kill(empty, SIGKILL);
      ::waitpid(empty, nullptr, 0);
    }
    nginx.stop();
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
};

constexpr const char* nginx_configuration =
    R"(worker_processes 1; daemon off; pid DIR/nginx.pid; error_log DIR/error.log;
events { worker_connections 256; }
http { access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  keepalive_requests 100000000;
  server { listen 127.0.0.1:PORT; location / { default_type application/octet-stream; return 200 "hello"; } } }
)";

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// A port that is free now; nginx cannot choose one itself.
Result<std::string> free_port() {
  auto printed = output_of({.command = {"/usr/bin/python3", "-c",
                                        "import socket; s = socket.socket(); s.bind(('127.0.0.1', "
                                        "0)); print(s.getsockname()[1])"}},
                           std::chrono::seconds(10));
  if (!printed) return printed;
  printed->erase(printed->find_last_not_of("\n") + 1);
  return printed;
}

Result<ChildProcess> start_nginx(const std::filesystem::path& directory, const std::string& port) {
  std::ofstream(directory / "nginx.conf")
      << replace_all(replace_all(nginx_configuration, "DIR", directory), "PORT", port);
  return ChildProcess::start(
      {.command = {"/usr/sbin/nginx", "-p", directory, "-c", directory / "nginx.conf"},
       .output_file = directory / "nginx.log"});
}

Result<pid_t> start_empty(std::string& url) {
  std::array<int, 2> ready{};
  if (::pipe(ready.data()) != 0) return fail_errno("pipe");
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ready[0]);
    serve_empty(ready[1]);
  }
  ::close(ready[1]);
  const UniqueFd from(ready[0]);
  std::array<char, 16> text{};
  if (::read(from.get(), text.data(), text.size() - 1) <= 0)
    return fail(ErrorCode::unreachable, "the empty server did not start");
  url = "http://127.0.0.1:" + std::to_string(std::atoi(text.data())) +
        "/v1/functions/echo/invocations";
  return pid;
}

std::chrono::microseconds cpu_of(const std::vector<pid_t>& processes) {
  std::chrono::microseconds total{0};
  for (const pid_t process : processes)
    if (const auto time = cpu_time_of(process)) total += *time;
  return total;
}

void write_script(const std::filesystem::path& path, const std::string& token) {
  std::ofstream script(path);
  script << "wrk.method = \"POST\"\nwrk.body = \"hello\"\nwrk.headers[\"Content-Type\"] = "
            "\"application/octet-stream\"\n"
         << "wrk.headers[\"Authorization\"] = \"Bearer " << token << "\"\n";
}

int run(Bench& bench) {
  auto orchid = tests::LocalOrchid::start(PROGRAMS);
  if (!orchid) {
    std::fprintf(stderr, "http_invoke: %s\n", orchid.error().message.c_str());
    return 3;
  }
  Client client({.gateway = orchid->address(), .token = orchid->token()});
  client.deploy_file("echo", FUNCTIONS "/echo.bc");
  if (client.invoke("echo", "hello").text() != "hello") return 3;
  std::string pattern = "/tmp/orchid-http-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return 3;
  const std::filesystem::path directory = pattern;
  const std::filesystem::path script = directory / "post.lua";
  write_script(script, orchid->token());
  std::string empty_url;
  auto empty = start_empty(empty_url);
  auto port = free_port();
  if (!empty || !port) return 3;
  auto nginx = start_nginx(directory, *port);
  if (!nginx) return 3;
  const Servers servers{directory, std::move(*nginx),
                        "http://127.0.0.1:" + *port + "/v1/functions/echo/invocations", *empty,
                        empty_url};
  const std::string orchid_url = orchid->address() + "/v1/functions/echo/invocations";
  const auto ours = [&] { return load(script, orchid_url); };
  const std::string command = "wrk -t1 -c16 -d1s -s post.lua URL";
  (void)load(script, orchid_url);
  bench.compare({.row = "calls/s against nginx",
                 .unit = "1/s",
                 .round = ours,
                 .baseline = {"nginx, worker_processes 1, return 200", command, ""},
                 .baseline_round = [&] { return load(script, servers.nginx_url); },
                 .promises = {{Statistic::p50, {Target::Direction::at_least, 0.4}}}});
  bench.compare({.row = "calls/s against an empty Beast server",
                 .unit = "1/s",
                 .round = ours,
                 .baseline = {"Beast, one thread, echoes the body", command, ""},
                 .baseline_round = [&] { return load(script, servers.empty_url); },
                 .promises = {{Statistic::p50, {Target::Direction::at_least, 0.75}}}});
  bench.measure({.row = "processor time of a call, all processes",
                 .unit = "us",
                 .round = [&]() -> Result<std::vector<double>> {
                   const auto before = cpu_of(orchid->processes());
                   auto rate = load(script, orchid_url);
                   if (!rate) return rate;
                   const auto used = cpu_of(orchid->processes()) - before;
                   return std::vector<double>{static_cast<double>(used.count()) /
                                              rate->front()};  // wrk ran for one second
                 },
                 .promises = {}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("http_invoke", argc, argv);
  try {
    return orchid::bench::run(bench);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_invoke: %s\n", error.what());
    return 3;
  }
}
