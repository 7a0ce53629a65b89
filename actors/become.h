/* become.h - turning into a program that lies beside this one. */
#ifndef DIZHU_ACTORS_BECOME_H
#define DIZHU_ACTORS_BECOME_H

/* Runs `program` in this process's place with the arguments argv[0..] (the command's name first)
 * after its own name. Returns only on failure, with an exit code; the reason is on stderr.  */
int become(const char *program, char **argv);

#endif
