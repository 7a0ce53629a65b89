/* commands.h - the commands of `dizhu`, one function a file: cmd_NAME(argc, argv) with argv[0] the
 * command's name. They print the answer on stdout and the talk on stderr and return the exit code:
 * 0 ok, 1 failed, 2 wrong usage.                                                            */
#ifndef DIZHU_ACTORS_COMMANDS_H
#define DIZHU_ACTORS_COMMANDS_H

int cmd_actor(int argc, char **argv);
int cmd_arena(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_bid(int argc, char **argv);
int cmd_botzone(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_moves(int argc, char **argv);
int cmd_perft(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_replay(int argc, char **argv);

#endif
