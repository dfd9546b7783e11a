#include "function_load.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "foundation/files.h"
#include "harness/machine.h"

namespace orchid::bench::colocation {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds patience{30};
constexpr int call_ms = 40;
constexpr int warm_up_calls = 100;

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// An executor has connected to its gateway.
void await_hosts(const std::string& gateway) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  while (true) {
    try {
      Client client({.gateway = gateway});
      if (client.get("/v1/hosts").find("\"executors\":[{") != std::string::npos) return;
    } catch (const Error&) {
    }
    if (std::chrono::steady_clock::now() > give_up)
      throw std::runtime_error("the executor does not come up");
    std::this_thread::sleep_for(milliseconds(20));
  }
}

/// What the executor may use: it binds itself to its own.
std::string cores_text(const FunctionLoad::Options& options) {
  return fmt::format("{},{}", options.job_core, options.core);
}

}  // namespace

FunctionLoad::Directory::Directory() {
  std::string pattern = "/tmp/orchid-colocation-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path = pattern;
}

FunctionLoad::Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

FunctionLoad::FunctionLoad(const Options& options)
    : gateway_(must(ChildProcess::start(
          {.command = {options.programs / "orchid-gateway", "--state", directory_.path / "gateway",
                       "--compiler", options.programs / "orchid-compiler", "--dispatch",
                       options.programs / "orchid-dispatch", "--listen", "127.0.0.1:0", "--socket",
                       directory_.path / "gateway.sock"},
           .output_file = directory_.path / "gateway.log",
           .core = options.core}))),
      executor_(must(ChildProcess::start(
          {.command = {"taskset", "--cpu-list", cores_text(options),
                       options.programs / "orchid-executor", "--gateway",
                       "unix:" + (directory_.path / "gateway.sock").string(), "--runtime",
                       directory_.path / "run", "--state", directory_.path / "state", "--grant",
                       "pilot", "--core-list", std::to_string(options.core), "--memory", "1GiB",
                       "--bandwidth-cap", std::to_string(options.cap.value)},
           .output_file = directory_.path / "executor.log"}))),
      core_(options.core) {
  must(pin_this_thread(core_));
  const std::string address = "unix:" + (directory_.path / "gateway.sock").string();
  await_hosts(address);
  const auto module = must(read_file(options.module, 1_MiB));
  client_ = std::make_unique<Client>(ClientOptions{.gateway = address});
  lease_ = std::make_unique<Lease>(client_->lease({.wait = Wait::blocking}));
  function_ = std::make_unique<LeasedFunction>(lease_->module(module).function());
  for (int i = 0; i < warm_up_calls; ++i) call(call_ms);
  must(pin_this_thread(options.job_core));
}

FunctionLoad::~FunctionLoad() {
  wanted_ = false;
  if (caller_.joinable()) caller_.join();
  function_.reset();
  lease_.reset();
  client_.reset();
}

void FunctionLoad::call(int length) {
  const std::string input = std::to_string(length);
  std::array<std::uint64_t, 2> output{};
  (void)function_->invoke_into(std::as_bytes(std::span(input)),
                               std::as_writable_bytes(std::span(output)));
  bytes_ += output[0];
  nanoseconds_ += output[1];
}

void FunctionLoad::go_on() {
  wanted_ = true;
  running_ = false;
  bytes_ = nanoseconds_ = 0;
  caller_ = std::thread([this] {
    try {
      must(pin_this_thread(core_));
      while (wanted_) {
        call(call_ms);
        running_ = true;
      }
    } catch (...) {
      failure_ = std::current_exception();
      running_ = true;
    }
  });
  while (!running_) std::this_thread::sleep_for(milliseconds(1));
}

double FunctionLoad::pause() {
  wanted_ = false;
  caller_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return static_cast<double>(bytes_) / (static_cast<double>(nanoseconds_) / 1e9);
}

}  // namespace orchid::bench::colocation
