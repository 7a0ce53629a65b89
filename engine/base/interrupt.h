/* interrupt.h - Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 (mpirun passes it on) as a flag that loops look
 * at. */
#ifndef DIZHU_ENGINE_BASE_INTERRUPT_H
#define DIZHU_ENGINE_BASE_INTERRUPT_H
#include <stdatomic.h>

/* What a second signal does: nothing more (what is being stored is stored), or end the process. */
typedef enum { AGAIN_WAITS, AGAIN_KILLS } InterruptAgain;

/* Installs the handlers; the flag becomes true at the first signal. Waiting calls return with
 * EINTR. A reader that has gone is no signal any more but a failed write (SIGPIPE is ignored). */
atomic_bool *interrupt_watch(InterruptAgain again);

#endif
