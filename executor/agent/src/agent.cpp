#include "agent.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "children/core_binding.h"
#include "children/scheduling.h"
#include "foundation/log.h"

namespace orchid::executor {
namespace {
constexpr std::chrono::milliseconds tick_interval{250};
constexpr std::chrono::milliseconds clear_interval{1};
/// Then the process ends although something hangs; the kernel kills its children.
constexpr std::chrono::seconds longest_reclaim{1};

CoreList indices_of(const std::vector<OfferedGpu>& gpus) {
  CoreList indices;
  for (const OfferedGpu& gpu : gpus) indices.push_back(gpu.index);
  return indices;
}

}  // namespace

Agent::Agent(boost::asio::io_context& io, Options options, HostResources host, CodeStore store,
             LaneListeners listeners, SupervisorNotice notice)
    : io_(io),
      options_(std::move(options)),
      host_(std::move(host)),
      grant_(options_.grant, std::chrono::steady_clock::now()),
      store_(std::move(store)),
      notice_(std::move(notice)),
      children_(io),
      leases_(host_.cores, indices_of(options_.gpus), &claims_),
      devices_(io, children_, options_.devices, {options_.gpus, options_.gpu_uuids},
               [this] { gpus_changed(); }),
      workers_(io, children_, options_.workers),
      compilers_(io, children_, options_.compilers,
                 [this](const CompilerReady& target) { compiler_ready(target); }),
      code_(io, compilers_, store_),
      data_(io, options_.data, options_.data_spill, options_.data_durable),
      data_of_calls_({.io = io_,
                      .data = data_,
                      .workers = workers_,
                      .tell =
                          [this](const ControlMessage& message) {
                            if (gateway_) gateway_->send(message);
                          }}),
      depots_(io, children_, options_.depots),
      copying_(io, children_, data_, options_.copying,
               [this](const ControlMessage& message) {
                 if (gateway_) gateway_->send(message);
               }),
      digests_(io, data_,
               [this](const ControlMessage& message) {
                 if (gateway_) gateway_->send(message);
               }),
      memory_(io, children_, data_, options_.memory,
              [this](const ControlMessage& message) {
                if (gateway_) gateway_->send(message);
              }),
      memory_of_calls_({.io = io_,
                        .children = children_,
                        .leases = memory_,
                        .tell =
                            [this](const ControlMessage& message) {
                              if (gateway_) gateway_->send(message);
                            }},
                       {.program = options_.memory.program,
                        .host_name = host_.hostname,
                        .scheduling = options_.depots.scheduling}),
      services_{io,
                workers_,
                code_,
                leases_,
                data_,
                rate_,
                counters_,
                [this](const LeaseClosed& closed) { say_closed(closed); },
                [this] { return memory_ran_out(); },
                {},
                &devices_,
                &depots_},
      lanes_(services_, std::move(listeners.local), std::move(listeners.remote)),
      modules_of_calls_(code_, lanes_, options_.compile_quota),
      timer_(io) {
  data_.set_handlers({[this](const ControlMessage& message) {
                        if (gateway_) gateway_->send(message);
                      },
                      [this](const DataId& data) {
                        copying_.dropped(data);
                        digests_.dropped(data);
                        lanes_.drop_data(data);
                      }});
  data_of_calls_.ask_crews(crews_of(lanes_));
  if (options_.bandwidth) bandwidth_.emplace(io, workers_, *options_.bandwidth, counters_);
  serve_calls(depots_,
              {.data = data_of_calls_, .memory = memory_of_calls_, .modules = modules_of_calls_},
              workers_);
}

/// True once for each process that the kernel has ended.
bool Agent::memory_ran_out() {
  if (!options_.memory_kills || options_.memory_kills() <= memory_kills_) return false;
  ++memory_kills_;
  log::warn("event=memory_ran_out kills={}", memory_kills_);
  return true;
}

void Agent::start() {
  const GrantTerms& terms = options_.grant.terms;
  log::info("event=starting host={} cores={} gpus={} memory=\"{}\" grant={} job={} node={}",
            host_.hostname, to_core_text(host_.cores), to_core_text(indices_of(options_.gpus)),
            to_string(host_.memory), to_string(terms.source), terms.job, terms.node);
  if (options_.core_feed) {
    [[maybe_unused]] const auto nothing = leases_.offer({});  // until somebody says what is free
    feed_.emplace(io_, std::move(options_.core_feed),
                  CoreFeed::Handlers{[this](const CoreList& cores) { offer(cores); },
                                     [this](const Failure& why) { reclaim(why.message); }});
  }
  // Until their device processes have run their first kernels.
  [[maybe_unused]] const auto no_leases_yet = leases_.offer_gpus({});
  devices_.start();
  compilers_.start();
  workers_.start();
  if (bandwidth_) bandwidth_->start();
  tick();
}

void Agent::stop() {
  notice_.stopping();
  timer_.cancel();
  if (bandwidth_) bandwidth_->stop();
  if (gateway_) gateway_->stop();
  lanes_.revoke_all({ErrorCode::lease_ended, "the executor is shutting down"});
  io_.stop();
}

void Agent::end() {
  if (grant_.source() == GrantSource::local) return stop();
  reclaim("asked to end");
}

void Agent::reclaim(std::string_view why) {
  if (reclaimed_at_) return;
  reclaimed_at_ = std::chrono::steady_clock::now();
  log::info("event=reclaim reason=\"{}\"", why);
  if (options_.workers.scheduling == SchedulingClass::idle) hurry();
  notice_.stopping();
  timer_.cancel();
  if (bandwidth_) bandwidth_->stop();
  grant_.drain();
  const std::vector<LeaseClosed> unclaimed = leases_.reclaim();
  tell_grant({});
  for (const LeaseClosed& closed : unclaimed) say_closed(closed);
  report_capacity();
  compilers_.stop();
  workers_.stop();
  devices_.stop();
  depots_.stop();
  lanes_.evict_all();
  copying_.end_all();
  digests_.end_all();
  memory_of_calls_.end_all();
  memory_.end_all();
  data_.end();
  if (options_.while_leaving) options_.while_leaving();
  finish_reclaim();
}

void Agent::finish_reclaim() {
  const auto since = std::chrono::steady_clock::now() - *reclaimed_at_;
  const bool clear =
      lanes_.sessions() == 0 && children_.watched() == 0 && data_.has_let_go() && digests_.idle();
  const bool told = !gateway_ || gateway_->flushed();
  if ((clear && told) || since >= longest_reclaim) {
    log::info("event=reclaimed milliseconds={} sessions_left={} processes_left={}",
              std::chrono::duration_cast<std::chrono::milliseconds>(since).count(),
              lanes_.sessions(), children_.watched());
    if (gateway_) gateway_->stop();
    return io_.stop();
  }
  timer_.expires_after(clear_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) finish_reclaim();
  });
}

