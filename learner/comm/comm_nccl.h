/* comm_nccl.h - allreduce by NCCL, one GPU a rank, under any other transport. Only built where NCCL
 * and the CUDA runtime are.
 *
 * Everything else stays with the transport below: small messages, who lives, who is to blame. When
 * a sum does not come within the Comm's timeout, the ranks are asked by that transport who is
 * missing. Numbers are host memory; they pass through memory of the device that is kept for them.
 */
#ifndef DIZHU_LEARNER_COMM_COMM_NCCL_H
#define DIZHU_LEARNER_COMM_COMM_NCCL_H
#include "learner/comm/comm.h"

/* Collective. device: of this rank; two ranks may not share one. Afterwards comm_allreduce of all
 * ranks together goes by NCCL; of teams, as before. ST_UNSUPPORTED: no such device, or NCCL says
 * no, and why is in the log; the Comm is as it was then.                                      */
Status comm_nccl_over(Comm *c, int device);

#endif
