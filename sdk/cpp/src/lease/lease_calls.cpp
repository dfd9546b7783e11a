// Calls of a leased function, and the futures of those that run on their own.
#include <utility>

#include "foundation/files.h"
#include "lease/call_objects.h"
#include "lease/lease_access.h"
#include "lease/lease_threads.h"
#include "protocol/limits.h"

namespace orchid {
namespace sdk {
namespace {

std::chrono::nanoseconds deadline_of(const CallOptions& options) {
  if (options.deadline.count() <= 0) return limits::default_deadline;
  return std::min<std::chrono::nanoseconds>(options.deadline, limits::longest_deadline);
}

/// Runs a call that its caller waits for. Throws why there is no answer.
void run_call(LeaseCore& core, DirectCall& call, const CallOptions& options,
              const std::string& function) {
  call.at_most_once = options.at_most_once;
  call.deadline = deadline_of(options);
  if (!options.data.empty()) call.data = make_objects(options.data);
  if (options.stop.stop_possible()) {
    const std::stop_callback cancel(options.stop, [&] { core.cancel(call); });
    core.run(call);
  } else {
    core.run(call);
  }
  if (call.error != nullptr) throw_error(call, function);
}

Error already_taken(const std::string& function) {
  return Error({.kind = ErrorKind::bad_request,
                .message = "this future's result was taken before",
                .function = function});
}

}  // namespace

void throw_error(DirectCall& call, const std::string& function) {
  Error::Details details = std::move(*call.error);
  details.function = function;
  throw Error(std::move(details));
}

Reply reply_of(DirectCall& call, const std::string& function) {
  if (call.error != nullptr) throw_error(call, function);
  Reply reply;
  reply.output = std::move(call.output);
  reply.timing.run = call.run_time;
  return reply;
}

void LeaseAccess::ask(DirectCall& call, const LeasedFunction& function,
                      const CallOptions& options) {
  call.code = function.code_.get();
  call.entry = function.entry_;
  call.at_most_once = options.at_most_once;
  call.deadline = deadline_of(options);
}

std::shared_ptr<AsyncCall> LeaseAccess::start(const LeasedFunction& function,
                                              std::span<const std::byte> input,
                                              std::unique_ptr<LaneRoom> home,
                                              const CallOptions& options, AsyncUse use) {
  auto async = std::make_shared<AsyncCall>();
  async->function = function.name_;
  async->core = function.core_;
  async->code = function.code_;
  DirectCall& call = async->call;
  ask(call, function, options);
  call.data = objects_of(options);
  call.follows = use == AsyncUse::piece;
  call.destination = use == AsyncUse::piece ? Destination::in_place : Destination::own_memory;
  if (home != nullptr) {
    async->home = std::move(home);
    call.home = async->home.get();
    call.input = call.home->bytes;
  } else {
    async->input.assign(input.begin(), input.end());
    call.input = async->input;
  }
  if (options.stop.stop_possible())
    async->stop.emplace(options.stop, [weak = std::weak_ptr(async)] {
      if (const auto cancelled = weak.lock()) cancelled->core->cancel(cancelled->call);
    });
  async->core->start(async);
  return async;
}

Output LeaseAccess::output_of(AsyncCall& piece) {
  piece.core->wait(piece.call, MonotonicTime::max());
  if (piece.call.error != nullptr) throw_error(piece.call, piece.function);
  return output(std::move(piece.call.held));
}

}  // namespace sdk

using sdk::LeaseAccess;

Reply LeasedFunction::invoke(std::span<const std::byte> input, const CallOptions& options) const {
  sdk::DirectCall call{.code = code_.get(), .entry = entry_, .input = input};
  const auto start = std::chrono::steady_clock::now();
  sdk::run_call(*core_, call, options, name_);
  Reply reply = sdk::reply_of(call, name_);
  reply.timing.total = std::chrono::steady_clock::now() - start;
  return reply;
}

Reply LeasedFunction::invoke(std::string_view input, const CallOptions& options) const {
  return invoke(as_bytes(input), options);
}

Reply LeasedFunction::invoke(Buffer input, const CallOptions& options) const {
  const auto home = LeaseAccess::room_of(input);
  if (home == nullptr) return invoke(std::span<const std::byte>{}, options);
  sdk::DirectCall call{
      .code = code_.get(), .entry = entry_, .input = home->bytes, .home = home.get()};
  const auto start = std::chrono::steady_clock::now();
  sdk::run_call(*core_, call, options, name_);
  Reply reply = sdk::reply_of(call, name_);
  reply.timing.total = std::chrono::steady_clock::now() - start;
  return reply;
}

std::size_t LeasedFunction::invoke_into(std::span<const std::byte> input,
                                        std::span<std::byte> output,
                                        const CallOptions& options) const {
  sdk::DirectCall call{.code = code_.get(),
                       .entry = entry_,
                       .destination = sdk::Destination::callers_memory,
                       .input = input,
                       .room = output};
  sdk::run_call(*core_, call, options, name_);
  return call.output_size;
}

std::size_t LeasedFunction::invoke_into(Buffer input, std::span<std::byte> output,
                                        const CallOptions& options) const {
  const auto home = LeaseAccess::room_of(input);
  if (home == nullptr) return invoke_into(std::span<const std::byte>{}, output, options);
  sdk::DirectCall call{.code = code_.get(),
                       .entry = entry_,
                       .destination = sdk::Destination::callers_memory,
                       .input = home->bytes,
                       .room = output,
                       .home = home.get()};
  sdk::run_call(*core_, call, options, name_);
  return call.output_size;
}

Output LeasedFunction::invoke_in_place(std::span<const std::byte> input,
                                       const CallOptions& options) const {
  sdk::DirectCall call{.code = code_.get(),
                       .entry = entry_,
                       .destination = sdk::Destination::in_place,
                       .input = input};
  sdk::run_call(*core_, call, options, name_);
  return LeaseAccess::output(std::move(call.held));
}

Output LeasedFunction::invoke_in_place(Buffer input, const CallOptions& options) const {
  const auto home = LeaseAccess::room_of(input);
  if (home == nullptr) return invoke_in_place(std::span<const std::byte>{}, options);
  sdk::DirectCall call{.code = code_.get(),
                       .entry = entry_,
                       .destination = sdk::Destination::in_place,
                       .input = home->bytes,
                       .home = home.get()};
  sdk::run_call(*core_, call, options, name_);
  return LeaseAccess::output(std::move(call.held));
}

ReplyFuture LeasedFunction::async(std::span<const std::byte> input,
                                  const CallOptions& options) const {
  return LeaseAccess::future(
      LeaseAccess::start(*this, input, nullptr, options, sdk::AsyncUse::future));
}

ReplyFuture LeasedFunction::async(std::string_view input, const CallOptions& options) const {
  return async(as_bytes(input), options);
}

ReplyFuture LeasedFunction::async(Buffer input, const CallOptions& options) const {
  return LeaseAccess::future(
      LeaseAccess::start(*this, {}, LeaseAccess::room_of(input), options, sdk::AsyncUse::future));
}

void ReplyFuture::wait() const { call_->core->wait(call_->call, MonotonicTime::max()); }

bool ReplyFuture::wait_for(std::chrono::nanoseconds timeout) const {
  const MonotonicTime now = std::chrono::steady_clock::now();
  call_->core->wait(call_->call,
                    timeout < MonotonicTime::max() - now ? now + timeout : MonotonicTime::max());
  return call_->call.done();
}

bool ReplyFuture::ready() const { return call_->call.done(); }

Reply ReplyFuture::get() const {
  wait();
  {
    const std::lock_guard lock(call_->mutex);
    if (std::exchange(call_->taken, true)) throw sdk::already_taken(call_->function);
  }
  return sdk::reply_of(call_->call, call_->function);
}

void ReplyFuture::cancel() const {
  if (!ready()) call_->core->cancel(call_->call);
}

void ReplyFuture::then(std::function<void(ReplyFuture)> callback) const {
  auto run = [self = *this, callback = std::move(callback)] { callback(self); };
  {
    const std::lock_guard lock(call_->mutex);
    if (!call_->call.done()) {
      call_->continuations.emplace_back(std::move(run));
      return;
    }
  }
  if (const auto threads = call_->core->threads())
    threads->lanes.post(std::move(run));
  else
    run();  // the lease has been released, and its threads are gone
}

}  // namespace orchid
