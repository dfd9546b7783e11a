#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "ucx/ends.h"
#include "ucx/guests.h"
#include "ucx/hello.h"

namespace orchid::transport {

class UcxLaneListener::State {
 public:
  State(UcxContext& context, const Options& options, Guests guests)
      : context_(context), options_(options), guests_(std::move(guests)) {}
  [[nodiscard]] int port() const { return guests_.port(); }
  [[nodiscard]] const std::string& address() const { return guests_.address(); }
  [[nodiscard]] Result<UcxLaneWorker> accept(LaneDeadline deadline, int stop);

 private:
  UcxContext& context_;
  Options options_;
  Guests guests_;
};

Result<UcxLaneWorker> UcxLaneListener::State::accept(LaneDeadline deadline, int stop) {
  auto guest = guests_.wait(deadline, stop);
  if (!guest) return fail(std::move(guest.error()));
  auto requests = Slab::map(options_.geometry.request_bytes.value);
  if (!requests) return fail(std::move(requests.error()));
  auto responses = Slab::map(options_.geometry.response_bytes.value);
  if (!responses) return fail(std::move(responses.error()));
  Door door(std::move(*guest), std::chrono::steady_clock::now() + options_.hello_timeout);
  auto link = accept_link(context_, options_.key, door,
                          {.version = lane_version,
                           .request_bytes = options_.geometry.request_bytes.value,
                           .response_bytes = options_.geometry.response_bytes.value});
  if (!link) return fail(std::move(link.error()));
  return UcxLaneWorker(std::make_unique<UcxLaneWorker::State>(
      std::move(*requests), std::move(*responses), std::move(*link)));
}

Result<UcxLaneListener> UcxLaneListener::listen(UcxContext& context, const Options& options) {
  auto guests = Guests::listen({.address = options.address,
                                .key = options.key,
                                .hello_timeout = options.hello_timeout,
                                .pending_peers = options.pending_peers});
  if (!guests) return fail(std::move(guests.error()));
  return UcxLaneListener(std::make_unique<State>(context, options, std::move(*guests)));
}

UcxLaneListener::UcxLaneListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
UcxLaneListener::UcxLaneListener(UcxLaneListener&& other) noexcept = default;
UcxLaneListener& UcxLaneListener::operator=(UcxLaneListener&& other) noexcept = default;
UcxLaneListener::~UcxLaneListener() = default;
int UcxLaneListener::port() const { return state_->port(); }
const std::string& UcxLaneListener::address() const { return state_->address(); }
Result<UcxLaneWorker> UcxLaneListener::accept(LaneDeadline deadline, int stop) {
  return state_->accept(deadline, stop);
}

}  // namespace orchid::transport
