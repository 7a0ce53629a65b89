#include "engine/base/interrupt.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool interrupted; // a signal handler has no other argument

static void on_signal(int number) {
    (void)number;
    atomic_store(&interrupted, true);
}

atomic_bool *interrupt_watch(InterruptAgain again) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = on_signal; // without SA_RESTART
    if (again == AGAIN_KILLS) a.sa_flags = (int)SA_RESETHAND;
    for (int i = 0; i < 4; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) sigaction(numbers[i], &a, NULL); // nohup stays in force
    }
    signal(SIGPIPE, SIG_IGN);
    return &interrupted;
}
