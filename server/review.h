/* review.h - where the bot would have chosen differently, and what it cost: to the person who
 * asked.
 *
 * The job is an answered JOB_REVIEW; the items from job->from on go out in parts, the last with the
 * verdict: agreement of each seat, and the asker's costliest move.                           */
#ifndef DIZHU_SERVER_REVIEW_H
#define DIZHU_SERVER_REVIEW_H
#include "server/lobby.h"

void review_send(Session *s, const Job *job);

#endif
