#include "pilot/pilot_keeper.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>
#include <variant>

#include "pilot/pilot_logs.h"
#include "pilot/slurm_words.h"
#include "situation.h"

namespace orchid::pilot {

namespace {

constexpr std::chrono::seconds gateway_gone_after{30};
constexpr std::size_t logs_kept = 200;  // of pilots that are gone
/// So many pilots in a row that somebody took back: there is a pause before the next one.
constexpr unsigned many_taken_back = 3;

}  // namespace

PilotKeeper::PilotKeeper(Options options, Parts parts)
    : options_(std::move(options)), parts_(std::move(parts)), controller_(options_.controller) {}

Result<void> PilotKeeper::look() {
  const MonotonicTime now = parts_.clock.now();
  const JsonDocument demand(parts_.get("/v1/demand"),
                            {.subject = "the gateway's answer to /v1/demand"});
  const bool wanted = cores_wanted(demand.root()) > 0;
  if (auto good = demand.finish(); !good) return good;
  if (!wanted) hopeless_.clear();  // what is noted of it stays, for who asks afterwards
  if (!wanted && !has_pilots_ && now - listed_ < look_when_idle) return {};
  auto jobs = now < ask_again_ ? std::nullopt : read_queue();
  if (!jobs) return {};  // existing pilots go on; without knowing them none is added
  std::set<std::uint64_t> listed;
  for (const PilotJob& job : *jobs) listed.insert(job.job);
  listed_ = now;
  cancel_what_never_starts(*jobs, now);
  has_pilots_ = !std::ranges::all_of(*jobs, &PilotJob::has_ended);
  forget_what_is_gone(*jobs, now);
  if (cluster_.empty()) cluster_ = parts_.slurm.cluster_name().value_or("");
  const std::vector<std::string> partitions = partitions_of_pilots();
  auto situation = situation_of(parts_.get("/v1/hosts"), *jobs,
                                {.cluster = cluster_, .partitions = partitions}, now);
  if (!situation) return fail(std::move(situation.error()));
  for (Pilot& one : situation->pilots) {
    follow(one);
    complete(one);
  }
  act(controller_.decide(now, *situation), listed, now);
  say_what_is_hopeless();
  return {};
}

/// While slurmctld does not answer it is asked less and less often.
std::optional<std::vector<PilotJob>> PilotKeeper::read_queue() {
  auto jobs = parts_.slurm.list(options_.request.job_name);
  if (!jobs) {
    ask_again_ = parts_.clock.now() + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
    if (std::exchange(last_trouble_, jobs.error().message) != jobs.error().message)
      parts_.say("the queue cannot be read: " + jobs.error().message);
    return std::nullopt;
  }
  pause_ = look_every;
  last_trouble_.clear();
  return std::move(*jobs);
}

/// None: any, as far as is known.
std::vector<std::string> PilotKeeper::partitions_of_pilots() {
  const std::string& named = options_.request.partition;
  if (named.empty() && !default_partition_)
    if (auto told = parts_.slurm.default_partition()) default_partition_ = std::move(*told);
  std::vector<std::string> partitions;
  std::istringstream names(named.empty() ? default_partition_.value_or("") : named);
  for (std::string name; std::getline(names, name, ',');)
    if (!name.empty()) partitions.push_back(name);
  return partitions;
}

/// One that has failed before it joined would be followed by another at once, and that by another:
/// also while its node is being cleared, which a site's epilog may make last.
void PilotKeeper::forget_what_is_gone(const std::vector<PilotJob>& jobs, MonotonicTime now) {
  const std::size_t before = submitted_.size();
  std::erase_if(submitted_, [&](const auto& entry) {
    const auto& [job, known] = entry;
    const auto row = std::ranges::find(jobs, job, &PilotJob::job);
    if (row != jobs.end() && !row->has_ended()) return false;
    if (known.joined || known.cancelled || was_taken_back(job, now)) return true;
    controller_.pilot_failed(now, known.node);
    say_trouble(fmt::format(
        "pilot {} has ended{}{}, and its executor has never joined: {} says why, if the pilot "
        "started; the next one is submitted after a pause",
        job, known.node.empty() ? "" : " on ", known.node, log_of(log_folder(), job).string()));
    return true;
  });
  if (submitted_.size() < before) remove_old_logs(log_folder(), jobs, logs_kept);
}

/// It has waited for too long, somebody has cancelled it, or another job has its cores. Whoever
/// cancels one after the other, or needs all cores, is not asked again every few seconds; one that
/// has waited until its deadline has taken its time.
bool PilotKeeper::was_taken_back(std::uint64_t job, MonotonicTime now) {
  const auto state = parts_.slurm.state_of(job);
  if (!state || has_failed(*state)) return false;
  if (*state != "DEADLINE" && ++taken_back_ >= many_taken_back) controller_.pilot_failed(now, "");
  parts_.say(fmt::format("pilot {} has left the queue before its executor joined: Slurm says {}",
                         job, *state));
  return true;
}

void PilotKeeper::follow(const Pilot& one) {
  const auto found = submitted_.find(one.job);
  if (found == submitted_.end()) return;
  if (!one.node.empty()) found->second.node = one.node;
  if (!one.joined || found->second.joined) return;
  found->second.joined = true;
  taken_back_ = 0;
  controller_.pilot_joined();
  trouble_.clear();
  note_troubles();
}

void PilotKeeper::say_trouble(const std::string& trouble) {
  trouble_ = trouble;
  note_troubles();
  parts_.say(trouble);
}

/// For who asks for the pilots, and for who asks why there is no room.
void PilotKeeper::note_troubles() const {
  std::string lines;
  if (!trouble_.empty()) lines = "the last pilot on demand has failed: " + trouble_ + "\n";
  for (const std::string& one : hopeless_) lines += one + "\n";
  note_trouble(log_folder(), lines);
}

/// They would keep others from waiting, and nobody would know why none starts.
void PilotKeeper::cancel_what_never_starts(std::vector<PilotJob>& jobs, MonotonicTime now) {
  std::erase_if(jobs, [&](const PilotJob& job) {
    const auto refusal = never_starts(job);
    const auto ours = submitted_.find(job.job);
    if (!refusal || ours == submitted_.end()) return false;
    if (const auto cancelled = parts_.slurm.cancel(options_.request.job_name, {job.job});
        !cancelled)
      return false;  // until the next look
    ours->second.cancelled = true;
    was_refused(*refusal, ours->second.wanted, now);
    return true;
  });
}

/// Shorter ones may be started; otherwise nothing is submitted for a while.
void PilotKeeper::was_refused(const Failure& refusal, const SubmitPilot& wanted,
                              MonotonicTime now) {
  default_partition_.reset();  // an administrator may have made it another one
  const bool shorter = is_about_time(refusal) && controller_.time_is_too_long(wanted.time);
  const bool others_may_do = is_about_node(refusal);
  if (!shorter) controller_.pilot_failed(now, others_may_do ? wanted.node : "");
  if (std::exchange(last_trouble_, refusal.message) != refusal.message)
    say_trouble("a pilot was refused: " + refusal.message +
                (shorter ? "; later ones last " +
                               std::to_string(controller_.options().longest.count()) + " s at most"
                         : ""));
}

/// With what it was submitted for, as long as its executor does not say what it has.
void PilotKeeper::complete(Pilot& known) const {
  const auto found = submitted_.find(known.job);
  if (found == submitted_.end() || known.joined) return;
  const SubmitPilot& told = found->second.wanted;
  if (known.node.empty()) known.node = told.node;
  if (told.memory.value != 0) known.memory = told.memory;
  known.gpus = told.gpus;
  known.gpu_model = told.gpu_model;
  known.features = told.features;
  known.for_hole = told.for_hole;
}

/// Once, until there is no such demand any more.
void PilotKeeper::say_what_is_hopeless() {
  std::set<std::string> now;
  for (const std::string& one : controller_.hopeless()) {
    const std::string line = "no pilot is submitted for " + one;
    now.insert(line);
    if (!hopeless_.contains(line)) parts_.say(line);
  }
  if (std::exchange(hopeless_, now) != now) note_troubles();
}

/// Whatever Slurm says of one submission it says of the next; each may take until a deadline.
void PilotKeeper::act(const std::vector<PilotAction>& actions,
                      const std::set<std::uint64_t>& listed, MonotonicTime now) {
  bool refused = false;
  for (const PilotAction& action : actions) {
    if (const auto* unwanted = std::get_if<CancelPilot>(&action)) {
      cancel(*unwanted);
    } else if (!refused) {
      const auto no_pause_begins = may_submit();
      refused =
          !no_pause_begins || !is_as_listed(listed) || !submit(std::get<SubmitPilot>(action), now);
    }
  }
}

/// Where somebody else has submitted pilots meanwhile it is decided anew, at the next look: there
/// might be more than may be.
bool PilotKeeper::is_as_listed(const std::set<std::uint64_t>& listed) {
  const auto jobs = read_queue();
  return jobs && std::ranges::all_of(*jobs, [&](const PilotJob& job) {
           return listed.contains(job.job) || submitted_.contains(job.job);
         });
}

std::optional<UniqueFd> PilotKeeper::may_submit() {
  auto held = parts_.gate.enter_unless_paused(std::chrono::system_clock::now());
  if (!held) {
    parts_.say("no pilot is submitted: " + held.error().message);
    return std::nullopt;
  }
  if (!*held && !paused_)
    parts_.say("no pilot is submitted for a while, since 'orchid pilot stop --all' has ended all");
  paused_ = !*held;
  return std::move(*held);
}

void PilotKeeper::cancel(const CancelPilot& unwanted) {
  if (const auto cancelled = parts_.slurm.cancel(options_.request.job_name, {unwanted.job});
      !cancelled)
    return parts_.say(
        fmt::format("pilot {} cannot be cancelled: {}", unwanted.job, cancelled.error().message));
  const auto found = submitted_.find(unwanted.job);
  if (found != submitted_.end()) found->second.cancelled = true;
  if (unwanted.why == CancelReason::never_joined) {
    const std::string node = found == submitted_.end() ? "" : found->second.node;
    return say_trouble(fmt::format(
        "pilot {} is cancelled: it runs{}{}, and its executor has not joined within {} s: {} says "
        "why (does that node reach the gateway?); the next one is submitted after a pause",
        unwanted.job, node.empty() ? "" : " on ", node, controller_.options().join_within.count(),
        log_of(log_folder(), unwanted.job).string()));
  }
  parts_.say(
      fmt::format("cancelled pilot {}: {}", unwanted.job,
                  unwanted.why == CancelReason::missed
                      ? "the cores that it waits for are taken, or Slurm does not give them to it"
                      : "nobody has used it"));
}

bool PilotKeeper::submit(const SubmitPilot& wanted, MonotonicTime now) {
  PilotRequest request = options_.request;
  request.cores = wanted.cores;
  request.time = wanted.time;
  request.node_list = wanted.node;
  // Nothing waits in the queue for a gateway that is gone.
  request.longest_wait = request.gateway_grace;
  request.memory = wanted.memory;
  // Beside its workers'.
  if (request.memory.value != 0)
    request.memory.value += request.data_memory.value_or(ByteCount{}).value;
  request.gpus = wanted.gpus;
  request.gpu_model = wanted.gpu_model;
  if (!wanted.features.empty())
    request.options.push_back(fmt::format("--constraint={}", fmt::join(wanted.features, "&")));
  const auto script = batch_script(request);
  const auto job = script ? parts_.slurm.submit(*script) : fail(script.error());
  if (!job) {
    was_refused(job.error(), wanted, now);
    return false;
  }
  has_pilots_ = true;
  submitted_[*job] = {.wanted = wanted, .node = wanted.node};
  parts_.say(fmt::format("submitted pilot {}: {} cores{} for {} s{}{}", *job, wanted.cores,
                         wanted.gpus == 0 ? "" : fmt::format(" and {} GPUs", wanted.gpus),
                         wanted.time.count(), wanted.node.empty() ? "" : " on ", wanted.node));
  return true;
}

Result<void> keep_pilots(PilotKeeper& keeper, const Clock& clock, const Ending& ending) {
  MonotonicTime answered = clock.now();
  do {
    Result<void> looked;
    try {
      looked = keeper.look();
    } catch (const std::exception&) {
      if (clock.now() - answered > gateway_gone_after) throw;
      continue;
    }
    if (looked)
      answered = clock.now();
    else if (clock.now() - answered > gateway_gone_after)
      return looked;
  } while (!ending.comes_within(PilotKeeper::look_every));
  return {};
}

}  // namespace orchid::pilot
