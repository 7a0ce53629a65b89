/* bench_engine.h - how fast rules, records and record files are, on one core. */
#ifndef DIZHU_ENGINE_BENCH_ENGINE_H
#define DIZHU_ENGINE_BENCH_ENGINE_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Random games, move generation with its ratio to the plain filter, perft, replay, records to and
 * from bytes and files. ST_NOMEM; ST_IO: no temporary file could be written.               */
Status bench_engine(Bench *b);

#endif
