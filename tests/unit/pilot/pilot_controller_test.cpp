#include "pilot/pilot_controller.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "pilot_decisions.h"

namespace orchid::pilot {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

constexpr MonotonicTime start{1h};

WorkerDemand of_cores(std::uint32_t workers, std::uint32_t cores) {
  return {.workers = workers, .worker = {.alternatives = {{.cores = cores}}}};
}

/// After demand has lasted.
std::vector<SubmitPilot> grown(PilotController& controller, const Situation& situation) {
  CHECK(submissions(controller.decide(start, situation)).empty());
  return submissions(controller.decide(start + controller.options().grow_after, situation));
}

}  // namespace

TEST_CASE("demand that lasts brings pilots that fit the holes") {
  PilotController controller({.most_queued = 4, .most_cores = 8, .shortest = 2min, .longest = 1h});
  const Situation situation{
      .demand = one_core(12),
      .holes = std::vector<Hole>{{.node = "n1", .cores = 16, .lasts = 17min},
                                 {.node = "n2", .cores = 2, .lasts = std::nullopt},
                                 {.node = "n3", .cores = 64, .lasts = 100s},
                                 {.node = "n4", .cores = 3, .lasts = 5min}}};
  const auto submitted = grown(controller, situation);
  // The one that lasts first; 17 minutes have room for a quarter of an hour; n3 is too short.
  REQUIRE(submitted.size() == 3);
  CHECK(submitted[0] == SubmitPilot{.cores = 2, .time = 1h, .node = "n2"});
  CHECK(submitted[1] == SubmitPilot{.cores = 8, .time = 15min, .node = "n1"});
  CHECK(submitted[2] == SubmitPilot{.cores = 2, .time = 225s, .node = "n4"});
}

TEST_CASE("demand that passes quickly brings none") {
  PilotController controller({.grow_after = 5s});
  for (int i = 0; i < 100; ++i) {
    const MonotonicTime now = start + seconds(i);
    CHECK(controller.decide(now, {.demand = one_core(i % 4 == 0 ? 0U : 8U)}).empty());
  }
}

TEST_CASE("no more wait than the cap, and what is on its way counts") {
  PilotController controller({.most_queued = 2, .most_running = 3, .most_cores = 4});
  Situation situation{.demand = one_core(100)};
  CHECK(grown(controller, situation).size() == 2);
  situation.pilots = {{.job = 1, .cores = 4}, {.job = 2, .cores = 4}};
  CHECK(controller.decide(start + 1min, situation).empty());
  situation.pilots[0].runs = true;
  CHECK(submissions(controller.decide(start + 2min, situation)).size() == 1);
  situation.pilots[1].runs = true;
  situation.pilots.push_back({.job = 3, .cores = 4, .runs = true});
  CHECK(controller.decide(start + 2min + 10s, situation).empty());
  situation.demand = one_core(12);  // all three are about to join
  CHECK(controller.decide(start + 2min + 20s, situation).empty());
}

TEST_CASE("without a forecast lengths are mixed; where nothing is free few wait") {
  PilotController blind({.most_queued = 4, .most_cores = 1, .shortest = 2min, .longest = 16min});
  const auto mixed = grown(blind, {.demand = one_core(9)});
  REQUIRE(mixed.size() == 4);
  CHECK(mixed[0].time == 16min);
  CHECK(mixed[1].time == 8min);
  CHECK(mixed[3].time == 2min);

  PilotController full({.most_queued = 4, .most_cores = 1});
  CHECK(grown(full, {.demand = one_core(9), .holes = std::vector<Hole>{}}).size() == 4);
  PilotController waits({.most_queued = 4, .most_cores = 1});
  CHECK(grown(waits, {.demand = one_core(9),
                      .pilots = {{.job = 1, .cores = 1}},
                      .holes = std::vector<Hole>{}})
            .empty());
}

