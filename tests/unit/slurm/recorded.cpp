#include <fstream>
#include <stdexcept>

#include "cluster_poll.h"
#include "recorded.h"
#include "recording.h"

namespace orchid::slurm {

ClusterTables recorded(const std::string& name) {
  std::ifstream file(std::string(RECORDINGS) + "/" + name + ".jsonl");
  ClusterTables tables;
  bool any = false;
  for (std::string line; std::getline(file, line); any = true) {
    auto answer = parse_poll_answer(line);
    if (!answer) throw std::runtime_error(name + ": " + answer.error().message);
    take_answer(tables, std::move(*answer));
  }
  if (!any) throw std::runtime_error("there is no recording " + name);
  return tables;
}

Inventory inventory_of(const ClusterTables& tables) {
  return make_inventory(tables, {}, newest_time(tables));
}

}  // namespace orchid::slurm
