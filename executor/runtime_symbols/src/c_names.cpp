#include "c_names.h"

#include <array>

namespace orchid::executor {
namespace {

// Names that the sandbox blocks at run time (open, kill, …) are still on the list: code that merely
// contains them, such as a logging library, must link, and gets errno from the kernel.
constexpr std::array<std::string_view, 24> libc{
    // string.h, strings.h
    "memccpy memchr memcmp memcpy memmem memmove mempcpy memrchr memset rawmemchr stpcpy stpncpy "
    "strcasecmp strcasestr strcat strchr "
    "strchrnul strcmp strcoll strcpy strcspn strdup strerror strerror_l strlcat strlcpy strlen "
    "strncasecmp strncat strncmp strncpy "
    "strndup strnlen strpbrk strrchr strsep strsignal strspn strstr strtok strtok_r strverscmp "
    "strxfrm bcmp bcopy bzero explicit_bzero "
    "ffs ffsl ffsll index rindex swab strerror_r __xpg_strerror_r basename __xpg_basename dirname "
    "strcoll_l strxfrm_l strcasecmp_l "
    "strncasecmp_l __memcmpeq __mempcpy __stpcpy __strdup __strndup __strtok_r __rawmemchr __bzero "
    "strerrorname_np strerrordesc_np",
    // stdlib.h: memory
    "malloc calloc realloc free aligned_alloc posix_memalign memalign valloc pvalloc reallocarray "
    "malloc_usable_size mallopt malloc_trim "
    "__libc_malloc __libc_calloc __libc_realloc __libc_free __libc_memalign",
    // stdlib.h: numbers
    "abs labs llabs imaxabs div ldiv lldiv imaxdiv atof atoi atol atoll strtod strtof strtold "
    "strtol strtoll strtoul strtoull strtoimax "
    "strtoumax strtoq strtouq strtod_l strtof_l strtold_l strtol_l strtoll_l strtoul_l strtoull_l "
    "strfromd strfromf strfroml strtof32 "
    "strtof64 strtof32x strtof64x strtof128 strfromf128 __strtod_internal __strtof_internal "
    "__strtold_internal __strtol_internal "
    "__strtoul_internal __strtod_l __strtof_l __strtold_l __strtol_l __strtoul_l __isoc23_strtol "
    "__isoc23_strtoul __isoc23_strtoll "
    "__isoc23_strtoull ecvt fcvt gcvt ecvt_r fcvt_r a64l l64a",
    // stdlib.h: sorting, searching, random numbers
    "qsort qsort_r bsearch lfind lsearch tsearch tfind tdelete twalk twalk_r tdestroy hcreate "
    "hdestroy hsearch hcreate_r hdestroy_r "
    "hsearch_r insque remque rand srand rand_r random srandom initstate setstate random_r "
    "srandom_r initstate_r setstate_r drand48 erand48 "
    "lrand48 nrand48 mrand48 jrand48 srand48 seed48 lcong48 drand48_r erand48_r lrand48_r "
    "nrand48_r mrand48_r jrand48_r srand48_r seed48_r "
    "lcong48_r getrandom getentropy arc4random arc4random_buf arc4random_uniform",
    // ending, assertions, jumps
    "abort exit _exit _Exit quick_exit __assert_fail __assert_perror_fail __assert setjmp _setjmp "
    "longjmp _longjmp sigsetjmp __sigsetjmp "
    "siglongjmp __longjmp_chk __stack_chk_fail __chk_fail __fortify_fail __cxa_atexit "
    "__cxa_finalize __cxa_thread_atexit_impl "
    "__cxa_at_quick_exit on_exit",
    // errno and environment; the environment of a worker is empty
    "__errno_location errno program_invocation_name program_invocation_short_name __progname "
    "__progname_full getenv secure_getenv perror "
    "err errx warn warnx verr verrx vwarn vwarnx error getopt getopt_long getopt_long_only optarg "
    "optind opterr optopt",
    // ctype.h, wctype.h
    "isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace "
    "isupper isxdigit tolower toupper toascii "
    "isalnum_l isalpha_l isblank_l iscntrl_l isdigit_l isgraph_l islower_l isprint_l ispunct_l "
    "isspace_l isupper_l isxdigit_l tolower_l "
    "toupper_l __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __ctype_get_mb_cur_max "
    "iswalnum iswalpha iswblank iswcntrl iswdigit "
    "iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit iswctype wctype towlower "
    "towupper towctrans wctrans iswctype_l "
    "wctype_l towlower_l towupper_l __towlower_l __towupper_l __iswctype_l __wctype_l",
    // wchar.h, uchar.h
    "wcscat wcschr wcschrnul wcscmp wcscoll wcscpy wcscspn wcsdup wcslen wcsncat wcsncmp wcsncpy "
    "wcsnlen wcspbrk wcsrchr wcsspn wcsstr "
    "wcstok wcsxfrm wcscasecmp wcsncasecmp wcpcpy wcpncpy wmemchr wmemcmp wmemcpy wmemmove "
    "wmempcpy wmemset wcstod wcstof wcstold wcstol "
    "wcstoll wcstoul wcstoull wcstoimax wcstoumax wcswidth wcwidth wcsftime wcscoll_l wcsxfrm_l "
    "wcsftime_l btowc wctob mbrlen mbrtowc "
    "mbsinit mbsnrtowcs mbsrtowcs wcrtomb wcsnrtombs wcsrtombs mblen mbstowcs mbtowc wcstombs "
    "wctomb mbrtoc16 c16rtomb mbrtoc32 c32rtomb "
    "__mbrlen __mbrtowc __wcscoll_l __wcsxfrm_l __wcsftime_l",
    // stdio.h: formatting
    "printf fprintf dprintf sprintf snprintf asprintf vprintf vfprintf vdprintf vsprintf vsnprintf "
    "vasprintf wprintf fwprintf swprintf "
    "vwprintf vfwprintf vswprintf scanf fscanf sscanf vscanf vfscanf vsscanf wscanf fwscanf "
    "swscanf vwscanf vfwscanf vswscanf "
    "__isoc99_scanf __isoc99_fscanf __isoc99_sscanf __isoc99_vscanf __isoc99_vfscanf "
    "__isoc99_vsscanf __isoc99_swscanf __isoc23_sscanf "
    "__isoc23_fscanf __isoc23_scanf __asprintf __snprintf __vsnprintf __vsscanf",
    // stdio.h: streams
    "stdin stdout stderr _IO_2_1_stdin_ _IO_2_1_stdout_ _IO_2_1_stderr_ fopen fopen64 freopen "
    "freopen64 fdopen fclose fcloseall fflush "
    "fflush_unlocked fread fread_unlocked fwrite fwrite_unlocked fgetc fgetc_unlocked getc "
    "getc_unlocked getchar getchar_unlocked fgets "
    "fgets_unlocked fputc fputc_unlocked putc putc_unlocked putchar putchar_unlocked fputs "
    "fputs_unlocked puts ungetc getline getdelim "
    "__getdelim fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fgetpos64 fsetpos "
    "fsetpos64 feof feof_unlocked ferror "
    "ferror_unlocked clearerr clearerr_unlocked fileno fileno_unlocked setbuf setbuffer setlinebuf "
    "setvbuf flockfile ftrylockfile "
    "funlockfile fmemopen open_memstream open_wmemstream fopencookie tmpfile tmpfile64 remove "
    "rename getw putw _IO_getc _IO_putc _IO_puts "
    "__overflow __uflow __underflow __fpending __fpurge __freadable __freading __fwritable "
    "__fwriting __fbufsize __flbf __fsetlocking",
    // wide streams
    "fgetwc getwc getwchar fgetws fputwc putwc putwchar fputws ungetwc fwide __woverflow __wuflow "
    "__wunderflow getwc_unlocked "
    "putwc_unlocked fgetwc_unlocked fputwc_unlocked",
    // files; every one of them is blocked, or sees nothing, in the sandbox
    "open open64 openat openat64 creat creat64 read write pread pread64 pwrite pwrite64 readv "
    "writev preadv pwritev close lseek lseek64 "
    "fsync fdatasync ftruncate ftruncate64 truncate truncate64 stat stat64 fstat fstat64 lstat "
    "lstat64 fstatat fstatat64 statx __xstat "
    "__fxstat __lxstat __xstat64 __fxstat64 __lxstat64 access faccessat euidaccess unlink unlinkat "
    "rmdir mkdir mkdirat link symlink "
    "readlink readlinkat realpath getcwd get_current_dir_name chdir fchdir umask isatty dup fcntl "
    "fcntl64 ioctl opendir fdopendir readdir "
    "readdir64 readdir_r rewinddir seekdir telldir closedir dirfd scandir scandir64 alphasort "
    "alphasort64 nftw ftw mkstemp mkstemp64 "
    "mkostemp mkdtemp tmpnam tempnam utimes utimensat futimens statvfs statvfs64 fstatvfs statfs "
    "statfs64 fstatfs posix_fadvise "
    "posix_fallocate fallocate poll ppoll select pselect __read __write __close __lseek __open "
    "__open64 __fcntl fnmatch glob globfree glob64 "
    "globfree64 flock lockf copy_file_range sendfile sendfile64 chmod fchmod fchmodat renameat "
    "pathconf fpathconf",
    // time.h
    "time clock clock_gettime clock_getres clock_nanosleep nanosleep __nanosleep usleep sleep "
    "gettimeofday settimeofday difftime mktime "
    "timegm timelocal gmtime gmtime_r localtime localtime_r asctime asctime_r ctime ctime_r "
    "strftime strftime_l strptime strptime_l tzset "
    "tzname timezone daylight __tzname __timezone __daylight timespec_get timespec_getres times "
    "getrusage ftime getitimer clock_getcpuclockid "
    "dysize __clock_gettime __gmtime_r __strftime_l",
    // locale.h, langinfo.h, iconv.h, libintl.h
    "setlocale localeconv newlocale freelocale duplocale uselocale __newlocale __freelocale "
    "__duplocale __uselocale nl_langinfo "
    "nl_langinfo_l __nl_langinfo_l iconv iconv_open iconv_close gettext dgettext dcgettext "
    "ngettext dngettext dcngettext textdomain "
    "bindtextdomain bind_textdomain_codeset catopen catgets catclose rpmatch",
    // pthread.h, threads.h
    "pthread_attr_destroy pthread_attr_getdetachstate pthread_attr_getguardsize "
    "pthread_attr_getstack pthread_attr_getstacksize "
    "pthread_attr_init pthread_attr_setdetachstate pthread_attr_setguardsize pthread_attr_setstack "
    "pthread_attr_setstacksize "
    "pthread_attr_setaffinity_np pthread_attr_getaffinity_np pthread_barrier_destroy "
    "pthread_barrier_init pthread_barrier_wait "
    "pthread_barrierattr_destroy pthread_barrierattr_init pthread_barrierattr_setpshared "
    "pthread_cancel pthread_cond_broadcast "
    "pthread_cond_clockwait pthread_cond_destroy pthread_cond_init pthread_cond_signal "
    "pthread_cond_timedwait pthread_cond_wait "
    "pthread_condattr_destroy pthread_condattr_init pthread_condattr_setclock "
    "pthread_condattr_setpshared pthread_create pthread_detach "
    "pthread_equal pthread_exit pthread_getaffinity_np pthread_getattr_np pthread_getcpuclockid "
    "pthread_getname_np pthread_getschedparam "
    "pthread_getspecific pthread_join pthread_key_create pthread_key_delete pthread_kill "
    "pthread_once pthread_self "
    "pthread_setaffinity_np pthread_setcancelstate pthread_setcanceltype pthread_setname_np "
    "pthread_setschedparam pthread_setspecific "
    "pthread_sigmask pthread_testcancel pthread_timedjoin_np pthread_tryjoin_np "
    "pthread_clockjoin_np pthread_yield "
    "__pthread_key_create __pthread_register_cancel __pthread_unregister_cancel "
    "__pthread_unwind_next __pthread_once",
    "pthread_mutex_clocklock pthread_mutex_consistent pthread_mutex_destroy pthread_mutex_init "
    "pthread_mutex_lock pthread_mutex_timedlock "
    "pthread_mutex_trylock pthread_mutex_unlock pthread_mutexattr_destroy "
    "pthread_mutexattr_gettype pthread_mutexattr_init "
    "pthread_mutexattr_setprotocol pthread_mutexattr_setpshared pthread_mutexattr_setrobust "
    "pthread_mutexattr_settype "
    "pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_destroy "
    "pthread_rwlock_init pthread_rwlock_rdlock "
    "pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock "
    "pthread_rwlock_trywrlock pthread_rwlock_unlock "
    "pthread_rwlock_wrlock pthread_rwlockattr_destroy pthread_rwlockattr_init "
    "pthread_rwlockattr_setkind_np pthread_spin_destroy "
    "pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock "
    "__pthread_mutex_lock __pthread_mutex_unlock "
    "__libc_single_threaded",
    "call_once cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait mtx_destroy "
    "mtx_init mtx_lock mtx_timedlock mtx_trylock "
    "mtx_unlock thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep "
    "thrd_yield tss_create tss_delete tss_get "
    "tss_set",
    // semaphore.h; only unnamed ones have a use
    "sem_init sem_destroy sem_getvalue sem_post sem_wait sem_trywait sem_timedwait sem_clockwait "
    "sem_open sem_close sem_unlink",
    // sched.h, the own place
    "sched_yield __sched_yield sched_getcpu getcpu sched_getaffinity sched_setaffinity "
    "__sched_cpucount __sched_cpualloc __sched_cpufree "
    "sched_get_priority_max sched_get_priority_min sched_getparam sched_getscheduler get_nprocs "
    "get_nprocs_conf sysconf __sysconf confstr "
    "getpagesize __getpagesize getauxval __getauxval uname sysinfo gethostname getpid getppid "
    "gettid getuid geteuid getgid getegid getpgrp "
    "getpgid getsid getpriority getrlimit getrlimit64 setrlimit setrlimit64 getgroups getloadavg "
    "get_phys_pages get_avphys_pages prctl",
    // signals to itself
    "raise kill signal sigaction sigaltstack sigaddset sigdelset sigemptyset sigfillset "
    "sigismember sigprocmask sigpending sigsuspend "
    "sigwait sigwaitinfo sigtimedwait sigqueue psignal alarm ualarm pause setitimer __sigaction "
    "__libc_current_sigrtmin "
    "__libc_current_sigrtmax timer_create timer_delete timer_settime timer_gettime "
    "timer_getoverrun",
    // sys/mman.h
    "mmap mmap64 munmap mprotect mremap madvise posix_madvise msync mincore mlock munlock mlockall "
    "munlockall memfd_create brk sbrk "
    "__mmap __munmap __mprotect eventfd eventfd_read eventfd_write pipe pipe2 dup2 dup3",
    // regex.h, byte order, contexts, backtraces
    "regcomp regexec regerror regfree htonl htons ntohl ntohs inet_ntop inet_pton inet_addr "
    "inet_aton inet_ntoa getcontext setcontext "
    "makecontext swapcontext backtrace backtrace_symbols backtrace_symbols_fd __backtrace "
    "dl_iterate_phdr _dl_find_object argz_add "
    "argz_append argz_count argz_create argz_next argz_stringify envz_get wordexp wordfree "
    "gnu_get_libc_version",
    // _FORTIFY_SOURCE
    "__memcpy_chk __memmove_chk __memset_chk __mempcpy_chk __strcpy_chk __strncpy_chk __strcat_chk "
    "__strncat_chk __stpcpy_chk __stpncpy_chk "
    "__strlcpy_chk __strlcat_chk __explicit_bzero_chk __printf_chk __fprintf_chk __dprintf_chk "
    "__sprintf_chk __snprintf_chk __asprintf_chk "
    "__vprintf_chk __vfprintf_chk __vdprintf_chk __vsprintf_chk __vsnprintf_chk __vasprintf_chk "
    "__wprintf_chk __fwprintf_chk "
    "__swprintf_chk __vwprintf_chk __vfwprintf_chk __vswprintf_chk __fgets_chk "
    "__fgets_unlocked_chk __fread_chk __fread_unlocked_chk "
    "__fgetws_chk __gets_chk __read_chk __pread_chk __pread64_chk __readlink_chk __readlinkat_chk "
    "__realpath_chk __getcwd_chk "
    "__gethostname_chk __confstr_chk __getgroups_chk __poll_chk __ppoll_chk __fdelt_chk "
    "__fdelt_warn __wmemcpy_chk __wmemmove_chk "
    "__wmempcpy_chk __wmemset_chk __wcscpy_chk __wcsncpy_chk __wcscat_chk __wcsncat_chk "
    "__wcpcpy_chk __wcpncpy_chk __mbstowcs_chk "
    "__wcstombs_chk __wctomb_chk __wcrtomb_chk __mbsrtowcs_chk __wcsrtombs_chk __mbsnrtowcs_chk "
    "__wcsnrtombs_chk __open_2 __open64_2 "
    "__openat_2 __openat64_2",
};

constexpr std::array<std::string_view, 5> libm{
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 "
    "exp2 expm1 fabs fdim finite floor fma fmax "
    "fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma lgamma_r llrint llround "
    "log log10 log1p log2 logb lrint lround modf "
    "nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn "
    "significand sin sincos sinh sqrt tan "
    "tanh tgamma trunc y0 y1 yn gamma_r",
    "canonicalize fmaxmag fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fminmag fminimum "
    "fminimum_mag fminimum_mag_num fminimum_num "
    "fromfp fromfpx getpayload llogb nextdown nextup roundeven setpayload setpayloadsig totalorder "
    "totalordermag ufromfp ufromfpx",
    "cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog clog10 conj cpow "
    "cproj creal csin csinh csqrt ctan ctanh",
    "__finite __fpclassify __isinf __isnan __signbit __issignaling __iseqsig __iscanonical",
    "signgam __signgam feclearexcept fedisableexcept feenableexcept fegetenv fegetexcept "
    "fegetexceptflag fegetmode fegetround feholdexcept "
    "feraiseexcept fesetenv fesetexcept fesetexceptflag fesetmode fesetround fetestexcept "
    "fetestexceptflag feupdateenv"};

constexpr std::array<std::string_view, 5> compiler{
    "_Unwind_Backtrace _Unwind_DeleteException _Unwind_FindEnclosingFunction _Unwind_Find_FDE "
    "_Unwind_ForcedUnwind _Unwind_GetCFA "
    "_Unwind_GetDataRelBase _Unwind_GetGR _Unwind_GetIP _Unwind_GetIPInfo "
    "_Unwind_GetLanguageSpecificData _Unwind_GetRegionStart "
    "_Unwind_GetTextRelBase _Unwind_RaiseException _Unwind_Resume _Unwind_Resume_or_Rethrow "
    "_Unwind_SetGR _Unwind_SetIP",
    "__absvdi2 __absvsi2 __absvti2 __addtf3 __addvdi3 __addvsi3 __addvti3 __ashlti3 __ashrti3 "
    "__bswapdi2 __bswapsi2 __clear_cache __clrsbdi2 "
    "__clrsbti2 __clzdi2 __clzti2 __cmpti2 __cpu_indicator_init __cpu_model __ctzdi2 __ctzti2 "
    "__divdc3 __divhc3 __divmodti4 __divsc3 __divtc3 "
    "__divtf3 __divti3 __divxc3 __emutls_get_address __eqhf2 __eqtf2 __extenddftf2 __extendhfdf2 "
    "__extendhfsf2 __extendhftf2 __extendhfxf2 "
    "__extendsfdf2 __extendsftf2 __extendxftf2 __ffsdi2 __ffsti2 __fixdfti __fixhfti __fixsfti "
    "__fixtfdi __fixtfsi __fixtfti __fixunsdfdi "
    "__fixunsdfti __fixunshfti __fixunssfdi __fixunssfti __fixunstfdi __fixunstfsi __fixunstfti "
    "__fixunsxfdi __fixunsxfti __fixxfti",
    "__floatditf __floatsitf __floattidf __floattihf __floattisf __floattitf __floattixf "
    "__floatunditf __floatunsitf __floatuntidf "
    "__floatuntihf __floatuntisf __floatuntitf __floatuntixf __gcc_personality_v0 __getf2 __gttf2 "
    "__letf2 __lshrti3 __lttf2 __modti3 "
    "__muldc3 __mulhc3 __mulsc3 __multc3 __multf3 __multi3 __mulvdi3 __mulvsi3 __mulvti3 __mulxc3 "
    "__negtf2 __negti2 __negvdi2 __negvsi2 "
    "__negvti2 __nehf2 __netf2 __paritydi2 __parityti2 __popcountdi2 __popcountti2 __powidf2 "
    "__powisf2 __powitf2 __powixf2 __subtf3 __subvdi3 "
    "__subvsi3 __subvti3 __truncdfhf2 __truncdfsf2 __truncsfhf2 __trunctfdf2 __trunctfhf2 "
    "__trunctfsf2 __trunctfxf2 __truncxfhf2 __ucmpti2 "
    "__udivmodti4 __udivti3 __umodti3 __unordtf2 __truncsfbf2 __truncdfbf2",
    "__cxa_allocate_dependent_exception __cxa_allocate_exception __cxa_bad_cast __cxa_bad_typeid "
    "__cxa_begin_catch __cxa_call_unexpected "
    "__cxa_call_terminate __cxa_current_exception_type __cxa_deleted_virtual __cxa_demangle "
    "__cxa_end_catch __cxa_free_dependent_exception "
    "__cxa_free_exception __cxa_get_exception_ptr __cxa_get_globals __cxa_get_globals_fast "
    "__cxa_guard_abort __cxa_guard_acquire "
    "__cxa_guard_release __cxa_init_primary_exception __cxa_pure_virtual __cxa_rethrow "
    "__cxa_thread_atexit __cxa_throw "
    "__cxa_throw_bad_array_length __cxa_throw_bad_array_new_length __cxa_vec_cctor "
    "__cxa_vec_cleanup __cxa_vec_ctor __cxa_vec_delete "
    "__cxa_vec_delete2 __cxa_vec_delete3 __cxa_vec_dtor __cxa_vec_new __cxa_vec_new2 "
    "__cxa_vec_new3 __dynamic_cast __gxx_personality_v0 "
    "__once_proxy",
    "__atomic_flag_for_address __atomic_flag_wait_explicit atomic_flag_clear_explicit "
    "atomic_flag_test_and_set_explicit"};

constexpr std::array<std::string_view, 2> host_api{
    "orchid_output orchid_append orchid_exchange orchid_error orchid_log orchid_should_stop "
    "orchid_progress orchid_time_left_ns orchid_invoke_inline orchid_forward orchid_member "
    "orchid_member_count orchid_forward_to_data "
    "orchid_spawn orchid_then orchid_child orchid_child_count orchid_deploy_module "
    "orchid_specialise "
    "orchid_invocation_id orchid_core orchid_data orchid_data_count "
    "orchid_data_create orchid_data_open orchid_data_seal "
    "orchid_leased_open orchid_leased_put orchid_leased_get orchid_leased_fetch_add "
    "orchid_leased_compare_swap orchid_leased_fence "
    "orchid_leased_run orchid_leased_start orchid_leased_wait "
    "orchid_core_count",
    // orchid/kernel.h
    "orchid_device_kind orchid_device_alloc orchid_device_free orchid_device_write "
    "orchid_device_read orchid_launch orchid_device_wait"};

}  // namespace

std::span<const std::string_view> libc_groups() { return libc; }
std::span<const std::string_view> libm_groups() { return libm; }
std::span<const std::string_view> compiler_groups() { return compiler; }
std::span<const std::string_view> host_api_groups() { return host_api; }

}  // namespace orchid::executor
