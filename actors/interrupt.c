#include "actors/interrupt.h"
#include <signal.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool interrupted; /* a signal handler has no other argument */

static void on_signal(int number) {
    atomic_store(&interrupted, true);
    signal(number, SIG_DFL);
}

atomic_bool *interrupt_watch(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal; /* without SA_RESTART: blocking reads return */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}
