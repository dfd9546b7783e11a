#include "runtime_symbols/runtime_symbols.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "c_names.h"

namespace orchid::executor {
namespace {

using Names = std::unordered_set<std::string>;

Names collect(std::span<const std::string_view> groups) {
  Names names;
  for (const std::string_view group : groups) {
    std::istringstream words{std::string(group)};
    names.insert(std::istream_iterator<std::string>(words), {});
  }
  return names;
}

bool contains(const Names& names, std::string_view name) {
  return names.contains(std::string(name));
}

/// Removes the first of `ends` that `name` ends with.
template <std::size_t N>
std::string_view without_suffix(std::string_view name,
                                const std::array<std::string_view, N>& ends) {
  for (const std::string_view end : ends)
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  return name;
}

bool is_libm_name(std::string_view name) {
  static const Names names = collect(libm_groups());
  constexpr std::array<std::string_view, 7> types{"f32x", "f64x", "f128", "f32", "f64", "f", "l"};
  const auto known = [&](std::string_view n) {
    return contains(names, n) || contains(names, without_suffix(n, types));
  };
  if (known(name)) return true;
  // gammaf_r, lgammal_r
  if (name.ends_with("_r"))
    return known(std::string(without_suffix(name.substr(0, name.size() - 2), types)) + "_r");
  return false;
}

/// What -ffast-math called with glibc before 2.31: the "pow" of "__pow_finite". Empty for other
/// names.
std::string_view name_of_finite_variant(std::string_view name) {
  constexpr std::string_view start = "__";
  constexpr std::string_view end = "_finite";
  if (name.size() <= start.size() + end.size() || !name.starts_with(start) || !name.ends_with(end))
    return {};
  const std::string_view inner = name.substr(start.size(), name.size() - start.size() - end.size());
  return is_libm_name(inner) ? inner : std::string_view();
}

bool is_operator_new_or_delete(std::string_view name) {
  return name.starts_with("_Znw") || name.starts_with("_Zna") || name.starts_with("_Zdl") ||
         name.starts_with("_Zda");
}

/// Type information of fundamental types and of pointers to them: _ZTIi, _ZTSPKc, _ZTIDn.
bool is_fundamental_type_info(std::string_view name) {
  if (!name.starts_with("_ZTI") && !name.starts_with("_ZTS")) return false;
  name.remove_prefix(4);
  if (name.starts_with("P")) name.remove_prefix(1);
  if (name.starts_with("K")) name.remove_prefix(1);
  if (name.size() == 2 && name[0] == 'D') return true;
  return name.size() == 1 && name[0] >= 'a' && name[0] <= 'z';
}

/// Whether an Itanium-mangled name belongs to namespace std, __gnu_cxx or __cxxabiv1.
bool is_libstdcxx_name(std::string_view name) {
  if (!name.starts_with("_Z")) return false;
  if (is_operator_new_or_delete(name) || is_fundamental_type_info(name)) return true;
  name.remove_prefix(2);
  // Special names in front: type info, vtables, guards, thunks, thread-local wrappers.
  constexpr std::array<std::string_view, 9> special{"TI", "TS", "TV", "TT", "GVZ",
                                                    "GV", "TH", "TW", "GTt"};
  for (const std::string_view prefix : special) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  if (name.starts_with("Th") || name.starts_with("Tv") || name.starts_with("Tc")) {
    const std::size_t target = name.find("_N");
    if (target == std::string_view::npos) return false;
    name.remove_prefix(target + 1);
  }
  if (name.starts_with("N")) {
    name.remove_prefix(1);
    while (!name.empty() && std::string_view("KVrOR").contains(name[0])) name.remove_prefix(1);
  }
  // St: std::, Sa Ss Sb Si So Sd: its abbreviations.
  if (name.size() >= 2 && name[0] == 'S' && std::string_view("tasbiod").contains(name[1]))
    return true;
  return name.starts_with("9__gnu_cxx") || name.starts_with("10__cxxabiv1") ||
         name.starts_with("10__gnu_norm") || name.starts_with("11__gnu_debug") ||
         name.starts_with("14__gnu_parallel");
}

bool is_linker_symbol(std::string_view name) {
  return name == "__dso_handle" || name == "_GLOBAL_OFFSET_TABLE_";
}

#if defined(__aarch64__)
constexpr std::string_view own_architecture = "aarch64";
#else
constexpr std::string_view own_architecture = "x86_64";
#endif

/// What the list has for x86-64 alone: Debian 12's libraries for aarch64 export all the rest of it
/// (long double is no x87 number there, half floats are the processor's own).
bool is_listed_for(std::string_view architecture, std::string_view name) {
  static const Names x86_only = collect(std::array<std::string_view, 1>{
      "__cpu_indicator_init __cpu_model __divxc3 __eqhf2 __extendhfdf2 __extendhfsf2 __extendhfxf2 "
      "__extendsfdf2 __extendxftf2 __fixunsxfdi __fixunsxfti __fixxfti __floattixf __floatuntixf "
      "__mulxc3 __nehf2 __powixf2 __truncdfhf2 __truncdfsf2 __truncsfhf2 __trunctfxf2 "
      "__truncxfhf2"});
  return is_runtime_symbol(name) && (architecture == "x86_64" || !contains(x86_only, name));
}

}  // namespace

bool is_host_api_symbol(std::string_view name) {
  static const Names names = collect(host_api_groups());
  return contains(names, name);
}

bool is_runtime_symbol(std::string_view name) {
  static const Names names = [] {
    Names all = collect(libc_groups());
    all.merge(collect(compiler_groups()));
    return all;
  }();
  return contains(names, name) || is_host_api_symbol(name) || is_libm_name(name) ||
         is_libstdcxx_name(name) || !name_of_finite_variant(name).empty();
}

void* find_runtime_symbol(const std::string& name) {
  if (!is_runtime_symbol(name) || is_host_api_symbol(name)) return nullptr;
  if (void* found = ::dlsym(RTLD_DEFAULT, name.c_str())) return found;
  // Newer C libraries keep these for old programs only; the function proper gives the same results.
  const std::string proper(name_of_finite_variant(name));
  return proper.empty() ? nullptr : ::dlsym(RTLD_DEFAULT, proper.c_str());
}

std::vector<std::string> missing_symbols(std::span<const std::string> names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!is_host_api_symbol(name) && !is_linker_symbol(name) &&
        find_runtime_symbol(name) == nullptr)
      missing.push_back(name);
  return missing;
}