TEST_CASE("a pilot that is used is replaced before it ends, one that is idle is not") {
  PilotController controller({.most_cores = 8, .shortest = 2min, .renew_before = 1min});
  Situation situation{.pilots = {{.job = 1,
                                  .cores = 8,
                                  .runs = true,
                                  .joined = true,
                                  .cores_used = 6,
                                  .ends = start + 10min}}};
  CHECK(controller.decide(start + 8min, situation).empty());
  const auto submitted = submissions(controller.decide(start + 9min, situation));
  REQUIRE(submitted.size() == 1);
  CHECK(submitted[0].cores == 6);
  situation.pilots.push_back({.job = 2, .cores = 6});
  CHECK(submissions(controller.decide(start + 9min + 1s, situation)).empty());
  situation.pilots.pop_back();
  situation.pilots[0].cores_used = 0;
  CHECK(submissions(controller.decide(start + 9min + 2s, situation)).empty());
}

TEST_CASE("pilots that nobody uses for a while are cancelled, and not before") {
  PilotController controller({.shrink_after = 60s});
  Situation situation{
      .pilots = {{.job = 1, .cores = 4}, {.job = 2, .cores = 4, .runs = true, .joined = true}}};
  CHECK(controller.decide(start, situation).empty());
  CHECK(controller.decide(start + 59s, situation).empty());
  situation.pilots[1].cores_used = 1;
  CHECK(cancelled(controller.decide(start + 60s, situation)) == std::vector<std::uint64_t>{1});
  situation.pilots.erase(situation.pilots.begin());
  situation.pilots[0].cores_used = 0;
  CHECK(controller.decide(start + 61s, situation).empty());
  CHECK(controller.decide(start + 120s, situation).empty());
  CHECK(cancelled(controller.decide(start + 121s, situation)) == std::vector<std::uint64_t>{2});
}

TEST_CASE("a pilot that waits for a hole which is gone makes room for one that is there") {
  PilotController controller({.most_queued = 1, .most_cores = 8, .missed_after = 10s});
  const Hole other{.node = "n2", .cores = 8, .lasts = std::nullopt};
  Situation situation{.demand = one_core(8),
                      .pilots = {{.job = 1, .cores = 8, .node = "n1"}},
                      .holes = std::vector<Hole>{{.node = "n1", .cores = 8}, other}};
  CHECK(controller.decide(start, situation).empty());
  situation.holes->front().cores = 7;  // a batch job has come
  CHECK(controller.decide(start + 20s, situation).empty());
  CHECK(controller.decide(start + 29s, situation).empty());
  situation.holes->front().cores = 8;  // and gone
  CHECK(controller.decide(start + 31s, situation).empty());
  situation.holes->front().cores = 7;
  CHECK(controller.decide(start + 40s, situation).empty());
  const auto actions = controller.decide(start + 50s, situation);
  CHECK(cancelled(actions) == std::vector<std::uint64_t>{1});
  CHECK(submissions(controller.decide(start + 60s, {.demand = one_core(8), .holes = {{other}}})) ==
        std::vector<SubmitPilot>{{.cores = 8, .time = 1h, .node = "n2"}});
  // What runs, or waits for any node, has missed nothing.
  situation.pilots = {
      {.job = 2, .cores = 9, .runs = true, .joined = true, .cores_used = 9, .node = "n1"},
      {.job = 3, .cores = 99}};
  CHECK(cancelled(controller.decide(start + 2h, situation)).empty());
  CHECK(cancelled(controller.decide(start + 3h, situation)).empty());
}

