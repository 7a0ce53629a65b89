/* log.h - one line per event on stderr, and in the run's log file if one is set.
 *
 * `12:03:04.512 actor/3 warn  weights 812 are 40 s old`: time, name of the process or thread,
 * level, a lower-case sentence with values after their names. Thread-safe. The level and the sinks
 * are the only globals of the house.                                                        */
#ifndef DIZHU_ENGINE_BASE_LOG_H
#define DIZHU_ENGINE_BASE_LOG_H

typedef enum { LOG_NONE = -1 /* for log_level: silence */, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } LogLevel;

void log_level(LogLevel max);
void log_name(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* of this process */
/* Also append to this file (opened O_APPEND: several processes may share it). NULL: none. -1 and
 * errno on failure.                                                                         */
int log_file(const char *path);
void log_line(LogLevel level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line that another process of ours has made with log_line: passed on as it is. */
void log_copy(const char *line);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
