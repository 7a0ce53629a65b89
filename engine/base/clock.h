/* clock.h - time that never goes backwards, for measuring and waiting. */
#ifndef DIZHU_ENGINE_BASE_CLOCK_H
#define DIZHU_ENGINE_BASE_CLOCK_H
#include <stdint.h>

int64_t clock_ns(void);    /* monotonic */
double clock_s(void);      /* the same in seconds */
double clock_wall_s(void); /* since 1970 */
double clock_thread_s(void); /* processor time of the calling thread */
void clock_sleep_ms(int ms);

#endif
