#include "server/names.h"
#include "server/auth.h"
#include <stdio.h>

static const char *const zh_first[] = {"青", "白", "云", "松", "竹", "月", "星", "雪",
                                       "春", "秋", "晨", "暮", "远", "清", "小", "闲"};
static const char *const zh_last[] = {"山", "石", "溪", "舟", "鹤", "鹿", "桥", "灯",
                                      "风", "雨", "湖", "林", "叶", "狐", "雁", "帆"};
static const char *const en_first[] = {"Blue",  "Calm", "Red",  "Swift", "Gold", "Grey",
                                       "Warm",  "Wild", "Soft", "Wise",  "Keen", "Lucky",
                                       "Brave", "Old",  "New",  "Fair"};
static const char *const en_last[] = {"Fox",  "Pine",  "River", "Crane", "Stone", "Lake",
                                      "Owl",  "Moon",  "Leaf",  "Wren",  "Bear",  "Elm",
                                      "Star", "Cloud", "Hare",  "Sail"};

void name_guest(Lang lang, char out[NAME_BYTES]) {
    uint32_t a = auth_below(16), b = auth_below(16), n = 1 + auth_below(99);
    if (lang == LANG_EN) snprintf(out, NAME_BYTES, "%s %s", en_first[a], en_last[b]);
    else snprintf(out, NAME_BYTES, "%s%s%u", zh_first[a], zh_last[b], n);
}
