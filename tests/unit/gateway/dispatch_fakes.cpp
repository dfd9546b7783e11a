#include "dispatch_fakes.h"

#include <doctest/doctest.h>

#include <cstring>

#include "foundation/files.h"
#include "foundation/random.h"
#include "protocol/digest.h"

namespace orchid::gateway::test {

using std::chrono::milliseconds;

void FakeWorker::claim() {
  ++generation;
  auto ours = transport::make_lane({.request_bytes = 1_MiB, .response_bytes = 1_MiB});
  REQUIRE(ours);
  const LaneClaimed message{.worker = 1,
                            .pid = 1,
                            .generation = generation,
                            .request_bytes = ours->geometry.request_bytes,
                            .response_bytes = ours->geometry.response_bytes};
  REQUIRE(send_packet(socket.get(), encode(message),
                      {ours->memory.get(), ours->wake_worker.get(), ours->wake_client.get()}));
  auto worker = transport::LocalLaneWorker::attach(std::move(*ours));
  REQUIRE(worker);
  lane.emplace(std::move(*worker));
}

std::optional<std::string> FakeWorker::take() {
  auto request = lane->receive();
  REQUIRE(request);
  if (!*request) return std::nullopt;
  taken_request = (*request)->header.request_id;
  CHECK((*request)->header.deadline_ns > 0);
  return std::string(as_text((*request)->input));
}

void FakeWorker::answer(const Reply& reply) {
  if (reply.message.empty() && !reply.output.empty()) {
    std::byte* room = lane->output(reply.output.size());
    REQUIRE(room != nullptr);
    std::memcpy(room, reply.output.data(), reply.output.size());
  }
  REQUIRE(lane->answer({.kind = reply.kind,
                        .outcome = reply.outcome,
                        .run_time = reply.run_time,
                        .message = reply.message,
                        .log = reply.log}));
}

unsigned FakeWorker::run_all(std::chrono::nanoseconds run_time) {
  unsigned count = 0;
  while (auto input = take()) {
    answer({.output = *input, .run_time = run_time});
    ++count;
  }
  return count;
}

FakeExecutor::FakeExecutor() {
  directory_ = std::filesystem::temp_directory_path() / ("orchid-dispatch-" + random_hex(8));
  std::filesystem::create_directory(directory_);
  auto listener = listen_packets(path());
  REQUIRE(listener);
  listener_ = std::move(*listener);
}

FakeExecutor::~FakeExecutor() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void FakeExecutor::step() {
  while (listener_) {
    UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) break;
    workers.push_back(std::make_unique<FakeWorker>(std::move(connection)));
  }
  for (const auto& worker : workers) {
    while (!worker->closed && worker->socket) {
      auto packet = receive_packet(worker->socket.get(), false);
      if (!packet) worker->closed = true;
      if (!packet || !*packet) break;
      auto message = parse_lane_message((*packet)->text);
      REQUIRE(message);
      worker->heard.push_back(*message);
      obey(*worker, *message);
    }
  }
}

void FakeExecutor::obey(FakeWorker& worker, const LaneMessage& message) {
  if (std::holds_alternative<LaneClaim>(message) && answers_claims) worker.claim();
  if (const auto* wanted = std::get_if<LaneAttach>(&message); wanted != nullptr && attaches)
    attach(worker, *wanted);
  if (!loads) return;
  if (const auto* announce = std::get_if<LaneAnnounce>(&message)) {
    if (rejects) {
      rejects->digest = announce->digest;
      worker.say(*rejects);
    } else if (has_code) {
      load(worker, announce->digest);
    } else {
      worker.say(LaneNeedCode{announce->digest});
    }
  }
  if (const auto* code = std::get_if<LaneCode>(&message)) load(worker, code->digest);
}

void FakeExecutor::attach(FakeWorker& worker, const LaneAttach& wanted) {
  for (const DataId& id : wanted.data) {
    if (refuses_data)
      worker.say(LaneNotAttached{id, refuses_data->code, refuses_data->message});
    else
      worker.say(LaneAttached{id, ByteCount{10}});
  }
}

void FakeExecutor::load(FakeWorker& worker, const std::string& digest) {
  worker.say(LaneSlot{.digest = digest,
                      .slot = 7,
                      .generation = worker.generation,
                      .entries = {"main"},
                      .compile_us = std::chrono::microseconds(1500),
                      .link_us = std::chrono::microseconds(50),
                      .source = CodeSource::compiled});
}

void FakeExecutor::die() {
  listener_.reset();
  for (const auto& worker : workers) worker->socket.reset();
}

std::string Answer::output() const { return std::string(as_text(result.output.bytes)); }

Bench::Bench(Dispatcher::Options options)
    : dispatcher(std::make_unique<Dispatcher>(io, clock, supply, options)) {
  dispatcher->supply_is({.exists = true});
}

std::shared_ptr<const FunctionVersion> Bench::function(const std::string& name) {
  auto& version = functions_[name];
  if (!version) {
    auto module = make_sealed_memory(name, as_bytes(name));
    REQUIRE(module);
    auto made = std::make_shared<FunctionVersion>();
    made->function = name;
    made->digest = digest_of(as_bytes(name));
    made->module = std::move(*module);
    version = std::move(made);
  }
  return version;
}

std::shared_ptr<Answer> Bench::call(const std::string& name, const std::string& input,
                                    CallOptions options) {
  auto answer = std::make_shared<Answer>();
  const auto bytes = as_bytes(input);
  Call call{.invocation = "i-" + std::to_string(next_call_++),
            .version = function(name),
            .entry = 0,
            .input = Payload::of(std::vector<std::byte>(bytes.begin(), bytes.end())),
            .accepted = clock.now(),
            .deadline = clock.now() + options.deadline,
            .at_most_once = options.at_most_once,
            .data = std::move(options.data)};
  dispatcher->start(std::move(call), [answer](CallResult result) {
    REQUIRE_FALSE(answer->done);
    answer->done = true;
    answer->result = std::move(result);
  });
  return answer;
}

LeaseId Bench::grant(const std::string& name) { return grant(name, shared_lane_protocol); }

LeaseId Bench::grant(const std::string& name, std::uint32_t protocol) {
  const LeaseId lease{1, next_lease_++};
  dispatcher->worker_granted({.lease = lease,
                              .secret = std::string(64, 'a'),
                              .executor = ExecutorId(name),
                              .lane_socket = executor.path(),
                              .node = "node1",
                              .lane_protocol = protocol});
  return lease;
}

FakeWorker* Bench::worker_of(const std::string& name) {
  for (const auto& worker : executor.workers) {
    if (worker->closed) continue;
    for (const LaneMessage& message : worker->heard)
      if (const auto* announced = std::get_if<LaneAnnounce>(&message);
          announced != nullptr && announced->digest == function(name)->digest)
        return worker.get();
  }
  return nullptr;
}

void Bench::settle() {
  // Unix sockets deliver at once, so a few rounds are enough for any exchange here.
  for (int round = 0; round < 12; ++round) {
    io.restart();
    io.poll();
    executor.step();
    dispatcher->poll();
  }
}

void Bench::advance(std::chrono::milliseconds time) {
  clock.advance(time);
  dispatcher->expire();
  settle();
}

FakeWorker& Bench::worker_with_short_function(const std::string& name) {
  grant();
  settle();
  FakeWorker& worker = *executor.workers.back();
  for (int i = 0; i < 3; ++i) {
    call(name, "warm-up");
    settle();
    REQUIRE(worker.run_all() == 1);
    settle();
  }
  return worker;
}

}  // namespace orchid::gateway::test