/// Of the cores of the grant these are ours to use now. Calls on others are evicted, and run again
/// elsewhere.
void Agent::offer(const CoreList& cores) {
  if (reclaimed_at_) return;
  const CoreList before = leases_.cores();
  const LeaseTable::Shrunk shrunk = leases_.offer(cores);
  if (leases_.cores() == before) return;
  log::info("event=offer cores={} leases_lost={}", to_core_text(leases_.cores()),
            shrunk.lost.size() + shrunk.closed.size());
  // First of all, so that what is being evicted is off the lost cores at once.
  bind_to_offer();
  tell_grant(leases_.usable_cores());
  end_shrunk(shrunk);
  report_capacity();
}

void Agent::end_shrunk(const LeaseTable::Shrunk& shrunk) {
  for (const LeaseClosed& closed : shrunk.closed) say_closed(closed);
  for (const LeaseId& lease : shrunk.lost) lanes_.evict(lease);
}

/// One can be used now, or cannot any more.
void Agent::gpus_changed() {
  if (reclaimed_at_) return;
  const LeaseTable::Shrunk shrunk = leases_.offer_gpus(devices_.usable());
  tell_grant(leases_.usable_cores());
  end_shrunk(shrunk);
  report_capacity();
}

/// The gateway counts what a lease has as taken until it hears this: a GPU is free when no process
/// that has served the lease is left.
void Agent::say_closed(const LeaseClosed& closed) {
  devices_.vacate(closed.lease, [this, closed] {
    leases_.vacated(closed.lease);
    if (gateway_) gateway_->send(closed);
    report_capacity();
  });
}

/// Zygote, compilers and spare workers move; without any core to be on, those that work end, and
/// nobody is born.
void Agent::bind_to_offer() {
  const CoreList& cores = leases_.cores();
  const bool none = cores.empty();
  workers_.pause(none);
  if (none) {
    if (gateway_) compilers_.pause(true);  // it needs the compiler's first report
    return;
  }
  if (auto bound = bind_this_process(cores); !bound)
    log::error("event=not_bound reason=\"{}\"", bound.error().message);
  bind_children();
  compilers_.pause(false);
}

/// A worker may have been forked before its parent moved, and be known only later; a thread may
/// have been begun while we looked: so this is done again and again.
void Agent::bind_children() {
  const CoreList& offered = leases_.cores();
  std::map<pid_t, CoreList> leased;
  for (const auto& [id, worker] : workers_.alive())
    leased[worker->pid()] = common(offered, worker->bound_to());
  for (const pid_t pid : children_.pids()) {
    // One whose cores are not offered any more is being evicted: off them at once.
    const auto own = leased.find(pid);
    const CoreList& cores = own == leased.end() || own->second.empty() ? offered : own->second;
    if (auto bound = bind_process(pid, cores); !bound)
      log::error("event=not_bound reason=\"{}\"", bound.error().message);
  }
}

void Agent::tell_grant(const CoreList& cores) {
  if (!gateway_) return;
  const GrantTerms terms = grant_.terms(std::chrono::steady_clock::now());
  GrantChanged changed{cores, terms.ends_in, terms.draining};
  if (!options_.gpus.empty()) changed.gpus = devices_.offered();
  gateway_->send(changed);
}