std::vector<std::string> missing_symbols(std::span<const std::string> names,
                                         std::string_view architecture) {
  if (architecture == own_architecture) return missing_symbols(names);
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!is_host_api_symbol(name) && !is_linker_symbol(name) && !is_listed_for(architecture, name))
      missing.push_back(name);
  return missing;
}

std::string_view refusal_reason(std::string_view name) {
  constexpr std::string_view one_process = "a function runs in one process";
  constexpr std::string_view no_programs = "a function cannot start programs";
  constexpr std::string_view no_libraries = "link what you need into the module";
  constexpr std::string_view no_network = "a function has no network; pass the data as its input";
  constexpr std::string_view no_privileges = "a function has no privileges";
  constexpr std::string_view no_raw_calls = "call the C library instead";
  constexpr std::string_view no_atexit =
      "a function's process ends without running handlers; return the result instead";
  if (name.starts_with("__aarch64_"))
    return "atomic operations become instructions of the processor; build with "
           "-mno-outline-atomics";
  static const std::array<std::pair<std::string_view, std::string_view>, 12> groups{{
      {" fork vfork _Fork __fork __libc_fork clone clone3 __clone daemon wait wait3 wait4 waitpid "
       "waitid ",
       one_process},
      {" execve execv execvp execvpe execl execlp execle execveat fexecve system popen pclose ",
       no_programs},
      {" posix_spawn posix_spawnp _IO_popen __libc_system ", no_programs},
      {" dlopen dlmopen dlsym dlvsym dlclose dlerror dladdr dladdr1 dlinfo ", no_libraries},
      {" socket socketpair connect bind listen accept accept4 send sendto sendmsg sendmmsg recv "
       "recvfrom recvmsg recvmmsg ",
       no_network},
      {" shutdown setsockopt getsockopt getsockname getpeername getaddrinfo freeaddrinfo "
       "gai_strerror getnameinfo ",
       no_network},
      {" gethostbyname gethostbyname_r gethostbyaddr res_query res_search ", no_network},
      {" setuid setgid seteuid setegid setreuid setregid setresuid setresgid setgroups initgroups "
       "setfsuid setfsgid ",
       no_privileges},
      {" chroot mount umount umount2 pivot_root unshare setns reboot sethostname swapon swapoff "
       "acct capset ",
       no_privileges},
      {" ptrace process_vm_readv process_vm_writev pidfd_open pidfd_getfd personality ",
       no_privileges},
      {" syscall ", no_raw_calls},
      {" atexit at_quick_exit ", no_atexit},
  }};
  const std::string word = " " + std::string(name) + " ";
  for (const auto& [names, reason] : groups)
    if (names.find(word) != std::string_view::npos) return reason;
  return {};
}

}  // namespace orchid::executor
