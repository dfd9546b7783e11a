// libslurm/client.h: slurmctld through libslurm. Nothing of Slurm's headers is seen from here.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "foundation/result.h"
#include "slurm_client.h"

namespace orchid::slurm {

struct LibslurmOptions {
  std::filesystem::path library;        // empty: the one that fits
  std::filesystem::path configuration;  // slurm.conf; empty: libslurm looks for it
};

struct LibslurmClient {
  std::unique_ptr<SlurmClient> client;
  std::string cluster;  // its name
  std::string release;  // of libslurm
};

/// On the thread that will ask. Errors: `unsupported` (no libslurm, or another release),
/// `bad_configuration`. **libslurm ends the process when its configuration is damaged, and may
/// block**: its caller is a process that may end.
[[nodiscard]] Result<LibslurmClient> open_libslurm(const LibslurmOptions& options);

}  // namespace orchid::slurm