void Agent::look_at_grant() {
  const auto now = std::chrono::steady_clock::now();
  if (const auto why = grant_.over(now)) return reclaim(*why);
  if (!grant_.begins_to_drain(now)) return;
  log::info("event=draining");
  leases_.drain();
  tell_grant(leases_.usable_cores());
  report_capacity();
}

void Agent::compiler_ready(const CompilerReady& target) {
  if (gateway_ != nullptr) return;  // a restart
  log::info("event=compiler_ready cpu={} llvm={}", target.cpu, target.llvm);
  gateway_ = std::make_unique<ControlClient>(
      io_,
      ControlClient::Options{
          .gateway = options_.gateway, .token = options_.token, .hello = make_hello(target)},
      ControlClient::Handlers{[this](const ControlWelcome& welcome) { return welcomed(welcome); },
                              [this](const ControlMessage& message) { obey(message); },
                              [this] {
                                log::warn("event=gateway_lost");
                                leases_.lose_gateway(std::chrono::steady_clock::now());
                                grant_.gateway_lost(std::chrono::steady_clock::now());
                              },
                              [this](ControlHello& hello) { complete_hello(hello); }});
  gateway_->start();
  if (leases_.cores().empty()) bind_to_offer();
}

Result<void> Agent::welcomed(const ControlWelcome& welcome) {
  const auto now = std::chrono::steady_clock::now();
  const auto old = leases_.begin_epoch(welcome.epoch, now);
  if (!old) return fail(old.error());
  claims_.belong_to(welcome.gateway, host_.boot_id);
  grant_.gateway_answers();
  if (!welcome.resumed) {
    copying_.end_all();
    data_.begin_afresh();
  }
  data_.begin_sparing(welcome.spares_data, welcome.resumed);
  data_of_calls_.begin(welcome.names_data, welcome.resumed);
  memory_of_calls_.begin(welcome.finds_memory);
  for (const LeaseId& lease : *old) {
    lanes_.revoke(lease, {ErrorCode::lease_ended, "the gateway has started anew"});
    devices_.vacate(lease, [this, lease] { leases_.vacated(lease); });
  }
  report_capacity();
  notice_.ready();
  return {};
}

void Agent::obey(const ControlMessage& message) {
  if (const auto* request = std::get_if<OpenLease>(&message)) {
    open_lease(*request);
  } else if (const auto* close = std::get_if<CloseLease>(&message)) {
    if (leases_.close(close->lease))
      lanes_.revoke(close->lease, {ErrorCode::lease_ended, "the lease was closed"});
    // Answered in any case: the gateway counts the lease's cores as taken until we say so.
    say_closed({close->lease, LeaseEnd::revoked});
  } else if (const auto* renewal = std::get_if<RenewLease>(&message)) {
    if (!leases_.renew(*renewal, std::chrono::steady_clock::now()))
      say_closed({renewal->lease, LeaseEnd::expired});
  } else {
    obey_about_data(message);
  }
}

void Agent::obey_about_data(const ControlMessage& message) {
  std::visit(
      [this]<typename Message>(const Message& m) {
        if constexpr (requires { data_.obey(m); })
          data_.obey(m);
        else if constexpr (requires { copying_.obey(m); })
          copying_.obey(m);
        else if constexpr (requires { digests_.obey(m); })
          digests_.obey(m);
        else if constexpr (requires { data_of_calls_.obey(m); })
          data_of_calls_.obey(m);
        else if constexpr (requires { memory_.obey(m); })
          memory_.obey(m);
        else if constexpr (requires { memory_of_calls_.obey(m); })
          memory_of_calls_.obey(m);
      },
      message);
}

void Agent::open_lease(const OpenLease& request) {
  const CoreList usable = leases_.usable_cores();
  if (auto opened = leases_.open(request, std::chrono::steady_clock::now()))
    gateway_->send(*opened);
  else
    gateway_->send(LeaseRefused{request.lease, opened.error().code, opened.error().message});
  if (leases_.usable_cores() != usable) tell_grant(leases_.usable_cores());
  report_capacity();
}

void Agent::end_overdue_leases() {
  for (const LeaseClosed& ended : leases_.end_overdue(std::chrono::steady_clock::now())) {
    log::info("event=lease_ended lease={} reason={}", to_string(ended.lease),
              to_string(ended.reason));
    lanes_.revoke(ended.lease,
                  {ErrorCode::lease_ended, ended.reason == LeaseEnd::expired
                                               ? "the lease has expired: it was not renewed in time"
                                               : "nobody claimed the lease in time"});
    say_closed(ended);
  }
}

void Agent::tick() {
  notice_.alive();
  end_overdue_leases();
  data_.tick();
  data_of_calls_.tick(std::chrono::steady_clock::now());
  memory_.tick(std::chrono::steady_clock::now());
  const bool has_power = power_.look(std::chrono::steady_clock::now());
  if (has_power || has_news()) report_capacity();
  if (feed_ && !leases_.cores().empty()) bind_children();
  if (leases_.look_at_others()) {
    tell_grant(leases_.usable_cores());
    report_capacity();
  }
  look_at_grant();
  if (reclaimed_at_) return;
  timer_.expires_after(tick_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

}  // namespace orchid::executor
