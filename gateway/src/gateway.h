// gateway.h: the gateway as main sees it.
#pragma once
#include <memory>
#include <string>

#include "config/config.h"
#include "foundation/result.h"

namespace orchid::gateway {

/// Belongs to the main thread, which builds it, waits for a signal, and takes it down.
class Gateway {
 public:
  /// Errors: everything that can be wrong with configuration, state directory and addresses.
  [[nodiscard]] static Result<std::unique_ptr<Gateway>> create(Config config);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void start();
  /// One line of JSON: process id, version, addresses.
  [[nodiscard]] std::string announcement() const;
  /// Finishes what runs, within the configured time, and ends all threads.
  void stop();

 private:
  class Objects;  // keeps Asio out of main
  explicit Gateway(std::unique_ptr<Objects> objects);
  std::unique_ptr<Objects> objects_;
};

}  // namespace orchid::gateway
