/* interrupt.h - Ctrl-C, SIGTERM and SIGHUP as a flag that loops look at. A second one does no more:
 * what is being stored is stored.                                                           */
#ifndef DIZHU_LEARNER_INTERRUPT_H
#define DIZHU_LEARNER_INTERRUPT_H
#include <stdatomic.h>

/* Installs the handlers; the flag becomes true at the first signal. */
atomic_bool *interrupt_flag(void);

#endif
