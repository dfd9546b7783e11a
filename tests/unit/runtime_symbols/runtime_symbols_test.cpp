#include "runtime_symbols/runtime_symbols.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace orchid::executor;

TEST_CASE("what functions usually need is on the list and in this process") {
  for (const std::string name :
       {"malloc",
        "memcpy",
        "printf",
        "__printf_chk",
        "stdout",
        "fopen",
        "qsort",
        "strtod",
        "__ctype_b_loc",
        "clock_gettime",
        "pthread_create",
        "pthread_mutex_lock",
        "sem_wait",
        "setjmp",
        "__sigsetjmp",
        "longjmp",
        "abort",
        "exit",
        "__errno_location",
        "__stack_chk_fail",
        "sin",
        "sinf",
        "sinl",
        "expf",
        "pow",
        "fmaf",
        "lgamma_r",
        "lgammaf_r",
        "__exp_finite",
        "__powf_finite",
        "csqrtf",
        "fesetround",
        "signgam",
        "__udivti3",
        "__emutls_get_address",
        "_Unwind_Resume",
        "__cxa_throw",
        "__gxx_personality_v0",
        "__dynamic_cast",
        "_Znwm",
        "_ZdlPvm",
        "_ZTIi",
        "_ZTIPKc",
        "_ZTVN10__cxxabiv120__si_class_type_infoE",
        "_ZSt4cout",
        "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
        "_ZNSo3putEc",
        "_ZTISt13runtime_error",
        "_ZTVSt9exception",
        "_ZNKSt9exception4whatEv",
        "_ZTTNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEE",
        "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_"}) {
    CHECK_MESSAGE(is_runtime_symbol(name), name);
    CHECK_MESSAGE(find_runtime_symbol(name) != nullptr, name);
  }
  CHECK(find_runtime_symbol("memcpy") == reinterpret_cast<void*>(&std::memcpy));
  CHECK(find_runtime_symbol("__pow_finite") == find_runtime_symbol("pow"));
}

TEST_CASE("what a sandboxed function cannot do is not on the list, and the reason is told") {
  for (const std::string name : {"fork", "vfork", "clone", "execve", "execvp", "system", "popen",
                                 "posix_spawn", "dlopen", "dlsym", "socket", "connect", "syscall",
                                 "ptrace", "setuid", "chroot", "mount", "waitpid", "atexit"}) {
    CHECK_MESSAGE(!is_runtime_symbol(name), name);
    CHECK_MESSAGE(find_runtime_symbol(name) == nullptr, name);
    CHECK_MESSAGE(!refusal_reason(name).empty(), name);
  }
  CHECK(refusal_reason("fork") == "a function runs in one process");
  CHECK(refusal_reason("my_own_function").empty());
  CHECK(refusal_reason("for").empty());
}

TEST_CASE("symbols of this program, of LLVM and of nobody are not on the list") {
  for (const std::string name :
       {"main", "orchid_unknown", "_ZN4llvm5ValueD1Ev",
        "_ZN6orchid8executor17is_runtime_symbolESt17basic_string_viewIcSt11char_traitsIcEE", "",
        "_Z", "_ZN", "_ZTI", "_ZTIN", "__finite_finite_finite", "sinq"})
    CHECK_MESSAGE(!is_runtime_symbol(name), name);
}

TEST_CASE("the host API is provided by the worker alone") {
  CHECK(is_host_api_symbol("orchid_output"));
  CHECK(is_host_api_symbol("orchid_data"));
  CHECK(is_host_api_symbol("orchid_forward"));
  CHECK(is_host_api_symbol("orchid_forward_to_data"));
  CHECK(is_host_api_symbol("orchid_invoke_inline"));
  CHECK(is_host_api_symbol("orchid_spawn"));
  CHECK(is_host_api_symbol("orchid_then"));
  CHECK(is_host_api_symbol("orchid_child"));
  CHECK(is_host_api_symbol("orchid_child_count"));
  CHECK(is_host_api_symbol("orchid_deploy_module"));
  CHECK(is_host_api_symbol("orchid_specialise"));
  CHECK(is_host_api_symbol("orchid_member"));
  CHECK(is_host_api_symbol("orchid_member_count"));
  CHECK(is_host_api_symbol("orchid_data_count"));
  CHECK(is_host_api_symbol("orchid_data_create"));
  CHECK(is_host_api_symbol("orchid_data_open"));
  CHECK(is_host_api_symbol("orchid_data_seal"));
  CHECK(is_host_api_symbol("orchid_leased_open"));
  CHECK(is_host_api_symbol("orchid_leased_fence"));
  CHECK(is_host_api_symbol("orchid_leased_run"));
  CHECK(is_host_api_symbol("orchid_leased_start"));
  CHECK(is_host_api_symbol("orchid_leased_wait"));
  CHECK(is_runtime_symbol("orchid_output"));
  CHECK(find_runtime_symbol("orchid_output") == nullptr);
  const std::vector<std::string> names{"malloc", "orchid_error", "nobody_has_this", "__dso_handle",
                                       "fork",   "_ZSt4cout",    "_ZSt9no_such_one"};
  CHECK(missing_symbols(names) ==
        std::vector<std::string>{"nobody_has_this", "fork", "_ZSt9no_such_one"});
}

TEST_CASE("of another architecture the list decides, less what its libraries do not have") {
  const std::vector<std::string> names{"malloc",  "orchid_error",   "__dso_handle",
                                       "sinf128", "__mulxc3",       "__cpu_model",
                                       "fork",    "nobody_has_this"};
#if defined(__x86_64__)
  CHECK(missing_symbols(names, "x86_64") == missing_symbols(names));
  CHECK(missing_symbols(names, "aarch64") ==
        std::vector<std::string>{"__mulxc3", "__cpu_model", "fork", "nobody_has_this"});
#else
  CHECK(missing_symbols(names, "aarch64") == missing_symbols(names));
  CHECK(missing_symbols(names, "x86_64") == std::vector<std::string>{"fork", "nobody_has_this"});
#endif
  CHECK(missing_symbols(std::vector<std::string>{"__aarch64_ldadd8_relax"}, "aarch64").size() == 1);
  CHECK_FALSE(refusal_reason("__aarch64_ldadd8_relax").empty());
}
