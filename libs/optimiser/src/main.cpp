// orchid-optimiser LIBRARY [OPTION=VALUE…]: decides, by a shared library of a user, for the process
// that has started it, over the socket that is descriptor 3. It gives up its rights before it loads
// the library, so that code of that runs in the sandbox of workers: it can read libraries, and
// nothing else.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/decision_text.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "foundation/units.h"
#include "optimiser/optimiser_abi.h"
#include "sandbox/confinement.h"

namespace orchid::flow {
namespace {

using Json = nlohmann::json;
using Table = orchid_optimiser_table;

constexpr int driver = 3;
constexpr std::uint32_t oldest_abi = 1;
constexpr ByteCount most_memory{256ULL << 20};

void say(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!send_packet(driver, text)) ::_exit(1);  // nobody listens
}

int refuse(std::string why) {
  say({{"error", std::move(why)}});
  return 1;
}

Result<void> give_up_rights(const std::filesystem::path& library) {
  const ConfinementOptions options{
      .role = SandboxRole::worker,
      .data_limit = most_memory,
      .parent_pid = ::getppid(),
      .keep_descriptors = {0, 1, 2, driver},
      .protected_descriptors = driver + 1,
      .readable_paths = {library, "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
                         "/etc/ld.so.cache"}};
  if (auto confined = confine(options); !confined) return confined;
  return confine_further(options);
}

const char* fault_of(const Table* table) {
  if (table == nullptr) return "it has no optimiser for versions 1 and 2 of the ABI";
  if (table->abi < oldest_abi || table->abi > ORCHID_OPTIMISER_ABI)
    return "it is made for another version of the ABI than 1 and 2";
  if (table->name == nullptr || *table->name == '\0') return "its optimiser has no name";
  if (table->decide == nullptr) return "its optimiser has no decide function";
  return nullptr;
}

/// Made for an older version, it may know no other one.
const Table* table_of(decltype(&orchid_optimiser) entry) {
  for (std::uint32_t abi = ORCHID_OPTIMISER_ABI; abi >= oldest_abi; --abi)
    if (const Table* const table = entry(abi); table != nullptr) return table;
  return nullptr;
}

/// A Situation in the words of the ABI, which point into it.
struct PlainSituation {
  PlainSituation(const Situation& all, const std::vector<orchid_optimiser_option>& options) {
    for (const ReadyNode& node : all.nodes) {
      places.push_back({.host_kind = node.constraints.kind.c_str(),
                        .cluster = node.constraints.cluster.c_str()});
      nodes.push_back({.number = node.node,
                       .name = node.name.c_str(),
                       // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a literal
                       .kind = to_string(node.kind).data(),
                       .function = node.function.c_str(),
                       .input_bytes = node.input_bytes,
                       .seconds_to_end = node.seconds_to_end,
                       .pieces_left = node.pieces_left,
                       .pieces_total = node.pieces_total,
                       .calls_open = node.open_calls,
                       .takes_runs = node.in_runs ? 1U : 0U});
    }
    for (const HostSituation& host : all.hosts) {
      clusters.push_back(host.cluster.c_str());
      hosts.push_back({.name = host.name.c_str(),
                       .kind = host.kind.c_str(),
                       .cores_total = host.cores,
                       .cores_free = host.cores_free,
                       .gpus_free = host.gpus_free,
                       .speed = host.speed,
                       .watts = host.watts.value_or(-1),
                       .watts_per_core = host.watts_per_core});
    }
    for (const FunctionTimes& one : all.times)
      times.push_back({.function = one.function.c_str(),
                       .host_kind = one.host_kind.c_str(),
                       .calls = one.calls,
                       .pieces = one.pieces,
                       .run_seconds = one.run_seconds,
                       .overhead_seconds = one.overhead_seconds});
    plain = {.nodes = nodes.data(),
             .node_count = nodes.size(),
             .hosts = hosts.data(),
             .host_count = hosts.size(),
             .times = times.data(),
             .times_count = times.size(),
             .options = options.data(),
             .option_count = options.size(),
             .workers = all.workers,
             .calls_most = all.window,
             .host_clusters = clusters.data(),
             .node_places = places.data()};
  }
  PlainSituation(const PlainSituation&) = delete;
  PlainSituation& operator=(const PlainSituation&) = delete;

