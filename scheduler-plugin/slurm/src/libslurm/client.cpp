#include "libslurm/client.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "libslurm/library.h"
#include "libslurm/rows.h"

namespace orchid::slurm {
namespace {

ErrorCode code_of(int error) {
  if (error == SLURM_PROTOCOL_VERSION_ERROR) return ErrorCode::unsupported;
  // A slurmctld that cannot read a credential hangs up without a word.
  if (error == SLURM_PROTOCOL_AUTHENTICATION_ERROR ||
      error == SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT ||
      (error >= ESLURM_AUTH_CRED_INVALID && error <= ESLURM_AUTH_SKIP))
    return ErrorCode::unauthenticated;
  if (error == ESLURM_ACCESS_DENIED || error == ESLURM_USER_ID_MISSING) return ErrorCode::denied;
  if (error == SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT || error == ETIMEDOUT)
    return ErrorCode::timed_out;
  const bool is_connection = (error >= SLURM_COMMUNICATIONS_CONNECTION_ERROR &&
                              error <= SLURM_COMMUNICATIONS_MISSING_SOCKET_ERROR) ||
                             (error >= SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR &&
                              error <= SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR) ||
                             error == ECONNREFUSED || error == EHOSTUNREACH ||
                             error == ENETUNREACH || error == ESLURM_IN_STANDBY_MODE;
  return is_connection ? ErrorCode::unreachable : ErrorCode::system;
}

const char* advice_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::unreachable:
      return "; is slurmctld running, and is it the one in slurm.conf?";
    case ErrorCode::unauthenticated:
      return "; munge must run here with the cluster's key, and both clocks must agree "
             "(slurmctld's log says more)";
    case ErrorCode::unsupported:
      return "; use the orchid-slurm that was built for the release of the cluster";
    case ErrorCode::denied:
      return "; the site does not let this user ask (PrivateData)";
    default:
      return "";
  }
}

class Client final : public SlurmClient {
 public:
  explicit Client(Library library) : library_(std::move(library)) {}

  Answer<NodeRow> nodes(ClusterTime since) override {
    node_info_msg_t* message = nullptr;
    const int status = library_.load_nodes(since, &message, SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL);
    if (message == nullptr) {
      auto nothing = none<NodeRow>(status);
      if (nothing || nothing.error().code != ErrorCode::denied) return nothing;
      return fail(ErrorCode::denied,
                  "the site shows its nodes to its operators only (PrivateData=nodes), so idle "
                  "nodes are unknown; pilots and shares work anyway. To let this user see them: "
                  "sacctmgr modify user NAME set AdminLevel=Operator");
    }
    Table<NodeRow> table{.time = message->last_update, .rows = {}};
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      // A slot of the table without a node has no name.
      if (message->node_array[i].name != nullptr)
        table.rows.push_back(make_row(library_, message->node_array[i]));
    library_.free_nodes(message);
    return table;
  }

  Answer<JobRow> jobs(ClusterTime since) override {
    job_info_msg_t* message = nullptr;
    // Without SHOW_DETAIL slurmctld sends neither cores nor GPUs.
    const int status = library_.load_jobs(since, &message, SHOW_ALL | SHOW_DETAIL | SHOW_LOCAL);
    if (message == nullptr) return none<JobRow>(status);
    Table<JobRow> table{.time = message->last_update, .rows = {}};
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      if (auto row = make_row(library_, message->job_array[i]))
        table.rows.push_back(std::move(*row));
    library_.free_jobs(message);
    return table;
  }

  Answer<ReservationRow> reservations(ClusterTime since) override {
    reserve_info_msg_t* message = nullptr;
    const int status = library_.load_reservations(since, &message);
    if (message == nullptr) return none<ReservationRow>(status);
    Table<ReservationRow> table{.time = message->last_update, .rows = {}};
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      table.rows.push_back(make_row(library_, message->reservation_array[i]));
    library_.free_reservations(message);
    return table;
  }

  Answer<PartitionRow> partitions(ClusterTime since) override {
    partition_info_msg_t* message = nullptr;
    const int status = library_.load_partitions(since, &message, SHOW_ALL | SHOW_LOCAL);
    if (message == nullptr) {
      auto nothing = none<PartitionRow>(status);
      if (nothing || nothing.error().code != ErrorCode::denied) return nothing;
      return Table<PartitionRow>{.hidden = true};
    }
    Table<PartitionRow> table{.time = message->last_update, .rows = {}};
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      table.rows.push_back(make_row(library_, message->partition_array[i]));
    library_.free_partitions(message);
    return table;
  }

 private:
  /// No table: it has not changed, which some calls say as their result and some in errno, or the
  /// call has failed.
  template <typename Row>
  [[nodiscard]] Answer<Row> none(int status) const {
    const int error = status > 0 ? status : library_.get_errno();
    if (error == SLURM_NO_CHANGE_IN_DATA) return std::nullopt;
    const ErrorCode code = code_of(error);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread asks
    const char* said = library_.strerror(error);
    return fail(code, std::string("slurmctld does not answer: ") +
                          (said == nullptr ? "unknown error" : said) + advice_for(code));
  }

  Library library_;
};

/// libslurm ends the process when it is told of a file that is not there.
Result<void> check_configuration(const std::filesystem::path& path) {
  if (path.empty() || ::access(path.c_str(), R_OK) == 0) return {};
  return fail(system_failure(
      ErrorCode::bad_configuration,
      "read Slurm's configuration " + path.native() + " (SLURM_CONF or --configuration)", errno));
}

}  // namespace

Result<LibslurmClient> open_libslurm(const LibslurmOptions& options) {
  if (auto checked = check_configuration(options.configuration); !checked)
    return fail(std::move(checked.error()));
  auto library =
      load_library(options.library.empty() ? usual_library_name() : options.library.native());
  if (!library) return fail(std::move(library.error()));
  library->init(options.configuration.empty() ? nullptr : options.configuration.c_str());
  LibslurmClient opened;
  const char* name = library->configuration->cluster_name;
  opened.cluster = name == nullptr || *name == '\0' ? "cluster" : name;
  opened.release = library->release;
  opened.client = std::make_unique<Client>(std::move(*library));
  return opened;
}

}  // namespace orchid::slurm
