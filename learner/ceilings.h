/* ceilings.h - what this machine's memory and sockets allow, for the model of larger machines. */
#ifndef DIZHU_LEARNER_CEILINGS_H
#define DIZHU_LEARNER_CEILINGS_H
#include "engine/base/status.h"

typedef struct {
    double memory_bytes_s; /* read by one core while all read */
    double socket_bytes_s; /* frames of records' usual size through PUSH and PULL over loopback */
} Ceilings;

/* Takes about twice `seconds`. By processor time, so that other programs change it little. */
Status ceilings_measure(double seconds, Ceilings *out);

#endif
