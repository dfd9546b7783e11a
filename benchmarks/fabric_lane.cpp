// What does the lane between two hosts of a site cost? No benchmark that `./dev bench` could run:
// one end runs on each host, by hand (docs/guide/infiniband.md).
//
//   fabric_lane serve ADDRESS [trusted]            prints where it listens, and a key
//   fabric_lane call ADDRESS:PORT KEY [trusted]    prints the transports, and a line for each size
//
// The ends of the lane alone: no executor, no sandbox. Both spin.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "harness/statistics.h"
#include "transport/ucx_lane.h"

namespace orchid::bench {
namespace {

using namespace transport;

constexpr std::chrono::minutes patience{10};
LaneDeadline deadline() { return std::chrono::steady_clock::now() + patience; }

std::string to_digits(const ConnectionKey& key) {
  std::string digits;
  for (const std::byte byte : key) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(byte));
    digits += two;
  }
  return digits;
}

Result<UcxContext> make_context(Fabric fabric) {
  auto context = UcxContext::create({.fabric = fabric});
  if (context) std::printf("%s\n", context->description().c_str());
  return context;
}

Result<void> serve(const std::string& address, Fabric fabric) {
  auto context = make_context(fabric);
  if (!context) return fail(std::move(context.error()));
  ConnectionKey key;
  fill_random(key);
  auto listener = UcxLaneListener::listen(*context, {.address = address, .key = key});
  if (!listener) return fail(std::move(listener.error()));
  std::printf("fabric_lane call %s %s\n", listener->address().c_str(), to_digits(key).c_str());
  std::fflush(stdout);
  auto worker = listener->accept(deadline());
  if (!worker) return fail(std::move(worker.error()));
  for (;;) {
    auto request = worker->receive();
    if (!request) return fail(std::move(request.error()));
    if (!*request) continue;
    std::byte* room = worker->output((*request)->input.size());
    if (room == nullptr) return fail(ErrorCode::internal, "no room for the output");
    if ((*request)->input.size() <= 4096)
      std::memcpy(room, (*request)->input.data(), (*request)->input.size());
    if (auto answered = worker->answer({}); !answered) return answered;
  }
}

Result<void> round_trip(UcxLaneClient& client, std::size_t size) {
  auto room = client.allocate(size);
  if (!room) return fail(std::move(room.error()));
  if (auto sent = client.send({.deadline = patience, .input = *room}); !sent)
    return fail(std::move(sent.error()));
  for (;;) {
    auto response = client.receive();
    if (!response) return fail(std::move(response.error()));
    if (!*response) continue;
    client.release(**response);
    return {};
  }
}

Result<void> call(const std::string& address, const std::string& digits, Fabric fabric) {
  const auto key = parse_connection_key(digits);
  if (!key) return fail(key.error());
  auto context = make_context(fabric);
  if (!context) return fail(std::move(context.error()));
  auto client =
      UcxLaneClient::connect(*context, {.address = address, .key = *key, .deadline = deadline()});
  if (!client) return fail(std::move(client.error()));
  const TickRate rate = TickRate::measure();
  std::printf("%12s %12s %12s %12s\n", "bytes", "p50 us", "p99 us", "MB/s");
  for (const std::size_t size : {8UL, 1024UL, 4096UL, 65'536UL, 1UL << 20, 64UL << 20}) {
    const int calls = size > 1'000'000 ? static_cast<int>((1UL << 30) / size) : 10'000;
    std::vector<double> values;
    for (int i = -calls / 10; i < calls; ++i) {
      const std::uint64_t start = ticks_now();
      if (auto done = round_trip(*client, size); !done) return done;
      if (i >= 0)  // the first ones warm up
        values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
    }
    const double p50 = percentile(values, 0.5);
    std::printf("%12zu %12.2f %12.2f %12.0f\n", size, p50, percentile(values, 0.99),
                2 * static_cast<double>(size) / p50);
    std::fflush(stdout);
  }
  return {};
}

int run(const std::vector<std::string>& words) {
  const Fabric fabric = !words.empty() && words.back() == "trusted" ? Fabric::trusted : Fabric::tcp;
  const std::size_t count = words.size() - (fabric == Fabric::trusted ? 1 : 0);
  Result<void> done = fail(ErrorCode::bad_request,
                           "fabric_lane serve ADDRESS [trusted] | call ADDRESS:PORT KEY [trusted]");
  if (count == 2 && words[0] == "serve") done = serve(words[1], fabric);
  if (count == 3 && words[0] == "call") done = call(words[1], words[2], fabric);
  if (done) return 0;
  // A server's usual end: its client has gone.
  if (words.size() > 1 && words[0] == "serve" && done.error().code == ErrorCode::unreachable)
    return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.error().code == ErrorCode::bad_request ? 2 : 3;
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  return orchid::bench::run(std::vector<std::string>(argv + 1, argv + argc));
}
