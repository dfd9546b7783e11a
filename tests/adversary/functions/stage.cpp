#include "stage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <thread>

#include "harness/machine.h"

namespace orchid::tests {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr unsigned neighbours = 2;      // as many as cores
constexpr seconds longest_call{5};      // of the neighbour; what load cannot reach
constexpr seconds longest_overtime{5};  // of an act, after its deadline
constexpr seconds patience{20};         // until what an act used has gone
constexpr seconds load_deadline{60};
constexpr std::size_t most_workers = 40;       // far fewer than a leak makes in all acts
constexpr std::size_t most_descriptors = 400;  // more than before the first act, the same

std::unique_ptr<Stage> the_stage;

/// Looks until `condition` holds; false: it did not within `patience`.
template <typename Condition>
bool holds_soon(Condition condition) {
  const auto give_up = steady_clock::now() + patience;
  while (!condition()) {
    if (steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::string name_of_process(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::size_t entries_of(pid_t process, const char* folder) {
  std::error_code error;
  const fs::directory_iterator all("/proc/" + std::to_string(process) + "/" + folder, error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

LocalOrchid start_on_two_cores() {
  const std::vector<int> cores = bench::allowed_cores();
  std::string two = std::to_string(cores.front());
  if (cores.size() > 1) two += "," + std::to_string(cores[1]);
  auto started =
      LocalOrchid::start({.programs = PROGRAMS, .wrapper = {"taskset", "--cpu-list", two}});
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(*started);
}

template <typename Call>
Ending ending_of(Call call) {
  const auto start = steady_clock::now();
  Ending ending;
  try {
    const Reply reply = call();
    ending = {.outcome = "ok", .words = std::string(reply.text().substr(0, 200))};
  } catch (const Error& error) {
    ending = {
        .outcome = error.outcome().empty() ? std::string(to_string(error.kind())) : error.outcome(),
        .words = error.message(),
        .retryable = error.retryable()};
  }
  ending.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  return ending;
}

}  // namespace

Stage& Stage::get() {
  static const std::string failure = [] {
    try {
      the_stage.reset(new Stage(start_on_two_cores()));
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  }();
  if (the_stage == nullptr) throw std::runtime_error("there is no stage: " + failure);
  return *the_stage;
}

bool Stage::is_open() { return the_stage != nullptr; }

void Stage::close() { the_stage.reset(); }

Stage::Stage(LocalOrchid orchid)
    : orchid_(std::move(orchid)),
      client_({.gateway = orchid_.address(), .token = orchid_.token()}) {
  deploy("neighbour");
  neighbour_.emplace(client_, neighbours);
  if (!neighbour_->wait_for_more(20, patience))
    throw std::runtime_error("the neighbour does not answer before the first act");
  for (const pid_t process : orchid_.processes())
    if (name_of_process(process).starts_with("orchid-executo"))
      descriptors_of_executor_ = entries_of(process, "fd");
  (void)neighbour_->take();
}

void Stage::deploy(std::string_view act) {
  if (!deployed_.try_emplace(std::string(act), true).second) return;
  client_.deploy_file(act, fs::path(ACTS) / (std::string(act) + ".bc"));
}

Ending Stage::load(std::string_view act, milliseconds deadline) {
  deploy(act);
  return ending_of([&] { return client_.invoke(act, "", {.deadline = deadline}); });
}

Ending Stage::call(std::string_view act, milliseconds deadline) {
  return ending_of([&] { return client_.invoke(act, "act", {.deadline = deadline}); });
}

void Stage::perform(const Act& act) {
  CAPTURE(std::string(act.name));
  const Ending loaded = load(act.name, load_deadline);
  CHECK_MESSAGE(loaded.outcome == "ok", loaded.outcome << ": " << loaded.words);
  for (unsigned time = 0; time < act.times; ++time) {
    const Ending ending = call(act.name, act.deadline);
    const std::string seen = ending.outcome + (ending.retryable ? " (retryable): " : ": ") +
                             ending.words + ", after " + std::to_string(ending.took.count()) +
                             " ms";
    CHECK_MESSAGE(std::ranges::count(act.outcomes, ending.outcome) != 0, seen);
    CHECK_MESSAGE(ending.words.find(act.words) != std::string::npos, seen);
    CHECK_MESSAGE(ending.took < act.deadline + longest_overtime, seen);
  }
  check_neighbour(act.name);
  check_leftovers();
}

void Stage::check_neighbour(std::string_view act) {
  CHECK_MESSAGE(neighbour_->wait_for_more(3, patience), "the neighbour gets no answers");
  NeighbourWatch::Seen seen = neighbour_->take();
  CHECK_MESSAGE(seen.wrong.empty(), seen.wrong.size()
                                        << " of the neighbour's " << seen.calls.size()
                                        << " calls, the first: " << seen.wrong.front());
  const auto longest = std::ranges::max_element(seen.calls);
  if (longest != seen.calls.end())
    CHECK_MESSAGE(*longest < longest_call,
                  "a call of the neighbour took " << longest->count() << " us");
  figures_.emplace_back(act, std::move(seen.calls));
}

std::vector<pid_t> Stage::workers() const {
  std::vector<pid_t> found;
  for (const pid_t process : orchid_.processes())
    if (name_of_process(process) == "orchid-worker") found.push_back(process);
  return found;
}

void Stage::check_leftovers() {
  const auto all_have_one_thread = [this] {
    return std::ranges::all_of(workers(),
                               [](pid_t worker) { return entries_of(worker, "task") <= 1; });
  };
  CHECK_MESSAGE(holds_soon(all_have_one_thread), "a worker keeps a thread that the act has made");
  for (const pid_t worker : workers())
    CHECK_MESSAGE(bench::process_tree(worker).size() <= 1, "a worker has a child");
  CHECK_MESSAGE(holds_soon([this] { return workers().size() <= most_workers; }),
                workers().size() << " workers are left");
  static const std::set<std::string> known{"orchid",
                                           "orchid-gateway",
                                           "orchid-executor",
                                           "orchid-executo",
                                           "orchid-zygote",
                                           "orchid-worker",
                                           "orchid-compiler",
                                           "orchid-compile",
                                           "orchid-dispatch",
                                           "orchid-inspect",
                                           "orchid-inspecto",
                                           "orchid-depot",
                                           ""};
  for (const pid_t process : orchid_.processes()) {
    const std::string name = name_of_process(process);
    CHECK_MESSAGE(known.contains(name), "a process called " << name);
    if (name.starts_with("orchid-executo"))
      CHECK_MESSAGE(entries_of(process, "fd") < descriptors_of_executor_ + most_descriptors,
                    "the executor keeps " << entries_of(process, "fd") << " descriptors, after "
                                          << descriptors_of_executor_);
  }
}

void Stage::check_quiet() {
  neighbour_->pause(true);
  // A worker that cannot sleep any more has no such moment.
  const auto quiet = [this] {
    const auto used = [this] {
      std::chrono::microseconds sum{0};
      for (const pid_t worker : workers())
        if (const auto time = bench::cpu_time_of(worker)) sum += *time;
      return sum;
    };
    const auto before = used();
    std::this_thread::sleep_for(milliseconds(300));  // what is measured: how much they use in it
    const auto after = used();
    return after >= before && after - before < milliseconds(60);
  };
  CHECK_MESSAGE(holds_soon(quiet), "a worker uses its core though nobody calls it");
  neighbour_->pause(false);
}

std::string Stage::figures() const {
  std::string text = "how long calls of the neighbour took beside each act, in ms\n";
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(), "%-32s %8s %8s %8s %8s\n", "act", "calls", "p50", "p99",
                "longest");
  text += line.data();
  for (auto [act, calls] : figures_) {
    if (calls.empty()) continue;
    std::ranges::sort(calls);
    const auto at = [&](double part) {
      const auto index = static_cast<std::size_t>(part * static_cast<double>(calls.size() - 1));
      return static_cast<double>(calls[index].count()) / 1000;
    };
    std::snprintf(line.data(), line.size(), "%-32s %8zu %8.2f %8.2f %8.2f\n", act.c_str(),
                  calls.size(), at(0.5), at(0.99), at(1));
    text += line.data();
  }
  return text;
}

}  // namespace orchid::tests
