#include "learner/interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool interrupted; // a signal handler has no other argument

static void on_signal(int number) {
    (void)number;
    atomic_store(&interrupted, true);
}

atomic_bool *interrupt_flag(void) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal; // without SA_RESTART: waiting calls return
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, SIG_IGN); // a supervisor or a pager that has gone
    return &interrupted;
}
