#include "offload/worker_gain.h"

#include <algorithm>

namespace orchid::sdk {
namespace {

/// Nobody asks more often.
constexpr WorkerGain::Time shortest_wait = std::chrono::milliseconds(5);

}  // namespace

void WorkerGain::worker_done(std::size_t items, Time now) {
  latest_ = now;
  if (window_.open) {
    if (!window_.start) window_.start = now;
    window_.worker_items += static_cast<double>(items);
  } else if (!rest_end(now)) {
    window_ = {.open = true, .start = now};
  }
}

void WorkerGain::end_run() {
  window_.spent = length(latest_);
  window_.start.reset();
}

WorkerGain::Time WorkerGain::length(Time now) const {
  return window_.spent + (window_.start ? now - *window_.start : Time{0});
}

std::optional<WorkerGain::Time> WorkerGain::rest_end(Time now) const {
  if (now < rest_end_) return rest_end_;
  if (looking_) return std::max(look_ ? look_->begin + look_length : now, now + shortest_wait);
  return std::nullopt;
}

void WorkerGain::host_idle(Time idle, Time now, bool alone) {
  if (now < next_look_) return;
  if (!looking_) {
    looking_ = true;
    look_.reset();
    window_ = {};
  }
  next_look_ = now + look_interval;
  if (!alone) return look_.reset();
  const Look before = look_.value_or(Look{now, idle});
  look_ = Look{now, idle};
  next_look_ = now + look_length;  // those that rest do not begin meanwhile
  if (now == before.begin) return;
  if (static_cast<double>((idle - before.idle).count()) <
      idle_enough * static_cast<double>((now - before.begin).count())) {
    work_ = first_work;
    return;
  }
  looking_ = false;
  next_look_ = now + work_;
  work_ = std::min(work_ * 4, longest_work);
}

void WorkerGain::local_done(std::size_t items, Time elapsed, Time busy, Time now) {
  latest_ = now;
  if (!window_.open) return remember_alone(elapsed, busy);
  if (!window_.start) window_.start = now - elapsed;
  window_.local_items += static_cast<double>(items);
  window_.local_busy += static_cast<double>(busy.count());
  window_.local_waited += static_cast<double>(std::max(elapsed - busy, Time{0}).count());
  if (length(now) >= window_length) judge(now);
}

/// What other programs take is no worker's doing.
void WorkerGain::remember_alone(Time elapsed, Time busy) {
  constexpr double memory = 1e9;
  if (alone_elapsed_ > memory) {
    alone_elapsed_ /= 2;
    alone_waited_ /= 2;
  }
  alone_elapsed_ += static_cast<double>(elapsed.count());
  alone_waited_ += static_cast<double>(std::max(elapsed - busy, Time{0}).count());
}

void WorkerGain::judge(Time now) {
  const double usual = alone_elapsed_ > 0 ? alone_waited_ / alone_elapsed_ : 0;
  const double expected = usual * (window_.local_busy + window_.local_waited);
  const double waited = std::max(window_.local_waited - expected, 0.0);
  const double lost =
      window_.local_busy > 0 ? waited * window_.local_items / window_.local_busy : 0;
  // Neither: the workers are starting.
  const bool gained = window_.worker_items > lost;
  const bool undecided = window_.worker_items == 0 && lost == 0;
  if (undecided || gained) {
    if (gained) rest_ = Time{0};
    window_ = {.open = true, .start = now};
    return;
  }
  rest_ = rest_ == Time{0} ? first_rest : std::min(rest_ * 4, longest_rest);
  rest_end_ = now + rest_;
  window_ = {};
}

}  // namespace orchid::sdk
