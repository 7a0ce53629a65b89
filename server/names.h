/* names.h - names for guests: a colour or weather and a thing, in the guest's language. */
#ifndef DIZHU_SERVER_NAMES_H
#define DIZHU_SERVER_NAMES_H
#include "server/protocol.h"

void name_guest(Lang lang, char out[NAME_BYTES]);

#endif
