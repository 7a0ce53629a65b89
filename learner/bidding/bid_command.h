/* bid_command.h - `dizhu bid fit`: a file of deals in, a bidder out. */
#ifndef DIZHU_LEARNER_BIDDING_BID_COMMAND_H
#define DIZHU_LEARNER_BIDDING_BID_COMMAND_H

int bid_command(int argc, char **argv); /* exit code */

#endif