TEST_CASE("where no room is found, or nothing started for long, another node is tried") {
  const std::vector<Hole> both{{.node = "n1", .cores = 4, .lasts = std::nullopt},
                               {.node = "n2", .cores = 2, .lasts = std::nullopt}};
  const auto waits_on_n1 = [&](bool no_room) {
    PilotController controller(
        {.most_queued = 1, .most_cores = 4, .no_room_after = 45s, .no_start_after = 300s});
    const Situation situation{.demand = one_core(2),
                              .pilots = {{.job = 1, .cores = 2, .node = "n1", .no_room = no_room}},
                              .holes = both};
    for (auto now = start;; now += 1s) {
      REQUIRE(now < start + 10min);
      const auto actions = controller.decide(now, situation);
      if (actions.empty()) continue;
      CHECK(cancelled(actions) == std::vector<std::uint64_t>{1});
      const Situation next{.demand = one_core(2), .pilots = {}, .holes = both};
      const auto submitted = submissions(controller.decide(now + 2s, next));
      REQUIRE(submitted.size() == 1);
      CHECK(submitted[0].node == "n2");
      return now - start;
    }
  };
  CHECK(waits_on_n1(true) == 45s);
  CHECK(waits_on_n1(false) == 300s);
}

TEST_CASE("a pilot is as wide as the widest worker that it is for") {
  PilotController controller({.most_queued = 8, .most_cores = 8});
  const std::vector<Hole> holes{{.node = "n1", .cores = 3, .lasts = std::nullopt},
                                {.node = "n2", .cores = 2, .lasts = std::nullopt}};
  // Three and two make no four: it waits for whatever comes free.
  const auto waits = grown(controller, {.demand = {of_cores(1, 4)}, .pilots = {}, .holes = holes});
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].cores == 4);
  CHECK(waits[0].node.empty());
  CHECK_FALSE(waits[0].for_hole);
  // The narrow ones fill what the wide one leaves, and other holes.
  PilotController mixed({.most_queued = 8, .most_cores = 8});
  const auto filled = grown(
      mixed, {.demand = {of_cores(4, 1), of_cores(1, 4)},
              .pilots = {},
              .holes = std::vector<Hole>{{.node = "n1", .cores = 6}, {.node = "n2", .cores = 3}}});
  REQUIRE(filled.size() == 2);
  CHECK(filled[0] == SubmitPilot{.cores = 6, .time = 1h, .node = "n1"});
  CHECK(filled[1] == SubmitPilot{.cores = 2, .time = 1h, .node = "n2"});
}

TEST_CASE("what is free in several pilots does not add up, and brings no more of them for ever") {
  PilotController controller(
      {.most_queued = 8, .most_running = 8, .most_cores = 4, .shrink_after = 60s});
  const auto pilot = [](std::uint64_t job, std::uint32_t cores) {
    return Pilot{.job = job, .cores = cores, .runs = true, .joined = true, .ends = start + 1h};
  };
  Situation situation{.demand = {of_cores(1, 4)}, .pilots = {pilot(1, 1), pilot(2, 3)}};
  const auto wide = grown(controller, situation);
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].cores == 4);
  // The one that waits is enough; those that cannot help go after a while.
  situation.pilots.push_back({.job = 3, .cores = 4});
  CHECK(controller.decide(start + 30s, situation).empty());
  CHECK(cancelled(controller.decide(start + 61s, situation)) == std::vector<std::uint64_t>{1, 2});
  situation.pilots = {pilot(3, 4)};  // it is there, and its worker about to come
  CHECK(controller.decide(start + 62s, situation).empty());
}

TEST_CASE("a pilot has the memory that its workers want, and a hole has no more than is free") {
  PilotController controller({.most_queued = 8, .most_cores = 8, .memory_per_core = 1_GiB});
  const WorkerDemand large{.workers = 4,
                           .worker = {.alternatives = {{.cores = 1, .memory = 2_GiB}}}};
  const auto submitted =
      grown(controller, {.demand = {large},
                         .pilots = {},
                         .holes = std::vector<Hole>{{.node = "n1", .cores = 4, .memory = 5_GiB},
                                                    {.node = "n2", .cores = 4, .memory = 1_GiB}}});
  REQUIRE_FALSE(submitted.empty());
  CHECK(submitted[0] == SubmitPilot{.cores = 2, .time = 1h, .node = "n1", .memory = 4_GiB});
  for (const SubmitPilot& one : submitted) CHECK(one.node != "n2");
  PilotController small({.most_cores = 8, .memory_per_core = 1_GiB});
  const auto usual = grown(small, {.demand = one_core(2)});
  REQUIRE(usual.size() == 1);
  CHECK(usual[0].memory == 2_GiB);
}

