#include "engine/base/status.h"

const char *status_text(Status st) {
#define STATUS_TEXT(name, text) [name] = text,
    static const char *const texts[] = {STATUS_LIST(STATUS_TEXT)};
#undef STATUS_TEXT
    return (unsigned)st < N_STATUSES ? texts[st] : "unknown status";
}
