/* team.h - runs one function on n ranks in this process, over a transport by name.
 *
 * cmocka's asserts may not leave a thread that cmocka did not start, so ranks note what is wrong
 * (`team_check`) and team_run fails the test with the first note.                           */
#ifndef DIZHU_TESTS_LEARNER_TEAM_H
#define DIZHU_TESTS_LEARNER_TEAM_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner/comm/comm_fabric.h"
#include <cmocka.h>

enum { TEAM_MAX = 260 };

typedef struct Team Team;
typedef struct {
    Team *team;
    int rank, size;
    Comm *comm;
    World *world;
    void *ctx;
    char wrong[200]; // the first thing that was
} Rank;
typedef void (*RankFn)(Rank *r);
struct Team {
    RankFn fn;
    Rank rank[TEAM_MAX];
    double seconds; // that the run took, on the world's clock
};

#define team_check(r, condition)                                                                   \
    do {                                                                                           \
        if (!(condition) && !(r)->wrong[0])                                                        \
            snprintf((r)->wrong, sizeof(r)->wrong, "rank %d of %d, %s:%d: %s", (r)->rank,          \
                     (r)->size, __func__, __LINE__, #condition);                                   \
    } while (0)
#define team_ok(r, expr) team_check(r, (expr) == ST_OK)

static inline void team_task(void *arg) {
    Rank *r = arg;
    r->team->fn(r);
    comm_free(r->comm);
}

/* net NULL: threads; else tasks of a virtual world. ctx[i] is rank i's, or ctx NULL. Returns the
 * team's time in seconds.                                                                   */
static inline double team_run(int n, const SimNet *net, RankFn fn, void *const *ctx) {
    static Team team;
    World *w;
    Comm *comms[TEAM_MAX];
    Task *tasks[TEAM_MAX];
    memset(&team, 0, sizeof team);
    team.fn = fn;
    assert_int_equal(world_new(net != NULL, &w), ST_OK);
    assert_int_equal(net ? comm_sim_new(w, n, net, comms) : comm_local_new(w, n, comms), ST_OK);
    int64_t start = world_now_ns(w);
    for (int i = 0; i < n; i++) {
        team.rank[i] = (Rank){&team, i, n, comms[i], w, ctx ? ctx[i] : NULL, ""};
        assert_int_equal(world_spawn(w, team_task, &team.rank[i], &tasks[i]), ST_OK);
    }
    for (int i = 0; i < n; i++) world_join(tasks[i]);
    double seconds = (double)(world_now_ns(w) - start) / 1e9;
    world_free(w);
    for (int i = 0; i < n; i++)
        if (team.rank[i].wrong[0]) fail_msg("%s", team.rank[i].wrong);
    return seconds;
}

#endif