TEST_CASE("a GPU is asked for where one is free, and cores elsewhere when that will do") {
  const std::vector<Node> nodes{
      {.name = "n1", .cores = 8},
      {.name = "n2", .cores = 8, .gpus = {"a100"}, .kind = HostKind::gpu}};
  const WorkerDemand either{.workers = 2,
                            .worker = {.alternatives = {{.cores = 1, .gpus = 1}, {.cores = 4}}}};
  PilotController controller({.most_queued = 8, .most_cores = 8});
  const auto submitted =
      grown(controller, {.demand = {either},
                         .pilots = {},
                         .holes = std::vector<Hole>{{.node = "n1", .cores = 8},
                                                    {.node = "n2", .cores = 2, .gpus = 1}},
                         .nodes = nodes});
  REQUIRE(submitted.size() == 2);
  CHECK(submitted[0] == SubmitPilot{.cores = 4, .time = 1h, .node = "n1"});
  CHECK(submitted[1] == SubmitPilot{.cores = 1, .time = 1h, .node = "n2", .gpus = 1});
}

TEST_CASE("demand that no pilot could serve starts none, and is told with the reason") {
  std::vector<Node> nodes{{.name = "n1",
                           .cores = 8,
                           .memory = 16_GiB,
                           .architecture = "x86_64",
                           .kind = HostKind::cpu,
                           .features = {"slow"}}};
  const auto why = [&](WorkerDemand demand) -> std::string {
    PilotController controller({.most_cores = 8, .longest = 1h, .grow_after = 0s});
    const Situation situation{.demand = {std::move(demand)},
                              .pilots = {},
                              .holes = std::vector<Hole>{{.node = "n1", .cores = 8}},
                              .nodes = nodes};
    if (!controller.decide(start, situation).empty()) return "submitted";
    REQUIRE(controller.hopeless().size() == 1);
    return controller.hopeless()[0];
  };
  CHECK(why({.worker = {.features = {"fast"}}}) ==
        "workers of 1 core, on a host with the feature fast: no node has the feature fast");
  CHECK(why({.worker = {.kind = HostKind::dpu}}).ends_with("no node is of the kind dpu"));
  CHECK(why({.worker = {.images = {"aarch64"}}})
            .ends_with("no image for x86-64; the module has aarch64"));
  CHECK(why({.worker = {.host = "n9"}}).ends_with("no node that pilots could get is called n9"));
  CHECK(why({.worker = {.alternatives = {{.cores = 9}}}}).ends_with("a pilot has at most 8 cores"));
  CHECK(why({.worker = {.alternatives = {{.cores = 1, .memory = 17_GiB}}}})
            .ends_with("no node is large enough"));
  CHECK(why({.worker = {.alternatives = {{.cores = 1, .gpus = 1}}}})
            .ends_with("no node is large enough"));
  CHECK(why({.worker = {.lifetime = 2h}}).ends_with("a pilot lasts at most 3600 s"));
  CHECK(why({.worker = {.features = {"slow"}}}) == "submitted");
  CHECK(why({.worker = {.lifetime = 10min}}) == "submitted");
  CHECK(why({.worker = {.avoid_host = {"n1"}}}) ==
        "workers of 1 core, not on n1: no node has all of these properties");
  nodes.clear();
  CHECK(why({.worker = {.kind = HostKind::cpu}})
            .find("in a partition for pilots that starts jobs now") != std::string::npos);
}

