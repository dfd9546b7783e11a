// libslurm/library.h: libslurm's functions, found when the program runs, so that it starts, and
// says what is missing, where there is no Slurm.
#pragma once
#include <slurm/slurm.h>

#include <filesystem>
#include <string>

#include "foundation/result.h"

namespace orchid::slurm {

/// What of libslurm is used. Only the release whose headers this was compiled with can be loaded:
/// the layout of its structs changes with each.
struct Library {
  decltype(&::slurm_init) init = nullptr;
  decltype(&::slurm_api_version) api_version = nullptr;
  decltype(&::slurm_load_jobs) load_jobs = nullptr;
  decltype(&::slurm_free_job_info_msg) free_jobs = nullptr;
  decltype(&::slurm_load_node) load_nodes = nullptr;
  decltype(&::slurm_free_node_info_msg) free_nodes = nullptr;
  decltype(&::slurm_load_reservations) load_reservations = nullptr;
  decltype(&::slurm_free_reservation_info_msg) free_reservations = nullptr;
  decltype(&::slurm_load_partitions) load_partitions = nullptr;
  decltype(&::slurm_free_partition_info_msg) free_partitions = nullptr;
  decltype(&::slurm_get_select_nodeinfo) get_select_nodeinfo = nullptr;
  decltype(&::slurm_job_cpus_allocated_on_node_id) cpus_on_node = nullptr;
  decltype(&::slurm_job_cpus_allocated_str_on_node_id) cores_on_node = nullptr;
  decltype(&::slurm_job_cpus_allocated_on_node) cpus_on_named_node = nullptr;
  decltype(&::slurm_job_cpus_allocated_str_on_node) cores_on_named_node = nullptr;
  decltype(&::slurm_hostlist_create) hostlist_create = nullptr;
  decltype(&::slurm_hostlist_shift) hostlist_shift = nullptr;
  decltype(&::slurm_hostlist_destroy) hostlist_destroy = nullptr;
  decltype(&::slurm_get_errno) get_errno = nullptr;
  decltype(&::slurm_strerror) strerror = nullptr;
  const slurm_conf_t* configuration = nullptr;
  std::string release;  // "22.05"
};

/// The name of the library that fits: "libslurm.so.38".
[[nodiscard]] std::string usual_library_name();

/// Loads it for the rest of the process's life. Errors: `unsupported` (there is none, or another
/// release), with what to do.
[[nodiscard]] Result<Library> load_library(const std::filesystem::path& path);

}  // namespace orchid::slurm
