/* interrupt.h - Ctrl-C and SIGTERM as a flag that loops look at. The second Ctrl-C kills. */
#ifndef DIZHU_ACTORS_INTERRUPT_H
#define DIZHU_ACTORS_INTERRUPT_H
#include <stdatomic.h>

/* Installs the handlers; the flag becomes true at the first signal. */
atomic_bool *interrupt_watch(void);

#endif
