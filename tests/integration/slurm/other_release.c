/* other_release.c: what libslurm of the next release would answer, for the check of the release. */
long slurm_api_version(void);
long slurm_api_version(void) { return 39L << 16; }