TEST_CASE("workers that want a certain node get a pilot there, or for its features") {
  const std::vector<Node> nodes{
      {.name = "n1", .cores = 8, .kind = HostKind::cpu},
      {.name = "n2", .cores = 8, .kind = HostKind::dpu, .features = {"dpu"}}};
  const auto submitted = [&](WorkerRequest worker, std::optional<std::vector<Hole>> holes) {
    PilotController controller({.most_cores = 2, .grow_after = 0s});
    return submissions(controller.decide(
        start,
        {.demand = {{.worker = std::move(worker)}}, .pilots = {}, .holes = holes, .nodes = nodes}));
  };
  const std::vector<Hole> free{{.node = "n1", .cores = 2}, {.node = "n2", .cores = 2}};
  REQUIRE(submitted({.kind = HostKind::dpu}, free).size() == 1);
  CHECK(submitted({.kind = HostKind::dpu}, free)[0].node == "n2");
  const auto waits = submitted({.features = {"dpu"}}, std::vector<Hole>{});
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].node.empty());
  CHECK(waits[0].features == std::vector<std::string>{"dpu"});
  CHECK(submitted({.kind = HostKind::dpu}, std::vector<Hole>{})[0].node == "n2");
  REQUIRE(submitted({.avoid_host = {"n1"}}, free).size() == 1);
  CHECK(submitted({.avoid_host = {"n1"}}, free)[0].node == "n2");
  CHECK(submitted({.avoid_host = {"n1"}}, std::vector<Hole>{})[0].node == "n2");  // and no other
}

TEST_CASE("a pilot that waits for no hole has missed none, and keeps others from waiting") {
  PilotController controller({.most_cores = 4, .grow_after = 0s});
  Situation situation{.demand = {of_cores(1, 4)},
                      .pilots = {{.job = 1, .cores = 4, .node = "n1", .for_hole = false}},
                      .holes = std::vector<Hole>{}};
  for (int second = 0; second < 300; second += 10)
    CHECK(controller.decide(start + seconds(second), situation).empty());
}

TEST_CASE("workers that have to last get a pilot that does") {
  PilotController controller({.most_queued = 4, .most_cores = 1, .shortest = 2min, .longest = 1h});
  const auto submitted =
      grown(controller, {.demand = {{.workers = 3, .worker = {.lifetime = 20min}}},
                         .pilots = {},
                         .holes = std::vector<Hole>{{.node = "n1", .cores = 1, .lasts = 17min},
                                                    {.node = "n2", .cores = 1, .lasts = 35min}}});
  REQUIRE_FALSE(submitted.empty());
  for (const SubmitPilot& one : submitted) {
    CHECK(one.node != "n1");
    CHECK(one.time >= 20min);
  }
}

TEST_CASE("after a submission that failed there is a pause, and a longer one each time") {
  PilotController controller({.grow_after = 0s, .first_pause = 5s, .longest_pause = 8s});
  const Situation situation{.demand = one_core(1)};
  CHECK(submissions(controller.decide(start, situation)).size() == 1);
  controller.pilot_failed(start, "");
  controller.pilot_failed(start + 1s, "");  // another one that was under way
  CHECK(controller.decide(start + 4s, situation).empty());
  CHECK(submissions(controller.decide(start + 5s, situation)).size() == 1);
  controller.pilot_failed(start + 5s, "");
  CHECK(controller.decide(start + 12s, situation).empty());
  CHECK(submissions(controller.decide(start + 13s, situation)).size() == 1);
  controller.pilot_joined();
  controller.pilot_failed(start + 14s, "");
  CHECK(submissions(controller.decide(start + 19s, situation)).size() == 1);
}

TEST_CASE("where a pilot has died no other is sent for a while") {
  PilotController controller({.grow_after = 0s, .first_pause = 5s, .avoid_node_for = 60s});
  const Situation situation{
      .demand = one_core(1),
      .holes = std::vector<Hole>{{.node = "n1", .cores = 2}, {.node = "n2", .cores = 1}}};
  const auto node_at = [&](MonotonicTime now) {
    const auto submitted = submissions(controller.decide(now, situation));
    return submitted.empty() ? "none" : submitted[0].node;
  };
  CHECK(node_at(start) == "n1");
  controller.pilot_failed(start, "n1");
  CHECK(node_at(start + 4s) == "none");
  CHECK(node_at(start + 5s) == "n2");
  CHECK(node_at(start + 59s) == "n2");
  CHECK(node_at(start + 60s) == "n1");
  controller.pilot_failed(start + 60s, "n1");
  controller.pilot_failed(start + 60s, "n2");
  CHECK(node_at(start + 69s) == "none");  // the second pause, once for both
  CHECK(node_at(start + 70s).empty());    // it waits for any
}

