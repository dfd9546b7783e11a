#include "flow_run/host_looks.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "flow_run/flow_tuning.h"

namespace orchid::flow {

std::vector<HostSituation> look_at_hosts(Client& client) {
  try {
    return host_situations(client.get("/v1/hosts"));
  } catch (const std::exception&) {  // the flow's calls tell what is wrong
    return {};
  }
}

std::vector<ObjectSituation> look_at_objects(Client& client, const std::vector<DataId>& objects) {
  std::vector<ObjectSituation> found;
  for (const DataId& id : objects) try {
      DataInfo info = client.describe_data(to_string(id));
      std::vector<std::string> hosts = std::move(info.hosts);
      for (std::string& host : info.arriving_at)
        if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(std::move(host));
      found.push_back({.id = id, .bytes = info.size, .hosts = std::move(hosts)});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found)
        break;  // the others would end so, too, and take time
      found.push_back({.id = id});
    } catch (const std::exception&) {
      break;
    }
  return found;
}

void HostLooks::ask() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(asks_of_hosts_, true)) return;
  }
  thread_.run([this] {
    auto hosts = look_at_hosts(client_);
    const std::lock_guard lock(mutex_);
    asks_of_hosts_ = false;
    if (!hosts.empty()) found_ = std::move(hosts);
  });
}

std::optional<std::vector<HostSituation>> HostLooks::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, std::nullopt);
}

void HostLooks::ask_of(std::vector<DataId> objects) {
  {
    const std::lock_guard lock(mutex_);
    asks_of_objects_ = true;
  }
  thread_.run([this, objects = std::move(objects)] {
    auto found = look_at_objects(client_, objects);
    const std::lock_guard lock(mutex_);
    objects_ = std::move(found);
    asks_of_objects_ = false;
  });
}

bool HostLooks::is_asked_of_objects() {
  const std::lock_guard lock(mutex_);
  return asks_of_objects_;
}

std::optional<std::vector<ObjectSituation>> HostLooks::take_objects() {
  const std::lock_guard lock(mutex_);
  return std::exchange(objects_, std::nullopt);
}

}  // namespace orchid::flow
