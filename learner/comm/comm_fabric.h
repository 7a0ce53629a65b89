/* comm_fabric.h - ranks that share one process: threads (local), or tasks of a virtual clock (sim).
 *
 * sim: a rank has one network card. A message leaves when the card is free, takes bytes/bandwidth
 * to leave, arrives a latency later, and is taken in when the receiver's card is free:
 *
 *     left = max(now, tx_free[i]) + bytes/B      (the sender's buffer is free then)
 *     came = max(left + L, rx_free[j] + bytes/B)
 *
 * with B the thinner of the two ends and L of this link. So a parameter server's card carries all
 * its workers' traffic, and a ring's cards work at once.                                    */
#ifndef DIZHU_LEARNER_COMM_COMM_FABRIC_H
#define DIZHU_LEARNER_COMM_COMM_FABRIC_H
#include "learner/comm/comm.h"

/* What links cost. Arrays by rank may be NULL (all alike). */
typedef struct {
    double bytes_per_s;             /* of every card; 0: unlimited */
    double latency_s;               /* of every link */
    const double *card_bytes_per_s; /* [rank] */
    const double *link_latency_s;   /* [from * size + to] */
} SimNet;

/* out[0..n): one Comm per rank, to be used by one task each. Freed each by comm_free; the world
 * must outlive them. sim needs a virtual world. ST_NOMEM.                                        */
Status comm_local_new(World *w, int n, Comm **out);
Status comm_sim_new(World *w, int n, const SimNet *net, Comm **out);

/* As kill -9: the rank falls silent without taking leave. For tests. */
void comm_kill(Comm *c);
/* Adds this long to each message of the rank from now on, drawn evenly from 0 to max. For tests. */
void comm_jitter(Comm *c, double max_s, uint64_t seed);

#endif
