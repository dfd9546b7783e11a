#include "libslurm/library.h"

#include <dlfcn.h>
#include <slurm/slurm_version.h>

#include <array>

namespace orchid::slurm {
namespace {

/// The number in the library's name grew by one with each release, from 38 for 22.05 on.
constexpr int soname_of_headers() {
  constexpr int major = SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER);
  constexpr int minor = SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER);
  constexpr std::array<std::array<int, 3>, 7> names{{{22, 5, 38},
                                                     {23, 2, 39},
                                                     {23, 11, 40},
                                                     {24, 5, 41},
                                                     {24, 11, 42},
                                                     {25, 5, 43},
                                                     {25, 11, 44}}};
  for (const auto& name : names)
    if (name[0] == major && name[1] == minor) return name[2];
  return 0;
}
static_assert(soname_of_headers() != 0, "which libslurm.so.N belongs to these headers?");

std::string release_of_headers() {
  const auto two = [](long part) { return (part < 10 ? "0" : "") + std::to_string(part); };
  return two(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)) + "." +
         two(SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER));
}

/// Releases that are installed instead, for the message.
std::string other_libraries() {
  std::string found;
  std::error_code ignored;
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/lib", "/usr/local/lib"})
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
      if (entry.path().filename().native().starts_with("libslurm.so."))
        found += (found.empty() ? "" : ", ") + entry.path().native();
  return found;
}

std::unexpected<Failure> not_loaded(const std::filesystem::path& path, const std::string& why) {
  const std::string others = other_libraries();
  const std::string release = release_of_headers();
  if (others.empty())
    return fail(ErrorCode::unsupported, "there is no Slurm on this machine (" + why +
                                            "): install its client library, "
                                            "release " +
                                            release + ", or use Orchid without Slurm");
  return fail(ErrorCode::unsupported,
              path.native() + " cannot be loaded (" + why + "); there is " + others +
                  ". This orchid-slurm is for Slurm " + release +
                  ": use the one that was built for the release of your cluster");
}

template <typename Function>
bool find(void* handle, const char* name, Function& place) {
  place = reinterpret_cast<Function>(::dlsym(handle, name));
  return place != nullptr;
}

/// The first function that is missing, or nothing.
const char* find_all(void* handle, Library& library) {
#define ORCHID_FIND(place, name) \
  if (!find(handle, name, library.place)) return name
  ORCHID_FIND(init, "slurm_init");
  ORCHID_FIND(load_jobs, "slurm_load_jobs");
  ORCHID_FIND(free_jobs, "slurm_free_job_info_msg");
  ORCHID_FIND(load_nodes, "slurm_load_node");
  ORCHID_FIND(free_nodes, "slurm_free_node_info_msg");
  ORCHID_FIND(load_reservations, "slurm_load_reservations");
  ORCHID_FIND(free_reservations, "slurm_free_reservation_info_msg");
  ORCHID_FIND(load_partitions, "slurm_load_partitions");
  ORCHID_FIND(free_partitions, "slurm_free_partition_info_msg");
  ORCHID_FIND(get_select_nodeinfo, "slurm_get_select_nodeinfo");
  ORCHID_FIND(cpus_on_node, "slurm_job_cpus_allocated_on_node_id");
  ORCHID_FIND(cores_on_node, "slurm_job_cpus_allocated_str_on_node_id");
  ORCHID_FIND(cpus_on_named_node, "slurm_job_cpus_allocated_on_node");
  ORCHID_FIND(cores_on_named_node, "slurm_job_cpus_allocated_str_on_node");
  ORCHID_FIND(hostlist_create, "slurm_hostlist_create");
  ORCHID_FIND(hostlist_shift, "slurm_hostlist_shift");
  ORCHID_FIND(hostlist_destroy, "slurm_hostlist_destroy");
  ORCHID_FIND(get_errno, "slurm_get_errno");
  ORCHID_FIND(strerror, "slurm_strerror");
  ORCHID_FIND(configuration, "slurm_conf");
#undef ORCHID_FIND
  return nullptr;
}

}  // namespace

std::string usual_library_name() { return "libslurm.so." + std::to_string(soname_of_headers()); }

Result<Library> load_library(const std::filesystem::path& path) {
  // Global: Slurm's plugins find libslurm's functions among those of the process.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return not_loaded(path, why == nullptr ? "unknown reason" : why);
  }
  Library library;
  if (!find(handle, "slurm_api_version", library.api_version))
    return not_loaded(path, "it is not libslurm");
  // It answers with the number in its name, and not with Slurm's release.
  const long number = SLURM_VERSION_MAJOR(library.api_version());
  if (number != soname_of_headers())
    return not_loaded(path, "it is libslurm.so." + std::to_string(number));
  library.release = release_of_headers();
  if (const char* missing = find_all(handle, library))
    return not_loaded(path, std::string("it has no ") + missing);
  return library;
}

}  // namespace orchid::slurm
