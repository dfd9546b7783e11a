// crew/crew_connection.h: the client connects with the members of its crew that are elsewhere.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "transport/crew_mesh.h"

namespace orchid::sdk {

/// In a thread of its own, since peers may take their time: the driver has deadlines to look at
/// meanwhile. Owned by the driver.
class CrewConnection {
 public:
  using Mesh = Result<std::unique_ptr<transport::CrewMesh>>;
  /// `over`: called by the thread when `take` has something.
  CrewConnection(std::vector<transport::CrewMesh::Peer> peers, std::function<void()> over);
  /// Stops it, and returns when it has stopped: soon.
  ~CrewConnection();
  CrewConnection(const CrewConnection&) = delete;
  CrewConnection& operator=(const CrewConnection&) = delete;

  /// Nobody wants it any more: it ends as `cancelled`, if it has not been made yet.
  void stop();
  /// Once. Nothing: the members are still being connected.
  [[nodiscard]] std::optional<Mesh> take();

 private:
  [[nodiscard]] Mesh connect() const;
  void end(Mesh made);

  const std::vector<transport::CrewMesh::Peer> peers_;
  const std::function<void()> over_;
  UniqueFd stop_;
  std::optional<Mesh> made_;  // the thread's until `is_over_`
  std::atomic<bool> is_over_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace orchid::sdk
