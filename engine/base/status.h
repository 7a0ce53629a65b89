/* status.h - the one convention for what can go wrong.
 *
 * What a user, a file or a peer can cause is a Status; what only our own bug can cause is an
 * assert. The function that first knows what went wrong logs one line (log.h); those above pass
 * the Status up in silence. Outputs are set only on ST_OK.                                    */
#ifndef DIZHU_ENGINE_BASE_STATUS_H
#define DIZHU_ENGINE_BASE_STATUS_H

#define STATUS_LIST(X)                                                                             \
    X(ST_OK, "ok")                                                                                 \
    X(ST_INVALID, "invalid argument")                                                              \
    X(ST_PARSE, "text that does not parse")                                                        \
    X(ST_ILLEGAL, "illegal under the rules")                                                       \
    X(ST_CORRUPT, "damaged data")                                                                  \
    X(ST_VERSION, "unknown format version")                                                        \
    X(ST_MISMATCH, "does not fit this run")                                                        \
    X(ST_TRUNCATED, "data ends too early")                                                         \
    X(ST_IO, "input/output failed")                                                                \
    X(ST_NOMEM, "out of memory")                                                                   \
    X(ST_TIMEOUT, "timed out")                                                                     \
    X(ST_INTERRUPTED, "interrupted")                                                               \
    X(ST_PEER, "a peer failed")                                                                    \
    X(ST_UNSUPPORTED, "not available on this machine or in this build")

#define STATUS_ENUM(name, text) name,
typedef enum { STATUS_LIST(STATUS_ENUM) N_STATUSES } Status;
#undef STATUS_ENUM

/* Static text of a status, never NULL. */
const char *status_text(Status st);

/* Return early. TRY_TO: go to a label that undoes what was made, with the status in `st`. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        Status try_status_ = (expr);                                                               \
        if (try_status_ != ST_OK) return try_status_;                                              \
    } while (0)
#define TRY_TO(st, expr, label)                                                                    \
    do {                                                                                           \
        if (((st) = (expr)) != ST_OK) goto label;                                                  \
    } while (0)

#endif
