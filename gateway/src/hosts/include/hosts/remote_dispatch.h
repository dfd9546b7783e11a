// hosts/remote_dispatch.h: keeps orchid-dispatch running, through which HTTP calls reach workers of
// other hosts.
#pragma once
#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "companions/kept_process.h"

namespace orchid::gateway {

/// Owned by the control thread, whose io_context it is given. Started when the first executor of
/// another host comes; a process that ends is started again, its lanes are lost.
class RemoteDispatch {
 public:
  struct Options {
    std::filesystem::path program;  // orchid-dispatch
    std::filesystem::path socket;   // where it is reached; in a directory of the owner's alone
    bool confined = false;          // its tenant is not the gateway's own user
  };
  RemoteDispatch(boost::asio::io_context& control, Options options);
  RemoteDispatch(const RemoteDispatch&) = delete;
  RemoteDispatch& operator=(const RemoteDispatch&) = delete;

  /// Nothing if it runs already.
  void start();
  void stop();
  [[nodiscard]] const std::filesystem::path& socket() const { return options_.socket; }

 private:
  Options options_;
  KeptProcess process_;
};

}  // namespace orchid::gateway