  std::vector<orchid_optimiser_node> nodes;
  std::vector<orchid_optimiser_place> places;
  std::vector<orchid_optimiser_host> hosts;
  std::vector<const char*> clusters;
  std::vector<orchid_optimiser_times> times;
  orchid_optimiser_situation plain{};
};

Json json_of(const orchid_optimiser_advice& advice) {
  Json json{{"node", advice.node}};
  if ((advice.says & ORCHID_OPTIMISER_PRIORITY) != 0) json["priority"] = advice.priority;
  if ((advice.says & ORCHID_OPTIMISER_CALLS) != 0) json["calls"] = advice.calls;
  if ((advice.says & ORCHID_OPTIMISER_HOST) != 0) json["host"] = advice.host;
  const std::span why(advice.why);
  json["why"] = std::string(why.data(), ::strnlen(why.data(), why.size()));
  return json;
}

Json answer_of(const Table& table, const Situation& situation,
               const std::vector<orchid_optimiser_option>& options) {
  const PlainSituation plain(situation, options);
  std::vector<orchid_optimiser_advice> advice(situation.nodes.size());
  orchid_optimiser_decision decision{
      .advice = advice.data(), .advice_room = advice.size(), .advice_count = 0, .calls_open = 0};
  if (const int status = table.decide(table.state, &plain.plain, &decision); status != 0)
    return {{"error", "it cannot decide (" + std::to_string(status) + ")"}};
  if (decision.advice_count > advice.size())
    return {{"error", "it has written more advice than there was room for"}};
  Json nodes = Json::array();
  for (std::size_t i = 0; i < decision.advice_count; ++i) nodes.push_back(json_of(advice[i]));
  Json json{{"nodes", std::move(nodes)}};
  if (decision.calls_open != 0) json["calls_open"] = decision.calls_open;
  return json;
}

int serve(const Table& table, const std::vector<orchid_optimiser_option>& options) {
  while (true) {
    auto packet = receive_packet(driver, true);
    if (!packet || !*packet) return 0;
    const auto situation = parse_situation((*packet)->text);
    if (!situation) return refuse(situation.error().message);
    say(answer_of(table, *situation, options));
  }
}

/// "NAME=VALUE" becomes two strings in place.
std::vector<orchid_optimiser_option> options_of(std::span<char*> words) {
  std::vector<orchid_optimiser_option> options;
  for (char* word : words)
    if (char* const equals = std::strchr(word, '='); equals != nullptr) {
      *equals = '\0';
      options.push_back({.name = word, .value = equals + 1});
    }
  return options;
}

int run(std::span<char*> words) {
  if (words.size() < 2) return 2;
  const std::filesystem::path library(words[1]);
  if (auto confined = give_up_rights(library); !confined) return refuse(confined.error().message);
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refuse(::dlerror());
  const auto entry =
      reinterpret_cast<decltype(&orchid_optimiser)>(::dlsym(handle, "orchid_optimiser"));
  if (entry == nullptr) return refuse("it does not export orchid_optimiser");
  const Table* const table = table_of(entry);
  if (const char* const fault = fault_of(table); fault != nullptr) return refuse(fault);
  say({{"name", table->name},
       {"description", table->description == nullptr ? "" : table->description}});
  return serve(*table, options_of(words.subspan(2)));
}

}  // namespace
}  // namespace orchid::flow

int main(int argc, char** argv) {
  return orchid::flow::run(std::span(argv, static_cast<std::size_t>(argc)));
}