TEST_CASE(
    "pilots that the batch system will not start for their time are followed by shorter ones") {
  PilotController controller({.shortest = 2min, .longest = 1h, .grow_after = 0s});
  const Situation situation{
      .demand = one_core(1),
      .holes = std::vector<Hole>{{.node = "n1", .cores = 1, .lasts = std::nullopt}}};
  const auto time = [&] { return submissions(controller.decide(start, situation)).at(0).time; };
  CHECK(time() == 1h);
  CHECK(controller.time_is_too_long(1h));
  CHECK(time() == 30min);
  CHECK(controller.time_is_too_long(1h));  // another one of those that waited
  CHECK(time() == 30min);
  CHECK(controller.time_is_too_long(5min));
  CHECK(time() == 225s);
  CHECK_FALSE(controller.time_is_too_long(2min));
  WorkerDemand lasting = of_cores(1, 1);
  lasting.worker.lifetime = 10min;
  CHECK(submissions(controller.decide(start, {.demand = {lasting}})).empty());
  REQUIRE(controller.hopeless().size() == 1);
  CHECK(controller.hopeless()[0].find("a pilot lasts at most 225 s") != std::string::npos);
}

TEST_CASE("options that cannot be are refused") {
  CHECK(check({}).has_value());
  CHECK_FALSE(check({.shortest = 30s}).has_value());
  CHECK_FALSE(check({.shortest = 10min, .longest = 5min}).has_value());
  CHECK_FALSE(check({.most_cores = 0}).has_value());
  CHECK_FALSE(check({.most_cores = 2, .least_cores = 3}).has_value());
  CHECK_FALSE(check({.shortest = 2min, .renew_before = 2min}).has_value());
  CHECK_FALSE(check({.join_within = 0s}).has_value());
  CHECK_FALSE(check({.shrink_after = 0s}).has_value());
}

namespace {

/// A cluster that starts, ends and kills pilots as it likes.
class Cluster {
 public:
  explicit Cluster(unsigned seed) : random_(seed) {
    options_.most_queued = 1 + random_() % 4;
    options_.most_running = options_.most_queued + random_() % 8;
    options_.most_cores = 1 + random_() % 16;
    options_.least_cores = 1 + random_() % options_.most_cores;
    options_.shortest = seconds(120);
    options_.longest = seconds(120 + random_() % 3600);
    options_.grow_after = seconds(random_() % 10);
    REQUIRE(check(options_).has_value());
    controller_.emplace(options_);
  }

  void step() {
    now_ += seconds(1 + random_() % 5);
    situation_.demand = one_core(random_() % 3 == 0 ? 0 : random_() % 100);
    situation_.holes.reset();
    if (random_() % 2 == 0) make_holes();
    act(controller_->decide(now_, situation_));
    live();
  }
  /// Nobody wants anything any more.
  void rest() {
    for (int i = 0; i < 200; ++i) {
      now_ += seconds(1);
      situation_.demand = one_core(0);
      for (Pilot& pilot : situation_.pilots) pilot.cores_used = 0;
      act(controller_->decide(now_, situation_));
    }
    CHECK(situation_.pilots.empty());
  }

 private:
  void make_holes() {
    situation_.holes.emplace();
    for (unsigned node = random_() % 5; node > 0; --node) {
      Hole hole{.node = "n" + std::to_string(node),
                .cores = static_cast<std::uint32_t>(random_() % 32)};
      if (random_() % 3 != 0) hole.lasts = seconds(random_() % 5000);
      situation_.holes->push_back(std::move(hole));
    }
  }

