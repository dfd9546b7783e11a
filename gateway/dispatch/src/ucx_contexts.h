// dispatch/src/ucx_contexts.h: UCX in orchid-dispatch: one context for each kind of fabric.
#pragma once
#include <mutex>
#include <optional>

#include "foundation/result.h"
#include "transport/ucx_lane.h"

namespace orchid::dispatch {

/// Any thread; outlives all lanes.
class UcxContexts {
 public:
  /// Errors: those of UcxContext.
  [[nodiscard]] static Result<UcxContexts> create() {
    auto tcp = transport::UcxContext::create({});
    if (!tcp) return fail(std::move(tcp.error()));
    return UcxContexts(std::move(*tcp));
  }
  UcxContexts(UcxContexts&& other) noexcept
      : tcp_(std::move(other.tcp_)), trusted_(std::move(other.trusted_)) {}
  UcxContexts& operator=(UcxContexts&&) = delete;
  ~UcxContexts() = default;

  /// The one for a fabric that is trusted, which may open an RDMA device, is made when the first
  /// executor asks for it.
  [[nodiscard]] Result<transport::UcxContext*> of(transport::Fabric fabric) {
    if (fabric == transport::Fabric::tcp) return &tcp_;
    const std::lock_guard lock(mutex_);
    if (!trusted_) {
      auto made = transport::UcxContext::create({.fabric = fabric});
      if (!made) return fail(std::move(made.error()));
      trusted_.emplace(std::move(*made));
    }
    return &*trusted_;
  }

 private:
  explicit UcxContexts(transport::UcxContext tcp) : tcp_(std::move(tcp)) {}
  transport::UcxContext tcp_;
  std::mutex mutex_;  // guards trusted_ until it is made
  std::optional<transport::UcxContext> trusted_;
};

}  // namespace orchid::dispatch