  void act(const std::vector<PilotAction>& actions) {
    for (const PilotAction& action : actions) {
      if (const auto* cancel = std::get_if<CancelPilot>(&action)) {
        const auto gone = std::erase_if(situation_.pilots, [&](const Pilot& pilot) {
          return pilot.job == cancel->job && pilot.cores_used == 0;
        });
        REQUIRE(gone == 1);  // it was there, and idle
      } else {
        submitted(std::get<SubmitPilot>(action));
      }
    }
    const auto waiting =
        std::ranges::count_if(situation_.pilots, [](const Pilot& pilot) { return !pilot.runs; });
    REQUIRE(waiting <= options_.most_queued);
    REQUIRE(situation_.pilots.size() <= options_.most_running);
  }

  void submitted(const SubmitPilot& submit) {
    REQUIRE(submit.cores >= options_.least_cores);
    REQUIRE(submit.cores <= options_.most_cores);
    REQUIRE(submit.time >= options_.shortest);
    REQUIRE(submit.time <= options_.longest);
    if (!submit.node.empty()) {
      REQUIRE(situation_.holes.has_value());
      bool fits = false;
      for (const Hole& hole : *situation_.holes)
        if (hole.node == submit.node)
          fits = hole.cores >= submit.cores && (!hole.lasts || *hole.lasts >= submit.time);
      REQUIRE(fits);
    }
    situation_.pilots.push_back({.job = ++last_job_, .cores = submit.cores, .node = submit.node});
    times_[last_job_] = submit.time;
  }

  void live() {
    for (Pilot& pilot : situation_.pilots) {
      if (!pilot.runs && random_() % 4 == 0) {
        pilot.runs = true;
        pilot.ends = now_ + times_.at(pilot.job);
      } else if (pilot.runs && random_() % 2 == 0) {
        pilot.joined = true;
      }
      if (pilot.joined) pilot.cores_used = random_() % (pilot.cores + 1);
    }
    std::erase_if(situation_.pilots, [&](const Pilot& pilot) {
      return (pilot.ends && *pilot.ends <= now_) || (pilot.runs && random_() % 50 == 0);
    });
  }

  std::mt19937 random_;
  PilotOptions options_;
  std::optional<PilotController> controller_;
  Situation situation_;
  MonotonicTime now_ = start;
  std::uint64_t last_job_ = 0;
  std::map<std::uint64_t, seconds> times_;
};

}  // namespace

TEST_CASE(
    "whatever the cluster does, caps and bounds hold, and nothing is left when all is quiet") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Cluster cluster(seed);
    for (int step = 0; step < 300; ++step) cluster.step();
    cluster.rest();
  }
}

TEST_CASE("steady demand brings no more pilots than it takes") {
  PilotController controller({.most_cores = 4, .shortest = 5min, .longest = 5min});
  Situation situation{.demand = one_core(8)};
  int submitted = 0;
  for (int second = 0; second < 3600; ++second) {
    const MonotonicTime now = start + seconds(second);
    for (const SubmitPilot& submit : submissions(controller.decide(now, situation))) {
      ++submitted;
      situation.pilots.push_back({.job = static_cast<std::uint64_t>(submitted),
                                  .cores = submit.cores,
                                  .runs = true,
                                  .joined = true,
                                  .ends = now + submit.time});
    }
    std::erase_if(situation.pilots, [&](const Pilot& pilot) { return *pilot.ends <= now; });
    std::uint32_t left = 8;
    for (Pilot& pilot : situation.pilots) {
      pilot.cores_used = std::min(left, pilot.cores);
      left -= pilot.cores_used;
    }
    situation.demand = one_core(left);
  }
  // Two pilots of five minutes, renewed a minute before their end: at most 2 × 60 / 4 and the
  // first.
  CHECK(submitted >= 24);
  CHECK(submitted <= 32);
}

}  // namespace orchid::pilot
